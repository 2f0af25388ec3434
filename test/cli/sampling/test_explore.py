# SPDX-License-Identifier: Apache-2.0
"""sysid explore on a small estimate: its files, and what is refused before any work."""

import csv
import json
from dataclasses import replace

import pytest
from shared.exploration import PLAN_OPTIONS, posterior_of

from sysid_nodes.cli.main import main
from sysid_nodes.data.config import to_flat
from sysid_nodes.messages.sampling.posterior import posterior_fields
from sysid_nodes.reports.sampling.exploration import headline, read_plan
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.sampling.config import SamplingSessionConfig
from sysid_nodes.systems.sampling import SamplingConfig
from sysid_nodes.systems.sampling.unknowns import Unknowns

OPTIONS = [f"--set={name}={value}" for name, value in PLAN_OPTIONS.items()]


@pytest.fixture
def result(tmp_path, monkeypatch):
    """A file with what `sysid explore` reads of a result, and its posterior."""
    # The schema has a test of its own; here the parts matter that a plan rests on.
    monkeypatch.setattr("sysid_nodes.cli.sampling.explore.validate_sampling", lambda document, **_: document)
    posterior = posterior_of(Unknowns(load_robot("go2"), SamplingConfig()))
    document = {"schema": 1, "pipeline": "sampling", "status": "PARTIAL", "posterior": posterior_fields(posterior)}
    document["config"] = to_flat(SamplingSessionConfig()) | {"sampling.threads": 1}
    path = tmp_path / "walk" / "result.json"
    path.parent.mkdir()
    path.write_text(json.dumps(document), encoding="utf-8")
    return path, posterior


def test_a_plan_is_written_with_its_table_and_page_and_may_be_made_again(result, tmp_path, capsys):
    path, posterior = result
    out = tmp_path / "plan"
    assert main(["explore", str(path), *OPTIONS, "--out", str(out)]) == 0
    assert "1 s of motion should narrow sigma of mass" in capsys.readouterr().out
    plan = read_plan(out / "plan.json")
    assert plan.estimate == posterior.id
    same = tuple(replace(row, after=row.before) if row.name == "mass" else row for row in plan.spreads)
    assert "should leave sigma of mass at 0.19 kg, and narrow that of" in headline(replace(plan, spreads=same))
    rows = list(csv.DictReader((out / "commands.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == 50
    assert {row["gait"] for row in rows} == set(plan.gaits)
    assert float(rows[0]["vx"]) == 0.0
    page = (out / "plan.html").read_text(encoding="utf-8")
    for word in ("4 drawn robots, none fell", "centre_z", posterior.id, "<svg", "not compared"):
        assert word in page
    assert main(["explore", str(path), *OPTIONS, "--out", str(out)]) == 0
    assert read_plan(out / "plan.json").id == plan.id


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--set", "vetting.draws=0"], "'vetting.draws' must be at least 1, got 0"),
        (["--set", "criterion=Q"], "'criterion' must be one of A, D, E, T"),
        (["--set", "commands.gaits=hop"], "knows no 'hop'"),
        (["--duration", "1.5"], "'duration' must be a multiple of 'segment', 1 s, got 1.5"),
        (["--set", "nothing=1"], "unknown key 'nothing'"),
    ],
)
def test_what_makes_no_plan_is_one_line(result, tmp_path, capsys, arguments, message):
    assert main(["explore", str(result[0]), *OPTIONS, *arguments, "--out", str(tmp_path / "plan")]) == 2
    assert message in capsys.readouterr().err.strip().splitlines()[-1]
    assert not (tmp_path / "plan").exists()


def test_a_folder_of_something_else_is_refused_before_planning(result, capsys):
    path, _ = result
    assert main(["explore", str(path), *OPTIONS, "--out", str(path.parent)]) == 2
    error = capsys.readouterr().err
    assert "holds no earlier plan.json" in error
    assert "planning" not in error


@pytest.mark.slow
def test_without_an_area_every_plan_does_harm_and_nothing_is_written(result, tmp_path, capsys):
    tight = ["--set", "vetting.area=0.1", "--set", "vetting.attempts=1", "--set", "commands.gaits=trot"]
    tight += ["--set", "search.draws=0", "--duration", "2", "--set", "segment=2", "--set", "commands.forward=2"]
    status = main(["explore", str(result[0]), *OPTIONS, *tight, "--out", str(tmp_path / "plan")])
    assert status == 3
    assert "no plan is fit" in capsys.readouterr().err
    assert not (tmp_path / "plan").exists()


def test_no_plan_is_made_for_an_estimate_that_does_not_trust_itself(result, tmp_path, capsys):
    document = json.loads(result[0].read_text(encoding="utf-8"))
    result[0].write_text(json.dumps(document | {"status": "UNTRUSTED"}), encoding="utf-8")
    assert main(["explore", str(result[0]), *OPTIONS, "--out", str(tmp_path / "plan")]) == 2
    assert "no plan can rest on it: the simulations do not follow the recorded motion" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"), [(None, "No such file"), ({"schema": 1, "pipeline": "prime"}, "not a result of the pipe")]
)
def test_what_is_no_identification_by_rollouts_is_refused(tmp_path, capsys, content, message):
    path = tmp_path / "result.json"
    if content is not None:
        path.write_text(json.dumps(content), encoding="utf-8")
    assert main(["explore", str(path), "--out", str(tmp_path / "plan")]) == 2
    assert message in capsys.readouterr().err
