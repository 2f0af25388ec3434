# SPDX-License-Identifier: Apache-2.0
"""One plan of the soundness benchmark: certified, then attacked with models, errors, times and measurements."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.soundness_distances import LAWS, NEAR, approach, distances_beyond, engine_gaps, fixed_parts
from benchmarks.soundness_draws import (
    MODELS,
    MOTOR,
    Samples,
    draw_box,
    draw_models,
    draw_plan,
    draw_samples,
    draw_scene,
)
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.passivity import passive_inverse_dynamics
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import JointLimits
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import TrackingConfig
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProof
from sysid_nodes.systems.certified.certificate.occupancy import ENOUGH

Array = npt.NDArray[np.float64]

KINDS = ("torque", "disturbance", "velocity", "position", "obstacle", "self")
_DESIRED = 1000
"""Times at which distances of the desired motion are measured."""
_EXACT = TrackingConfig(position_error=(1e-9,), velocity_error=(1e-9,))
_ALLOWED = 1e-3
"""Least that a certificate allows for [m], for its share to be told."""
ENGINE = 2e-6
"""Errors that distances in plain floating point, and those of the engine, may have [m]."""


def run_plan(seed: int, index: int, samples: int) -> dict[str, Any]:
    """Record of one plan: margins, what the samples used of each certified range, and how often they left it."""
    rng, fixed = np.random.default_rng([seed, index]), fixed_parts()
    law = list(LAWS)[index // 2 % len(LAWS)]
    certifier: Certifier = fixed["certifiers"][law]
    box, share = draw_box(rng, fixed["robot"], index)
    scene, entry = draw_scene(rng), certifier.at_rest(box)
    refused: Counter[str] = Counter()
    for attempt in range(20):
        plan = draw_plan(rng, fixed["robot"], (0.8 if share == 1.0 else 1.5) / (1.0 + attempt / 3.0))
        proof, found = certifier.prove(plan, box, entry), certifier.certify(plan, box, entry, scene)
        if isinstance(proof, ErrorProof) and found.envelope is not None:
            break
        refused[found.verdict.name] += 1
    else:
        return {"plan": index, "samples": 0, "share": share, "law": law, "refused": refused}
    drawn = draw_samples(rng, plan, found.envelope, proof, gains(fixed["robot"], LAWS[law]), samples)
    used, gap = _dynamics(rng, box, drawn, found, proof, LAWS[law])
    q = drawn.now[0] - drawn.e
    near = distances_beyond(q, scene, found)
    moved = {kind: approach(rng, kind, near[kind], drawn, found, proof, scene) for kind in near}
    gap |= near
    # Without errors: distances of the desired motion, and what is certified of them.
    still, parts = certifier.certify_tracked(plan, box, _EXACT, scene).margins, {}
    certified = {"obstacle": still.obstacle - found.margins.obstacle}
    certified["self"] = still.self_distance - found.margins.self_distance
    for kind, free in distances_beyond(drawn.now[0][:_DESIRED], scene, found, beyond=ENOUGH).items():
        if near[kind].min() < NEAR and free.min() > _ALLOWED:
            used[kind] = float(1.0 - near[kind].min() / free.min())
            parts[kind] = [float(most / free.min()) for most in (certified[kind], moved[kind])]
    outside = {kind: int((gap[kind] < -(ENGINE if kind in ("obstacle", "self") else 0.0)).sum()) for kind in gap}
    return {
        "plan": index,
        "samples": samples,
        "share": share,
        "law": law,
        "proof": found.proof,
        "k": float(np.abs(plan.k).max()),
        "refused": refused,
        "verdict": found.verdict.name,
        "outside": outside,
        "gap": {kind: float(gap[kind].min()) for kind in gap if np.isfinite(gap[kind].min())},
        "used": used,
        "errors": parts,
        "engine": engine_gaps(rng, q, scene, found),
    }


def _dynamics(
    rng: np.random.Generator,
    box: ModelBox,
    drawn: Samples,
    found: Certificate,
    proof: ErrorProof,
    control: RobustControlConfig,
) -> tuple[dict[str, float], dict[str, Array]]:
    fixed = fixed_parts()
    law, limits, width = gains(fixed["robot"], control), fixed["robot"].limits, control.sign_width
    gain, count = law.position_gain, len(drawn.e)
    q, qd_a = drawn.now[0] - drawn.e, drawn.now[1] + gain * drawn.e
    qd, qdd_a = qd_a - drawn.r, drawn.now[2] + gain * (drawn.r - gain * drawn.e)
    # The command, as models/robust_control.py computes it.
    error, rate = drawn.then[0] - drawn.seen_q, drawn.then[1] - drawn.seen_qd
    seen_qd_a, seen_qdd_a = drawn.then[1] + gain * error, drawn.then[2] + gain * rate
    sign = np.clip(seen_qd_a / width, -1.0, 1.0)
    robust = np.clip(law.damping * (rate + gain * error), -found.robust_limit, found.robust_limit)
    feed = _model_torque(box.theta, box.motor, drawn.seen_q, drawn.seen_qd, seen_qd_a, seen_qdd_a, sign)
    ranges = limits.torque - found.margins.torque, limits.velocity - found.margins.velocity
    # What the true model needs beyond that, less what the proof accounts for by inertia: K_r (M - M0)(r - K_r e).
    theta, motor = draw_models(rng, box)
    which = rng.integers(0, MODELS, count)
    added = gain * (drawn.r - gain * drawn.e)
    w = np.empty((count, 7))
    for m in range(MODELS):
        of = which == m
        state = (q[of], qd[of], qd_a[of])
        one = {name: motor[name][m] for name in MOTOR}
        matched = _model_torque(box.theta, box.motor, *state, qdd_a[of], sign[of])
        matched -= _model_torque(box.theta, box.motor, *state, qdd_a[of] - added[of], sign[of])
        w[of] = _model_torque(theta[m], one, *state, qdd_a[of] - added[of], sign[of]) + matched - feed[of]
    w += np.where(w >= 0.0, 1.0, -1.0) * law.torque_error
    allowed = (proof.demand.disturbance.torque + proof.demand.disturbance.held)[drawn.interval]
    used = {
        "torque": float((np.abs(feed + robust) / ranges[0]).max()),
        "disturbance": float((np.abs(w) / allowed).max()),
        "velocity": float((np.abs(qd) / ranges[1]).max()),
    }
    limited = np.isfinite(found.margins.position)
    room, free = (_room(limits, x)[:, limited] for x in (q, drawn.now[0]))
    certified = found.margins.position[limited]
    nearest = free.min(axis=0)
    used["position"] = float(((nearest - room.min(axis=0)) / (nearest - certified)).max())
    gap = {
        "torque": (ranges[0] - np.abs(feed + robust)).min(axis=1),
        "disturbance": (allowed - np.abs(w)).min(axis=1),
        "velocity": (ranges[1] - np.abs(qd)).min(axis=1),
        "position": (room - certified).min(axis=1),
    }
    return used, gap


def _room(limits: JointLimits, q: Array) -> Array:
    """(N, n) distance of positions to the nearer limit [rad]."""
    return np.minimum(limits.position_upper - q, q - limits.position_lower)


def _model_torque(theta: Array, motor: Any, q: Array, qd: Array, qd_a: Array, qdd_a: Array, sign: Array) -> Array:
    """Torque of a model with Coulomb friction by the sign the controller takes."""
    of = motor if isinstance(motor, dict) else {name: getattr(motor, name) for name in MOTOR}
    torque = passive_inverse_dynamics(fixed_parts()["chain"], theta.ravel(), q, qd, qd_a, qdd_a)
    return np.asarray(torque + of["viscous"] * qd_a + of["armature"] * qdd_a + of["offset"] + of["coulomb"] * sign)
