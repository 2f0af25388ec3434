"""The demo's command line, its bookkeeping and its screen; no process is started here."""

from __future__ import annotations

import argparse
import io
import math
import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from shared.synthetic_run import TRUTH, run

from sysid_nodes.cli import demo_config, demo_nodes, demo_screen
from sysid_nodes.cli import main as command
from sysid_nodes.cli.demo_screen import Screen, plain_line
from sysid_nodes.cli.demo_summary import missed_ever, same, summary
from sysid_nodes.cli.demo_watch import Watch
from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.config import load_yaml
from sysid_nodes.exceptions import InputError
from sysid_nodes.identifiers.config import IntervalIdentifierConfig
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.reports.result_file import build_document
from sysid_nodes.results import Status
from sysid_nodes.simulation import SimulationConfig

PRIOR = PriorConfig().bounds


def bounds_line(lower: Any, upper: Any, status: Status = Status.PROVEN) -> dict[str, Any]:
    message = "clash" if status is Status.INCONSISTENT else ""
    fields = {"lower": list(lower), "upper": list(upper), "status": int(status), "message": message}
    return {"bounds": fields | {"window": 4, "solve_time": 0.02}}


def diagnostics_line(
    count: int, *, state: str, published: int, received: int, waiting: int = 0, behind: float = 0.0
) -> dict[str, Any]:
    arm = {"state": state, "messages published": str(published), "behind real time [s]": f"{behind:.3f}"}
    identifier = {
        "messages received": str(received), "messages waiting": str(waiting), "rate [Hz]": "1000.0",
        "lag [s]": "0.010", "samples rejected": "2", "samples used": str(received - 2),
    }  # fmt: skip
    return {
        "count": count,
        "diagnostics": {"simulated_arm: motion": arm, "interval_identifier: identification": identifier},
    }


@pytest.fixture
def watch() -> Watch:
    made = Watch(PRIOR, TRUTH, duration=5.0, tick=1e-3)
    made.take(bounds_line(TRUTH - 0.01, TRUTH + 0.01))
    made.take(diagnostics_line(3000, state="moving", published=3001, received=3000))
    return made


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "the following arguments are required: robot"),
        (["ur10"], "invalid choice: 'ur10'"),
        (["kinova", "--duration", "0.5"], "argument --duration: expected a number from 1 to 600, got '0.5'"),
        (["kinova", "--duration", "nan"], "argument --duration: expected a number from 1 to 600, got 'nan'"),
        (["kinova", "--payload", "four"], "argument --payload: expected a number from 0.1 to 3.8, got 'four'"),
        (["kinova", "--seed", "-1"], "argument --seed: expected a whole number from 0 on, got '-1'"),
        (["kinova", "--domain-id", "233"], "argument --domain-id: expected 0 to 232, got '233'"),
    ],
)
def test_wrong_usage_is_one_line(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["demo", *words]) == 2
    text = capsys.readouterr().err
    assert message in text
    assert text.count("\n") == 1


def test_help_has_examples(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["demo", "--help"]) == 0
    assert "  sysid demo kinova" in capsys.readouterr().out


@pytest.mark.parametrize(("module", "name"), [("rclpy", "ROS 2"), ("online_sysid", "this package's messages")])
def test_without_ros_it_says_what_is_missing(
    module: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda asked: None if asked == module else asked)
    assert command.main(["demo", "kinova", "--out", str(tmp_path / "out")]) == 2
    assert f"the live demo needs {name}" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_a_folder_with_other_things_in_it_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda asked: asked)
    (tmp_path / "thesis.tex").write_text("do not touch")
    assert command.main(["demo", "kinova", "--out", str(tmp_path)]) == 2
    assert [item.name for item in tmp_path.iterdir()] == ["thesis.tex"]


def test_rviz_is_asked_for_only_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    with pytest.raises(InputError, match="needs rviz2"):
        demo_config.rviz_files(tmp_path)
    monkeypatch.setattr("shutil.which", lambda name: name)
    view, description = demo_config.rviz_files(tmp_path)
    assert view.is_file()
    assert "<robot" in description.read_text()


