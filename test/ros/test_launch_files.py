# SPDX-License-Identifier: Apache-2.0
"""Launch files: read as source everywhere, built and run where launch_ros is importable."""

from __future__ import annotations

import ast
import json
import os
import re
import select
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
import yaml
from shared import children
from shared.kinova_motion import measure
from shared.launch_stand_in import WARNINGS, run_launch
from shared.recorded import record

from sysid_nodes.cli.main import main
from sysid_nodes.robots import load_robot

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "launch").glob("*.launch.py"))


def test_the_files_are_there() -> None:
    names = {path.name for path in FILES}
    assert {"interval.launch.py", "kinova.launch.py", "replay.launch.py"} <= names


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_what_a_file_refers_to_exists(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)]
    started = [
        call.args[0].value for call in calls if call.func.id == "ours" and isinstance(call.args[0], ast.Constant)
    ]
    assert started
    for name in started:
        module = ROOT / "sysid_nodes" / "ros" / "nodes" / f"{name}.py"
        assert module.is_file(), f"no executable {name}"
        functions = ast.parse(module.read_text(encoding="utf-8")).body
        assert any(isinstance(item, ast.FunctionDef) and item.name == "main" for item in functions)
    assert "Node" not in {call.func.id for call in calls}, "a node that `ours` does not make knows no namespace"
    strings = [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)]
    for folder, suffix in (("config", ".yaml"), ("rviz", ".rviz"), ("launch", ".launch.py")):
        for name in (text for text in strings if text.endswith(suffix)):
            assert (ROOT / folder / name).is_file(), f"{path.name} names {folder}/{name}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_numbers_live_in_the_parameter_files(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    numbers = [
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, (int, float)) and not isinstance(node.value, bool)
    ]
    assert not numbers


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_has_a_docstring_and_every_argument_an_explanation(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert ast.get_docstring(tree)
    arguments, _ = run_launch(path, tmp_path, monkeypatch)
    assert {"config", "joint_states", "use_sim_time", "namespace"} <= set(arguments)
    assert all(told["description"] for told in arguments.values())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_switch_can_be_turned_on(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Against stand-ins, so that a file is run where ROS is not installed, too."""
    arguments, usual = run_launch(path, tmp_path, monkeypatch, namespace="left")
    on = {name: "true" for name, told in arguments.items() if told.get("choices")}
    _, all_on = run_launch(path, tmp_path, monkeypatch, namespace="left", frame_prefix="left/", **on)
    assert {node["namespace"] for node in (*usual, *all_on)} == {"left"}
    assert len(all_on) > len(usual) or not set(on) & {"simulated", "rviz"}
    for node in usual:
        assert node["remappings"] is not None
        names = [given for given in node["parameters"] if isinstance(given, str)]
        assert all(Path(name).is_file() for name in names)


@pytest.mark.parametrize(
    ("on", "config"),
    [
        ((), "kinova_gen3.yaml"),
        (("certified",), "kinova_gen3_certified.yaml"),
        (("simulated",), "kinova_gen3_simulated.yaml"),
        (("simulated", "certified"), "kinova_gen3_simulated.yaml"),
    ],
)
def test_a_gen3_gets_the_parameters_of_what_is_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, on: tuple[str, ...], config: str
) -> None:
    """The one for a real arm's sensors lets armature be zero, with which a planner configures nothing."""
    path = ROOT / "launch" / "kinova.launch.py"
    _, nodes = run_launch(path, tmp_path, monkeypatch, **dict.fromkeys(on, "true"))
    assert {Path(node["parameters"][0]).name for node in nodes} == {config}
    plays = {node["executable"] for node in nodes if "simulated_arm.interface" in node["parameters"][1]}
    assert plays == ({"simulated_arm"} if on == ("simulated",) else set())
    given = run_launch(path, tmp_path, monkeypatch, **dict.fromkeys(on, "true"), config="kinova_gen3_motor_side.yaml")
    assert {Path(node["parameters"][0]).name for node in given[1]} == {"kinova_gen3_motor_side.yaml"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_node_of_a_launch_goes_into_its_namespace(path: Path) -> None:
    need_launch()
    from launch.actions import DeclareLaunchArgument, OpaqueFunction
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    from launch import LaunchContext

    context = LaunchContext()
    description = PythonLaunchDescriptionSource(str(path)).get_launch_description(context)
    known = {argument.name for argument in description.get_launch_arguments()}
    wanted = {"namespace": "left", "bag": "bag", "frame_prefix": "left/"}
    wanted |= dict.fromkeys(("simulated", "certified", "publish_description", "rviz"), "true")
    context.launch_configurations.update({name: value for name, value in wanted.items() if name in known})
    nodes = []
    for entity in description.entities:
        assert isinstance(entity, (DeclareLaunchArgument, OpaqueFunction))
        nodes += entity.visit(context) or []
    names = []
    for node in nodes:
        node._perform_substitutions(context)
        names.append(node.node_name)
    assert names and all(name.startswith("/left/") for name in names)
    ours = [node for node in nodes if node.node_package == "online_sysid"]
    assert all(f"/left/{node.node_executable}" == node.node_name for node in ours)
    for node in (node for node in nodes if node.node_package == "rviz2"):
        words = [part.text for parts in node.cmd for part in parts if hasattr(part, "text")]
        view = words[words.index("-d") + 1]
        shown = yaml.safe_load(Path(view).read_text(encoding="utf-8"))["Visualization Manager"]
        prefixes = [display["TF Prefix"] for display in shown["Displays"] if "TF Prefix" in display]
        assert prefixes == ["left" if "frame_prefix" in known else ""]
        described = "robot_state_publisher" in {other.node_package for other in nodes}
        assert described == (path.stem not in ("replay.launch", "bayesian.launch")), "else the file says who does it"
    if "certified" in known:
        assert {"/left/certified_planner", "/left/robust_controller", "/left/interval_identifier"} < set(names)


def test_an_argument_that_is_nearly_one_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # launch itself passes over what no file declares, and only the identifier would start
    run_launch(ROOT / "launch" / "kinova.launch.py", tmp_path, monkeypatch, simulatd="true", of_another_file="x")
    assert WARNINGS == ["there is no argument 'simulatd'; did you mean 'simulated'?"]


def test_a_switch_takes_no_word_but_true_and_false() -> None:
    need_launch()
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    from launch import LaunchContext

    context = LaunchContext()
    context.launch_configurations["rviz"] = "yes"
    source = PythonLaunchDescriptionSource(str(ROOT / "launch" / "kinova.launch.py"))
    arguments = {a.name: a for a in source.get_launch_description(context).get_launch_arguments()}
    with pytest.raises(RuntimeError, match="yes"):
        arguments["rviz"].visit(context)


def launched(path: Path, **arguments: str) -> int:
    """Status of a launch that ends by itself."""
    from launch.actions import IncludeLaunchDescription
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    from launch import LaunchDescription, LaunchService

    service = LaunchService(argv=[], noninteractive=True)
    source = PythonLaunchDescriptionSource(str(path))
    included = IncludeLaunchDescription(source, launch_arguments=list(arguments.items()))
    service.include_launch_description(LaunchDescription([included]))
    return int(service.run())


@pytest.mark.ros
def test_a_bag_is_played_when_the_identifier_listens_and_its_result_kept(tmp_path: Path) -> None:
    """All of it is heard, and what a replay offline finds is found.

    Nine digits, because the launch may be of another ROS installation, where the 15th was seen to differ; another BLAS
    or the kernel in NumPy does that. With the same ones it holds to the last bit (test_interval_identifier_node.py).
    """
    need_launch()
    samples = measure(load_robot("kinova_gen3"), 121, 200.0)
    record(tmp_path / "bag", samples)
    out = tmp_path / "out"
    config = str(ROOT / "config" / "kinova_gen3_simulated.yaml")
    bag = str(tmp_path / "bag")
    assert launched(ROOT / "launch" / "replay.launch.py", bag=bag, out=str(out), config=config) == 0
    result = json.loads((out / "result.json").read_text())
    offline = tmp_path / "offline"
    assert main(["replay", bag, "--config", config, "--out", str(offline)]) == 0
    expected = json.loads((offline / "result.json").read_text())
    assert result["samples"] == expected["samples"]
    for found, row in zip(result["parameters"], expected["parameters"], strict=True):
        numbers = {key: value for key, value in row.items() if isinstance(value, float)}
        assert found["name"] == row["name"] and len(numbers) >= 5
        assert {key: found[key] for key in numbers} == pytest.approx(numbers, rel=1e-9)


@pytest.mark.ros
def test_a_bag_that_cannot_be_played_is_an_error(tmp_path: Path) -> None:
    need_launch()
    assert launched(ROOT / "launch" / "replay.launch.py", bag=str(tmp_path / "nothing")) == 1


LAUNCHED = """
import os, sys
from launch import LaunchDescription, LaunchService
from launch.actions import RegisterEventHandler
from launch.event_handlers import OnProcessStart
from sysid_nodes.ros.launching import ours

node = ours("interval_identifier", {"namespace": ""}, [])
tell = OnProcessStart(on_start=lambda event, _: print("name", event.process_name, "pid", event.pid, "", flush=True))
service = LaunchService(argv=[], noninteractive=True)
service.include_launch_description(LaunchDescription([RegisterEventHandler(tell), node]))
sys.exit(service.run())
"""


@pytest.mark.ros
@pytest.mark.skipif(shutil.which("setpriv") is None, reason="setpriv (util-linux) is not installed")
@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGKILL])
def test_a_launch_that_is_ended_leaves_no_node_behind(stop: signal.Signals) -> None:
    """Launch itself signals what it started on Ctrl-C alone."""
    need_launch()
    launch = children.start("-c", LAUNCHED, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    try:
        told = ""
        while "active" not in told:  # its own handlers are in place by then
            line = launch.stdout.readline() if launch.stdout else ""
            assert line, f"the launch has ended: {told}"
            told += line
        found = re.search(r"name (\S+) pid (\d+) ", told)
        assert found is not None
        assert found[1] == "interval_identifier-1", "said by its own name, whatever it is started by"
        node = os.pidfd_open(int(found[2]))
        launch.send_signal(stop)
        assert select.select([node], [], [], children.LIMIT)[0], "the node is still there"
        os.close(node)
    finally:
        children.kill(launch)


def need_launch() -> None:
    pytest.importorskip("launch_ros", reason="launch_ros is not installed: it comes with a ROS install, not from PyPI")


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_a_file_describes_a_launch(path: Path) -> None:
    need_launch()
    from launch.launch_description_sources import PythonLaunchDescriptionSource

    from launch import LaunchContext

    description = PythonLaunchDescriptionSource(str(path)).get_launch_description(LaunchContext())
    arguments = {argument.name: argument for argument in description.get_launch_arguments()}
    assert "config" in arguments
    assert all(argument.description for argument in arguments.values())


@pytest.mark.ros
def test_the_identifier_starts_and_stops_by_launch() -> None:
    pytest.importorskip("launch_testing", reason="launch_testing is not installed: it comes with a ROS install")
    run_test = "from launch_testing.launch_test import main; main()"
    status, said, errors = children.run("-c", run_test, Path(__file__).with_name("identifier_launch.py"))
    assert status == 0, said + errors
