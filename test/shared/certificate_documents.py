# SPDX-License-Identifier: Apache-2.0
"""Certificates of a Gen3 as documents for the independent checker, of few intervals so that they take a second."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from shared.certified_arm import BODY, LOAD, SCENE, START, box, plan

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.known_robot import PriorConfig
from sysid_nodes.results.trajectory_record import TrajectoryRecord, record_trajectory
from sysid_nodes.sessions.certified.config import CertifiedConfig, Setup, set_up
from sysid_nodes.sessions.certified.premises import certificate_document, certificate_premises
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.verification.verify import Verdict, Verification

CONFIG = CertifiedConfig(certifier=CertifierConfig(intervals=16))
LATE = replace(CONFIG, control=replace(CONFIG.control, delay=0.0025, position_gain=2.5))
"""Torques that come up to 2.5 ms late."""


@cache
def setup(config: CertifiedConfig = CONFIG) -> Setup:
    return set_up(config)


@cache
def records(
    share: float, displacement: float, config: CertifiedConfig = CONFIG
) -> tuple[TrajectoryRecord, TrajectoryRecord]:
    """A trajectory from rest for a share of the prior, and one that takes over from it."""
    made, models, prior = setup(config), box(share), PriorConfig().bounds
    bounds = prior if share == 1.0 else Bounds(LOAD - share * prior.half_width, LOAD + share * prior.half_width)
    certifier = Certifier(made.robot, made.shapes, config.control, config.certifier)
    still, entry = np.zeros(7), certifier.at_rest(models)
    motion = Bezier(START, still, still, plan(displacement).k, 3.0)
    about = {
        "joint_names": made.robot.joint_names, "bounds": bounds, "bounds_window": -1, "nominal": models.theta[BODY],
        "start_rate": entry.speed, "body": made.body, "target": "body", "config_id": made.config_id,
        "scene_id": SCENE.id,
    }  # fmt: skip
    certificate = certifier.certify(motion, models, entry, SCENE)
    first = record_trajectory(motion, certificate, start_ns=10**9, **about)
    assert certificate.certified and certificate.envelope is not None
    state = [x[0] for x in motion(np.array([1.0]))]
    onward = Bezier(*state, 0.5 * motion.k, 3.0)
    certificate = certifier.certify(onward, models, certificate.envelope.entry(1.0), SCENE)
    assert certificate.certified
    return first, record_trajectory(onward, certificate, start_ns=0, previous=first, previous_time=1.0, **about)


def document(
    record: TrajectoryRecord, former: TrajectoryRecord | None = None, config: CertifiedConfig = CONFIG, **changes: Any
) -> dict[str, Any]:
    """The document of a record, some of its fields replaced and sealed anew."""
    made = setup(config)
    changed = replace(record, **changes).seal() if changes else record
    return certificate_document(changed, former, certificate_premises(made.robot, made.shapes, config), SCENE)


def not_verified(found: Verification) -> set[str]:
    """Names of the claims that are not."""
    return {claim.name for claim in found.claims if claim.verdict is Verdict.NOT_VERIFIED}