def test_the_identifier_allows_for_what_the_simulated_sensors_do_and_no_more(tmp_path: Path) -> None:
    simulation = SimulationConfig(robot_error=0.03, torque_relative=0.01, velocity_error=2e-4)
    config = demo_config.identifier(simulation)
    assert config.noise.torque_relative == (0.01,)
    assert config.noise.velocity_error == (2e-4,)
    assert config.noise.torque_interpolation == simulation.torque_interpolation
    assert config.known_robot.inertia_relative == config.known_robot.friction_relative == 0.03
    # a stamp of today, in seconds as a double, is off by half a step of the doubles there
    assert config.noise.stamp_error > 0.5 * math.ulp(2e9)
    file = tmp_path / "config.yaml"
    file.write_text(demo_config.parameter_file(config))
    assert load_yaml(IntervalIdentifierConfig, file) == config


def test_a_domain_in_use_and_the_users_own_are_avoided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demo_nodes, "_DOMAINS", range(80, 83))
    monkeypatch.setenv("ROS_DOMAIN_ID", "80")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as taken:
        taken.bind(("", 7400 + 250 * 81 + 12))
        assert {demo_nodes.free_domain() for _ in range(20)} == {82}


def test_nothing_leads_the_processes_off_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROS_DISCOVERY_SERVER", "192.0.2.1:11811")
    monkeypatch.setenv("ROS_STATIC_PEERS", "192.0.2.1")
    monkeypatch.setenv("ROS_AUTOMATIC_DISCOVERY_RANGE", "SUBNET")
    variables = demo_nodes.environment(42)
    assert variables["ROS_DOMAIN_ID"] == "42"
    assert variables["ROS_AUTOMATIC_DISCOVERY_RANGE"] == "LOCALHOST"
    assert not {"ROS_DISCOVERY_SERVER", "ROS_STATIC_PEERS"} & set(variables)


def test_the_watch_counts_what_was_lost_and_knows_when_all_is_there(watch: Watch) -> None:
    assert watch.elapsed == 3.0
    assert watch.lost == 0  # one is on its way
    assert not watch.complete
    watch.take(diagnostics_line(5000, state="finished", published=5000, received=4990))
    assert watch.lost == 10
    assert not watch.complete
    watch.take(diagnostics_line(5000, state="finished", published=5000, received=5000, waiting=3))
    assert not watch.complete
    watch.take(diagnostics_line(5000, state="finished", published=5000, received=5000))
    assert watch.complete


def test_a_truth_outside_is_never_forgotten(watch: Watch) -> None:
    document = build_document(run())
    assert missed_ever(watch, document) == []
    upper = TRUTH + 0.01
    upper[3] = TRUTH[3] - 1e-9
    watch.take(bounds_line(TRUTH - 0.01, upper))
    watch.take(bounds_line(TRUTH - 0.01, TRUTH + 0.01))
    assert missed_ever(watch, document) == ["m*cz"]
    assert "WRONG" in summary(watch, document, agree=True, usage={}, out=Path("out"), seed=1)


def test_a_truth_outside_the_final_result_counts_even_if_it_was_not_published(watch: Watch) -> None:
    document = build_document(run())
    document["parameters"][0]["lower"] = TRUTH[0] + 1e-9
    assert missed_ever(watch, document) == ["m"]


def test_a_contradiction_keeps_the_last_bounds_on_the_screen(watch: Watch) -> None:
    before = watch.bounds
    watch.take(bounds_line([math.nan] * 10, [math.nan] * 10, Status.INCONSISTENT))
    assert watch.contradicted == "clash"
    assert watch.bounds is before


def drawn(watch: Watch, encoding: str = "utf-8", width: int = 100) -> str:
    screen = Screen("title")
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    screen.console = Console(file=stream, width=width)
    screen.console.print(screen.table(watch))
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)


