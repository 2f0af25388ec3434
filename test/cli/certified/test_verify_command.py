# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import json
from pathlib import Path

import pytest
from shared.certificate_documents import document, records

from sysid_nodes.cli.main import main
from sysid_nodes.data.key_file import read_key
from sysid_nodes.logs import BagWriter
from sysid_nodes.reports.certified.history import OBSTACLES, TRAJECTORIES, TYPES
from sysid_nodes.sessions.certified.settings import ESTIMATES

FIRST, SECOND = records(0.1, 0.08)


def test_a_file_is_verified_and_a_tampered_one_is_not(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(document(FIRST)))
    bad.write_text(json.dumps(document(FIRST, obstacle_margin=1.0)))
    assert main(["verify", str(good)]) == 0
    assert "every claim in scope is verified" in capsys.readouterr().out
    assert main(["verify", str(bad)]) == 3
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("distance to obstacles"))
    assert "1.0000 m" in line and line.endswith("not verified")


def test_what_rests_on_estimates_is_said_to_prove_nothing_about_the_arm(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "estimated.json"
    made = document(FIRST)
    path.write_text(json.dumps(made))
    main(["verify", str(path)])
    assert ESTIMATES not in capsys.readouterr().out
    path.write_text(json.dumps(made | {"premises": made["premises"] | {"estimates": True}}))
    main(["verify", str(path)])
    assert ESTIMATES in capsys.readouterr().out


def write_bag(path: Path, *, obstacles: bool = True) -> None:
    """Both trajectories and the obstacles, as a recorder has them."""
    with BagWriter(path) as bag:
        bag.add_topic(TRAJECTORIES, TYPES[TRAJECTORIES])
        bag.add_topic(OBSTACLES, TYPES[OBSTACLES])
        items = []
        for item in document(FIRST)["premises"]["obstacles"] if obstacles else ():
            pose = {
                "position": dict(zip("xyz", item["position"], strict=True)),
                "orientation": dict(zip("xyzw", item["quaternion"], strict=True)),
            }
            items.append({"name": item["name"], "kind": item["kind"], "pose": pose, "size": item["size"]})
        bag.write(OBSTACLES, 1.0, {"obstacles": items})
        for record in (FIRST, SECOND):
            fields = document(record)["record"]
            start = fields.pop("start_ns")
            stamp = {"sec": start // 10**9, "nanosec": start % 10**9}
            header = {"stamp": stamp, "frame_id": fields.pop("frame_id")}
            bag.write(TRAJECTORIES, 1.0, {"header": header, **fields})


def test_a_recording_that_is_not_there_is_missed_before_its_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["verify", str(tmp_path / "bag")]) == 2
    assert capsys.readouterr().err == f"sysid: error: {tmp_path}/bag: No such file or directory\n"


def test_a_recording_is_verified_and_saved(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bag(tmp_path / "bag")
    config = tmp_path / "config.yaml"
    config.write_text("/**:\n  ros__parameters:\n    certifier: {intervals: 16}\n")
    saved = tmp_path / "saved"
    words = ["verify", str(tmp_path / "bag"), "--config", str(config), "--sample", "0", "--save", str(saved)]
    assert main(words) == 0
    assert "continues the former one" in capsys.readouterr().out
    assert {path.stem for path in saved.iterdir()} == {FIRST.id, SECOND.id}


def test_what_a_recording_lacks_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_bag(tmp_path / "bag", obstacles=False)
    config = tmp_path / "config.yaml"
    config.write_text("/**:\n  ros__parameters:\n    certifier: {intervals: 17}\n")
    assert main(["verify", str(tmp_path / "bag"), "--config", str(config), "--sample", "1"]) == 3
    said = capsys.readouterr().out
    assert "robot, law and uncertainty" in said
    assert f"obstacles {FIRST.scene_id} are neither recorded nor given: name their file with --scene" in said


def test_what_is_no_certificate_is_refused_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for text, words in (("{", "no JSON"), ("[]", "no JSON object"), ("{}", "KeyError: 'premises'")):
        path = tmp_path / "wrong.json"
        path.write_text(text)
        assert main(["verify", str(path)]) == 2
        assert words in capsys.readouterr().err
    (tmp_path / "bag").mkdir()
    assert main(["verify", str(tmp_path / "bag")]) == 2
    assert "--config" in capsys.readouterr().err


def test_a_key_is_made_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "key"
    assert main(["key", "new", str(path)]) == 0
    assert str(path) in capsys.readouterr().out
    key = read_key(str(path))
    assert main(["key", "new", str(path)]) == 2
    assert "File exists" in capsys.readouterr().err
    assert read_key(str(path)) == key
