# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sysid_nodes.exceptions import InputError
from sysid_nodes.reports.actuators.report import headline, verdict
from sysid_nodes.reports.actuators.run import ActuatorRun, actuator_document
from sysid_nodes.reports.actuators.schema import ACTUATOR_FIELDS, validate_actuators
from sysid_nodes.results.actuator_methods import JointMethod, OracleTorque
from sysid_nodes.results.actuators import (
    ActuatorEstimate,
    ActuatorResult,
    ActuatorStatus,
    JointActuator,
    MotionVerdict,
    ReplayError,
)
from sysid_nodes.robots import limb, load_robot
from sysid_nodes.sessions.actuators.config import ActuatorSessionConfig

LEG = limb(load_robot("go2"), "FL_")


def document() -> dict[str, Any]:
    told = ActuatorEstimate("coulomb", "N m", 0.3, 0.01, 0.28, 0.32)
    untold = ActuatorEstimate("armature", "kg m²", None, 0.01, 0.0, np.inf, "known to ± 90 % only", "a chirp to 5 Hz")
    verdict = MotionVerdict(("coulomb", "armature"), 20.0, np.eye(2))
    replay = ReplayError(2e-3, 1e-3, 9e-3)
    joint = JointActuator("knee", verdict, verdict, (told, untold), replay, 0.2, True, np.zeros(12))
    result = ActuatorResult(ActuatorStatus.PARTIAL, (), (joint,), 100, 1.0)
    nothing = np.zeros((2, 1))
    oracle = OracleTorque(np.ones(2), np.ones(2), 1e-3, np.array([1.0, np.nan]))
    method = JointMethod("knee", "structured", np.zeros(2), replay, 0.0, oracle, {}, ())
    alarm = {"joint": "knee", "kind": "delay", "parameter": "delay", "unit": "s", "before": 0.0, "after": 1.0}
    online = {
        "id": "a", "config_id": "b", "window": 1, "windows": [0, 1], "live": None, "truth": None,
        "alarms": [alarm | {"since": 2.0, "message": "changed"}],
    }  # fmt: skip
    run = ActuatorRun(
        result, np.zeros(2), nothing, nothing, nothing, LEG, "bag", 0.1, ActuatorSessionConfig(), online,
        methods=(method,),
    )  # fmt: skip
    return actuator_document(run)


def test_a_result_is_of_the_schema_and_infinity_is_null() -> None:
    found = validate_actuators(document())
    assert found["joints"][0]["parameters"][1]["upper"] is None
    assert headline(found).startswith("1 of 2 parameters of 1 joints are identified; one rollout")
    row = found["joints"][0]["parameters"][1] | {"identifiable": True, "estimate": 0.0125}
    found["joints"][0]["parameters"] = [row, row | {"name": "delay", "unit": "s", "estimate": 0.005}]
    assert "identified; armature 0.0125 kg m²; delay 5 ms; one rollout" in headline(found)
    found["joints"].append({"parameters": [row | {"estimate": 0.02}]})
    assert "of 2 joints are identified; armatures from 0.0125 to 0.02 kg m²; delay 5 ms (1 of 2 joints);" in headline(
        found
    )


def test_an_alarm_is_in_the_verdict() -> None:
    found = document() | {"status": "IDENTIFIED"}
    assert verdict(found)["tone"] == "wait"
    assert verdict(found)["sentences"][-1] == "Changed."
    quiet = verdict(found | {"online": None})
    assert quiet["tone"] == "good"
    assert len(quiet["sentences"]) == 1


def test_a_headline_without_commands_claims_no_rollout_of_the_log() -> None:
    found = document()
    found["config"] = found["config"] | {"drive": "effort"}
    assert "one rollout" not in headline(found)
    assert "; rollouts of 0.3 s, each with a start state fitted to it, follow the log within 2 mrad" in headline(found)


@pytest.mark.parametrize("field", [f for f in ACTUATOR_FIELDS if not f.optional], ids=lambda field: field.path)
def test_every_field_is_asked_for(field: Any) -> None:
    spoilt = copy.deepcopy(document())
    node: Any = spoilt
    *way, last = field.path.split(".")
    for step in way:
        node = node[step.removesuffix("[]")]
        node = node[0] if step.endswith("[]") else node
    del node[last.removesuffix("[]")]
    with pytest.raises(InputError):
        validate_actuators(spoilt)


def test_what_is_not_identifiable_must_not_have_a_value() -> None:
    spoilt = document()
    spoilt["joints"][0]["parameters"][1]["estimate"] = 0.02
    with pytest.raises(InputError, match="armature of 'knee' must have an estimate if it is identifiable"):
        validate_actuators(spoilt)


def test_the_page_documents_every_field(project_root: Path) -> None:
    page = (project_root / "docs" / "actuators" / "result.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|", page, re.MULTILINE)
    assert [(name, kind.strip()) for name, kind in rows] == [(field.path, field.kind) for field in ACTUATOR_FIELDS]
