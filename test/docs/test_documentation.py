# SPDX-License-Identifier: Apache-2.0
"""The documentation keeps its word: links lead somewhere, commands exist, snippets run, errors read as printed."""

from __future__ import annotations

import importlib.util
import re
import runpy
import shlex
import shutil
import sys
import textwrap
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import pytest
from PIL import Image
from shared.launch_stand_in import run_launch
from shared.recorded import record

from sysid_nodes import robots
from sysid_nodes.cli.main import COMMANDS, main
from sysid_nodes.data import JointSamples
from sysid_nodes.data.config import load_yaml
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("examples/*.md")])
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
TUTORIAL = ROOT / "docs" / "interval" / "tutorial-own-robot.md"
KINOVA = ROOT / "docs" / "interval" / "kinova.md"
OWN_ARM = ROOT / "examples" / "own_arm"
SESSIONS: dict[str, type] = {"prime": PrimeSessionConfig, "bayesian": BayesianSessionConfig}
"""Whose parameter files a folder's pages show; those of others are the interval identifier's."""


def blocks(page: Path, language: str = "") -> list[str]:
    """Fenced code of a language; without one, of shell commands."""
    found = re.findall(r"^ *```(\w*)\n(.*?)^ *```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [text for kind, text in found if kind == language]


def commands() -> list[tuple[str, str]]:
    """Page and command, continued lines joined, comments dropped."""
    lines = [
        (str(page.relative_to(ROOT)), line.split("#")[0].strip())
        for page in PAGES
        for block in blocks(page)
        for line in block.replace("\\\n", " ").splitlines()
    ]
    return [(page, line.removeprefix("source ").removeprefix(".venv/bin/")) for page, line in lines if line]


def of(program: str) -> list[tuple[str, str]]:
    return [(page, line) for page, line in commands() if line.startswith(f"{program} ")]


def anchors(page: Path) -> set[str]:
    """Anchors of a page's headings, as the usual hosts make them."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_the_pages_a_newcomer_is_promised_exist() -> None:
    assert {
        "README.md",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "docs/interval/index.md",
        "docs/interval/parameters.md",
    } <= set(NAMES)
    assert {"docs/interval/tutorial-own-robot.md", "docs/interval/result.md", "docs/architecture.md"} <= set(NAMES)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_links_lead_somewhere(page: Path) -> None:
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    for target in targets:
        if target.startswith(("https://", "http://")):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert ROOT in (file, *file.parents), f"{target} leads out of the repository"
        if anchor:
            assert anchor in anchors(file), target


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_files_named_in_code_exist(page: Path) -> None:
    names = re.findall(
        r"`((?:sysid_nodes|config|docs|examples|test|cmake|requirements|rviz|launch)/[\w./-]+)`",
        page.read_text(encoding="utf-8"),
    )
    made_up = ("my_arm", "my_method", "my_sensor", "NAME", "NODE")
    missing = [name for name in names if not (ROOT / name).exists() and not any(word in name for word in made_up)]
    assert not missing


def test_make_targets_exist() -> None:
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE))
    named = {word for page in PAGES for word in re.findall(r"`make (\w+)`", page.read_text(encoding="utf-8"))}
    used = {word for _, line in of("make") for word in shlex.split(line)[1:] if re.fullmatch("[a-z]+", word)}
    assert {"demo", "test"} <= named | used
    assert named | used <= targets


@pytest.mark.parametrize(("page", "line"), of("sysid"))
def test_sysid_commands_and_their_options_exist(page: str, line: str, capsys: pytest.CaptureFixture[str]) -> None:
    words = shlex.split(line)[1:]
    assert words[0] in COMMANDS
    assert main([words[0], "--help"]) == 0
    told = capsys.readouterr().out
    for word in words:
        if word.startswith("--"):
            assert word in told
    if "--config" in words and not (given := words[words.index("--config") + 1]).startswith(("my_", "demo_output/")):
        assert (ROOT / given).is_file()


@pytest.mark.parametrize(("page", "line"), of("ros2 launch"))
def test_launch_files_and_their_arguments_exist(
    page: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package, file, *arguments = shlex.split(line)[2:]
    assert package == "online_sysid"
    declared, _ = run_launch(ROOT / "launch" / file, tmp_path, monkeypatch)
    assert {argument.partition(":=")[0] for argument in arguments} <= set(declared)


@pytest.mark.parametrize(("page", "line"), of("python"))
def test_scripts_named_in_commands_exist(page: str, line: str) -> None:
    words = shlex.split(line)
    if words[1].endswith(".py"):
        assert (ROOT / words[1]).is_file()


@pytest.mark.parametrize(
    ("page", "printed"),
    [("README.md", r"1\.\d\d to 1\.\d\d kg: bounds are proven"), ("docs/install.md", "no complete window")],
)
def test_python_in_the_pages_runs(page: str, printed: str, capsys: pytest.CaptureFixture[str]) -> None:
    (snippet,) = blocks(ROOT / page, "python")
    exec(compile(snippet, page, "exec"), {})
    assert re.match(printed, capsys.readouterr().out)


def test_the_recipe_for_a_robot_makes_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its block in a folder, with a URDF that has its joints, is found by its name."""
    (text,) = [block for block in indented(ROOT / "CONTRIBUTING.md", "python") if "DESCRIPTION" in block]
    folder = tmp_path / "my_arm"
    folder.mkdir()
    (folder / "__init__.py").write_text(text, encoding="utf-8")
    shutil.copy(OWN_ARM / "own_arm.urdf", folder / "my_arm.urdf")
    monkeypatch.setattr(robots, "__path__", [*robots.__path__, str(tmp_path)])
    monkeypatch.setattr(robots, "_DESCRIPTIONS", robots._find_descriptions())
    del sys.modules["sysid_nodes.robots.my_arm"]
    robot = load_robot("my_arm")
    assert robot.joint_names == ("yaw", "shoulder", "elbow", "wrist")
    assert robot.body == "hand"
    assert robot.motor.armature[0] == 0.4


def indented(page: Path, language: str) -> list[str]:
    """Fenced code within a list, without the list's indentation."""
    return [textwrap.dedent(text) for text in blocks(page, language)]


@pytest.mark.ros
def test_ros_python_in_the_pages_runs() -> None:
    """Each snippet, but for a moment instead of for ever."""
    rclpy = pytest.importorskip("rclpy")
    snippets = blocks(KINOVA, "py")
    assert snippets
    for snippet in snippets:
        assert snippet.count("rclpy.spin(node)") == 1
        names: dict[str, object] = {}
        try:
            exec(
                compile(
                    snippet.replace("rclpy.spin(node)", "rclpy.spin_once(node, timeout_sec=0.2)"), KINOVA.name, "exec"
                ),
                names,
            )
            names["node"].destroy_node()  # type: ignore[attr-defined]
        finally:
            rclpy.try_shutdown()


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "yaml")], ids=lambda page: page.name)
def test_parameter_files_in_the_text_are_valid(page: Path, tmp_path: Path) -> None:
    for k, text in enumerate(blocks(page, "yaml")):
        file = tmp_path / f"{k}.yaml"
        file.write_text(text, encoding="utf-8")
        load_yaml(SESSIONS.get(page.parent.name, IntervalIdentifierConfig), file)