@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_table_shows_every_interval_on_any_terminal(watch: Watch, encoding: str) -> None:
    text = drawn(watch, encoding)
    rows = text.splitlines()[1:]
    assert [row.split()[0] for row in rows] == list(PARAMETER_NAMES)
    assert all(row.rstrip().endswith("inside") for row in rows)
    # ends are rounded outward: what is shown is true
    lower, truth, upper = (float(cell) for cell in rows[0].split()[2:5])
    assert lower <= TRUTH[0] - 0.01 <= TRUTH[0] + 0.01 <= upper
    assert truth == pytest.approx(TRUTH[0], abs=1e-4)
    assert max(map(len, text.splitlines())) <= 100


def test_after_a_contradiction_the_intervals_are_called_withdrawn(watch: Watch) -> None:
    assert "Withdrawn" not in drawn(watch)
    assert "mass" in plain_line(watch)
    watch.take(bounds_line([math.nan] * 10, [math.nan] * 10, Status.INCONSISTENT))
    assert "Withdrawn: the data contradict the stated assumptions" in drawn(watch)
    line = plain_line(watch)
    assert "no bounds are claimed: clash" in line
    assert "mass" not in line


def test_a_miss_is_loud_in_the_table(watch: Watch) -> None:
    watch.take(bounds_line(TRUTH + 0.001, TRUTH + 0.01))
    assert drawn(watch).count("OUTSIDE") == 10


def test_the_bar_spans_the_prior_and_marks_the_truth() -> None:
    truth = PRIOR.lower + 0.5 * (PRIOR.upper - PRIOR.lower)
    watch = Watch(PRIOR, truth, duration=1.0, tick=1e-3)
    assert demo_screen._bar(watch, 0, 20, True).plain == "━" * 10 + "┃" + "━" * 9
    width = PRIOR.upper - PRIOR.lower
    watch.take(bounds_line(PRIOR.lower + 0.26 * width, PRIOR.lower + 0.74 * width))
    assert demo_screen._bar(watch, 0, 20, True).plain == "·" * 5 + "━" * 5 + "┃" + "━" * 4 + "·" * 5


def test_elsewhere_a_line_tells_the_same(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    with Screen("starting") as screen:
        screen.console = Console(file=io.StringIO(), width=100)
        screen.show(watch)
        screen.show(watch)  # not due yet
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "starting"
    assert lines[1:] == [plain_line(watch)]
    assert "10/10 truths inside" in lines[1]


def test_a_slow_machine_is_said_to_be_slow(watch: Watch) -> None:
    document = build_document(run())
    watch.take(diagnostics_line(4990, state="finished", published=5000, received=4990, behind=1.25))
    text = summary(watch, document, agree=False, usage={"arm": 0.2}, out=Path("out"), seed=1)
    assert "could not keep up" in text
    assert "10 lost" in text
    assert "1.25 s longer" in text
    assert "did not hear all of it" in text
    assert "arm 20 %" in text


def test_samples_that_the_identifier_dropped_are_said_to_be_dropped(watch: Watch) -> None:
    line = diagnostics_line(5000, state="finished", published=5000, received=5000)
    line["diagnostics"]["interval_identifier: identification"]["rejected: overload"] = "700"
    watch.take(line)
    assert "could not keep up" in summary(watch, build_document(run()), agree=False, usage={}, out=Path("out"), seed=1)


def test_results_are_the_same_only_to_the_last_bit() -> None:
    one, other = build_document(run()), build_document(run())
    assert same(one, other)
    other["history"][7]["lower"][3] = np.nextafter(other["history"][7]["lower"][3], -1.0)
    assert not same(one, other)


def test_arguments_have_defaults_that_ask_nothing() -> None:
    from sysid_nodes.cli import demo

    parser = argparse.ArgumentParser()
    demo.add_arguments(parser)
    args = parser.parse_args(["kinova"])
    assert (args.out, args.duration, args.seed, args.payload) == (Path("demo_output"), 12.0, None, None)
