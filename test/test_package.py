# SPDX-License-Identifier: Apache-2.0
"""The package as a user gets it: metadata that agree, interfaces, executables, installed files."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import os
import pkgutil
import re
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from shared.children import LIMIT

import sysid_nodes
from sysid_nodes import kernel
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.results import Status

if sys.version_info >= (3, 11):
    import tomllib
else:
    tomllib = pytest.importorskip("tomli")

MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(sysid_nodes.__path__, "sysid_nodes.")
    if not module.name.endswith(("._regressors", ".__main__"))
)


@pytest.fixture(scope="module")
def manifest(project_root: Path) -> ElementTree.Element:
    return ElementTree.parse(project_root / "package.xml").getroot()


@pytest.fixture(scope="module")
def metadata(project_root: Path) -> dict[str, object]:
    return tomllib.loads((project_root / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def installed() -> Path:
    """The prefix that CMake installed into."""
    for prefix in os.environ["AMENT_PREFIX_PATH"].split(os.pathsep):
        if (Path(prefix) / "share" / "online_sysid" / "package.xml").is_file():
            return Path(prefix)
    pytest.skip("online_sysid is not installed in AMENT_PREFIX_PATH; make setup installs it")


def names(values: object) -> set[str]:
    """Distribution names of requirement lines, without versions, extras and comments."""
    assert isinstance(values, list)
    return {re.split(r"[\[<>=!~; ]", line, maxsplit=1)[0].lower() for line in values if line and line[0] not in "#-"}


def test_one_version(manifest: ElementTree.Element) -> None:
    # setup.py hands the manifest's version to pip; an install from before a change of it shows here too.
    assert manifest.findtext("version") == sysid_nodes.__version__ == importlib.metadata.version("sysid-nodes")


def test_manifest_declares_what_a_ros_install_provides(manifest: ElementTree.Element) -> None:
    declared = {item.text for item in manifest if item.tag.endswith("depend")}
    assert {"rclpy", "launch", "launch_ros", "pinocchio", "rosbag2_py", "tf_transformations", "sensor_msgs"} <= declared
    assert manifest.find("member_of_group").text == "rosidl_interface_packages"


def test_every_dependency_is_pinned_and_found_on_a_ros_install(
    project_root: Path, metadata: dict, manifest: ElementTree.Element
) -> None:
    requirements = project_root / "requirements"
    pinned = (requirements / "constraints.txt").read_text(encoding="utf-8").lower().splitlines()
    exact = {line.split("==")[0] for line in pinned if "==" in line and line[0] != "#"}
    project = metadata["project"]
    wanted = names(project["dependencies"]).union(*map(names, project["optional-dependencies"].values()))
    assert wanted <= exact
    assert "pin==4.0.0" in pinned

    from_pip = names((requirements / "ros-install.txt").read_text(encoding="utf-8").splitlines())
    declared = {(item.text or "").removeprefix("python3-") for item in manifest if item.tag.endswith("depend")}
    rosdep = {"pin": "pinocchio", "pyyaml": "yaml"}
    assert {rosdep.get(name, name) for name in names(project["dependencies"])} <= declared | from_pip


def test_every_import_is_declared(project_root: Path, metadata: dict, manifest: ElementTree.Element) -> None:
    tops = set()
    for file in [*(project_root / "sysid_nodes").rglob("*.py"), *(project_root / "launch").glob("*.py")]:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            found = [item.name for item in node.names] if isinstance(node, ast.Import) else []
            found += [node.module or ""] if isinstance(node, ast.ImportFrom) and not node.level else []
            tops |= {name.split(".")[0] for name in found}
    ours = {"sysid_nodes", "online_sysid"}
    along = {"markupsafe": "jinja2", "warp": "mujoco_warp"}  # comes with
    lines = (project_root / "requirements" / "ros-install.txt").read_text(encoding="utf-8").splitlines()
    runs = [item.text or "" for item in manifest if item.tag in ("depend", "exec_depend")]
    declared = {name.removeprefix("python3-").replace("-", "_") for name in [*runs, *names(lines)]}
    extras = metadata["project"]["optional-dependencies"]
    declared |= {name.replace("-", "_") for key in ("onnx", "policy", "terms", "warp") for name in names(extras[key])}
    assert {along.get(name, name) for name in tops - ours - set(sys.stdlib_module_names)} <= declared


OPTIONAL = (
    ("sysid_nodes.ros.", "rclpy"),
    ("sysid_nodes.ros.", "online_sysid.msg"),
    ("sysid_nodes.ros.launching", "launch_ros"),
)
"""What modules of these names need that may be missing: ROS, our messages, and what comes with a ROS install only."""


def test_every_module_imports() -> None:
    """All in one: to tell a thousand tests apart takes longer than what they do."""
    missing = tuple(name for name, needed in OPTIONAL if not is_there(needed))
    for module in MODULES:
        if not module.startswith(missing):
            importlib.import_module(module)


def is_there(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


@pytest.mark.ros
def test_status_constants_are_those_of_the_results() -> None:
    from online_sysid.msg import ParameterBounds

    assert {status.name: getattr(ParameterBounds, status.name) for status in Status} == dict(Status.__members__)


@pytest.mark.ros
def test_bounds_message_holds_ten_parameters() -> None:
    from online_sysid.msg import ParameterBounds

    kinds = ParameterBounds.get_fields_and_field_types()
    count = len(PARAMETER_NAMES)
    assert kinds["names"] == f"string[{count}]"
    assert {kinds[name] for name in ("nominal", "lower", "upper")} == {f"double[{count}]"}


@pytest.mark.ros
def test_save_service_has_path_in_and_out() -> None:
    from online_sysid.srv import Save

    assert set(Save.Request.get_fields_and_field_types()) == {"path", "signature"}
    assert set(Save.Response.get_fields_and_field_types()) == {"success", "message", "path"}


def interface_lines() -> list[tuple[str, str]]:
    root = Path(__file__).resolve().parents[1]
    files = sorted([*root.glob("msg/*.msg"), *root.glob("srv/*.srv")])
    return [(file.name, line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def test_every_interface_field_is_documented() -> None:
    # A field has its own comment, or stands in a block that begins with one.
    documented = False
    for file, line in interface_lines():
        if not line.strip() or line == "---":
            documented = False
        elif line.startswith("#"):
            documented = True
        else:
            assert documented or "#" in line, f"{file}: {line}"


@pytest.mark.parametrize("folder", ["launch", "config", "rviz"])
def test_share_holds(folder: str, installed: Path, project_root: Path) -> None:
    source = {path.name for path in (project_root / folder).iterdir() if path.name != "__pycache__"}
    assert source, f"{folder}/ is empty"
    assert source <= {path.name for path in (installed / "share" / "online_sysid" / folder).iterdir()}


def test_every_node_has_an_executable(installed: Path, project_root: Path) -> None:
    nodes = {path.stem for path in (project_root / "sysid_nodes" / "ros" / "nodes").glob("[a-z]*.py")}
    assert "interval_identifier" in nodes
    for node in nodes:
        executable = installed / "lib" / "online_sysid" / node
        assert os.access(executable, os.X_OK)
        assert "if __name__ ==" in executable.read_text(), "a process that the node starts would be a node, too"
        assert callable(importlib.import_module(f"sysid_nodes.ros.nodes.{node}").main)


def test_sysid_command_answers(installed: Path) -> None:
    command = [installed / "bin" / "sysid", "--help"]
    answer = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT)
    assert answer.returncode == 0, answer.stderr
    assert "replay" in answer.stdout


def test_kernel_reports_which_one_runs(record_property: pytest.RecordProperty) -> None:
    built = importlib.util.find_spec("sysid_nodes.kernel._regressors") is not None
    record_property("kernel", kernel.implementation("" if built else "reference"))
    assert kernel.implementation("reference") == "reference"
    # A kernel that was built but does not load would silently cost the speed it was built for.
    assert (kernel._regressors is not None) == built