def test_the_tutorial_s_parameter_file_is_the_example_s(tmp_path: Path) -> None:
    (text,) = blocks(TUTORIAL, "yaml")
    (file := tmp_path / "own_arm.yaml").write_text(text, encoding="utf-8")
    told, used = (load_yaml(IntervalIdentifierConfig, path) for path in (file, OWN_ARM / "own_arm.yaml"))
    assert told == used


OWN = ("--config", str(OWN_ARM / "own_arm.yaml"), "--urdf", str(OWN_ARM / "own_arm.urdf"))


@pytest.fixture(scope="module")
def recorder() -> ModuleType:
    spec = importlib.util.spec_from_file_location("record_logs", OWN_ARM / "record_logs.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def samples(recorder: ModuleType) -> JointSamples:
    measured: JointSamples = recorder.run(load_robot("", urdf=recorder.URDF), recorder.PAYLOAD, seconds=3.0)
    return measured


def told_in_the_tutorial(error: str, *files: Path | str) -> bool:
    """Whether a complaint of the command line stands in the tutorial, with X for the file."""
    line = error.strip().splitlines()[-1].removeprefix("sysid: error: ")
    for file in files:
        line = line.replace(str(file), "X")
    return f"`{line}`" in TUTORIAL.read_text(encoding="utf-8") or pytest.fail(f"not in the tutorial: {line}")


@pytest.mark.parametrize(
    "arguments",
    [
        OWN[:2],
        (*OWN, "--topic", "/js"),
        ("--robot", "kinova_gen3"),
        (*OWN, "--body", "gripper"),
        (*OWN, "--set", "noise.torque_relativ=0.1"),
        (*OWN, "--set", "noise.torque_relative=0.1,0.1"),
        (*OWN, "--set", "prior.lower=5,0,0,0,0,0,0,0,0,0"),
    ],
    ids=("no URDF", "topic", "joints", "body", "key", "count", "bounds"),
)
def test_mistakes_give_the_tutorial_s_lines(
    arguments: tuple[str, ...], samples: JointSamples, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = record(tmp_path / "bag", samples.slice(0, 20))
    assert main(["replay", str(bag), *arguments, "--out", str(tmp_path / "out")]) == 2
    assert told_in_the_tutorial(capsys.readouterr().err, bag, OWN[1])
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda x: replace(x, tau=-x.tau),
        lambda x: replace(x, tau=1000.0 * x.tau),
        lambda x: replace(x, q=0.0 * x.q + x.q[0], qd=0.0 * x.qd),
        lambda x: x.slice(0, 20),
    ],
    ids=("sign", "unit", "still", "short"),
)
def test_unusable_recordings_give_the_tutorial_s_lines(
    spoil: Callable[[JointSamples], JointSamples],
    samples: JointSamples,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bag = record(tmp_path / "bag", spoil(samples))
    assert main(["replay", str(bag), *OWN, "--out", str(tmp_path / "out")]) == 2
    assert told_in_the_tutorial(capsys.readouterr().err, bag)


def test_too_short_a_calibration_gives_the_tutorial_s_line(
    samples: JointSamples, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bag = record(tmp_path / "bag", samples.slice(0, 20))
    assert main(["calibrate", str(bag), *OWN, "--out", str(tmp_path / "calibration.json")]) == 2
    assert told_in_the_tutorial(capsys.readouterr().err, bag)


def test_the_site_has_the_pages_pictures() -> None:
    """Pages have them as HTML, so that they have a width; MyST leaves such ones behind unless told to read them."""
    assert any("<img " in page.read_text(encoding="utf-8") for page in PAGES)
    assert "html_image" in runpy.run_path(str(ROOT / "docs" / "conf.py"))["myst_enable_extensions"]


def test_animations_are_small_and_move() -> None:
    found = sorted((ROOT / "docs" / "images").glob("*.webp"))
    assert {path.stem for path in found} >= {"certified", "prime", "actuators", "sampling", "bayesian"}
    for path in found:
        assert path.stat().st_size < 300_000, path.name
        with Image.open(path) as moving:
            assert getattr(moving, "n_frames", 1) > 10, path.name


def test_every_page_is_in_the_menu_of_the_site() -> None:
    """Sphinx refuses a page that no table of contents has; this says so at once."""
    contents = runpy.run_path(str(ROOT / "docs" / "conf.py"))["CONTENTS"]
    listed = {page for pages in contents.values() for page in pages}
    assert {page.stem for page in (ROOT / "docs").glob("*.md")} - {"index"} <= listed
    assert {"interval/index", "prime/index"} <= listed
