# SPDX-License-Identifier: Apache-2.0
"""One plan of the soundness benchmark: certified, then attacked with models, errors, times and measurements."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.soundness_draws import (
    MODELS,
    MOTOR,
    Samples,
    draw_box,
    draw_models,
    draw_plan,
    draw_samples,
    draw_scene,
    within,
)
from sysid_nodes.data.scene import Scene
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.passivity import passive_inverse_dynamics
from sysid_nodes.models.robust_control import RobustControlConfig, gains
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.separation import distances
from sysid_nodes.models.solids import from_obstacle, from_primitive, stack
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import JointLimits, load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.simulation.arm.contact_watch import ContactWatch
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProof
from sysid_nodes.systems.certified.certificate.occupancy import ENOUGH

Array = npt.NDArray[np.float64]

KINDS = ("torque", "disturbance", "velocity", "position", "obstacle", "self")
_DESIRED = 1000
"""Times at which distances of the desired motion are measured."""
_NEAR = 0.02
"""How far beyond the certified distance distances are measured [m]."""
_NEAREST, _APPROACHES = 50, 60
"""Samples of a plan that are moved nearer to what is there, and steps of that."""
_ALLOWED = 1e-3
"""Least that a certificate allows for [m], for its share to be told."""
ENGINE = 2e-6
"""Errors that distances in plain floating point, and those of the engine, may have [m]."""


LAWS = {
    "in time": RobustControlConfig(),
    "in time, off by 0.2 N m": RobustControlConfig(torque_error=(0.2,)),
    "0.5 ms late, off by 0.2 N m": RobustControlConfig(delay=0.0005, torque_error=(0.2,)),
    "2 ms late, off by 0.2 N m": RobustControlConfig(delay=0.002, torque_error=(0.2,), position_gain=2.5),
}
"""By how torques act."""


@cache
def _fixed() -> dict[str, Any]:
    robot = load_robot("kinova_gen3", variant="gripper")
    shapes = (*cover("gripper"), *payload_volume(PayloadVolumeConfig()))
    config = CertifierConfig()
    return {
        "robot": robot,
        "chain": Chain.from_robot(robot),
        "keep": config.distance_margin,
        "certifiers": {name: Certifier(robot, shapes, control, config) for name, control in LAWS.items()},
        "shapes": shapes,
        "joints": joints_of(robot, shapes) - 1,
        "solids": stack([from_primitive(shape) for shape in shapes]),
        "pairs": self_collision_pairs(robot, shapes).kept,
    }


def run_plan(seed: int, index: int, samples: int) -> dict[str, Any]:
    """Record of one plan: margins, what the samples used of each certified range, and how often they left it."""
    rng, fixed = np.random.default_rng([seed, index]), _fixed()
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
    near = _distances(q, scene, found)
    for kind in near:
        _approach(rng, kind, near[kind], drawn, found, proof, scene)
    gap |= near
    # Without errors.
    for kind, free in _distances(drawn.now[0][:_DESIRED], scene, found, beyond=ENOUGH).items():
        if near[kind].min() < _NEAR and free.min() > _ALLOWED:
            used[kind] = float(1.0 - near[kind].min() / free.min())
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
        "engine": _engine(rng, q, scene, found),
    }


def _dynamics(
    rng: np.random.Generator,
    box: ModelBox,
    drawn: Samples,
    found: Certificate,
    proof: ErrorProof,
    control: RobustControlConfig,
) -> tuple[dict[str, float], dict[str, Array]]:
    fixed = _fixed()
    law, limits, width = gains(fixed["robot"], control), fixed["robot"].limits, control.sign_width
    gain, count = law.position_gain, len(drawn.e)
    q, qd_a = drawn.now[0] - drawn.e, drawn.now[1] + gain * drawn.e
    qd, qdd_a = qd_a - drawn.r, drawn.now[2] + gain * (drawn.r - gain * drawn.e)
    # The command, as models/robust_control.py computes it.
    error, rate = drawn.then[0] - drawn.seen_q, drawn.then[1] - drawn.seen_qd
    seen_qd_a, seen_qdd_a = drawn.then[1] + gain * error, drawn.then[2] + gain * rate
    sign = np.clip(seen_qd_a / width, -1.0, 1.0)
    robust = np.clip(law.damping * (rate + gain * error), -found.robust_limit, found.robust_limit)
    feed = _needed(box.theta, box.motor, drawn.seen_q, drawn.seen_qd, seen_qd_a, seen_qdd_a, sign)
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
        matched = _needed(box.theta, box.motor, *state, qdd_a[of], sign[of])
        matched -= _needed(box.theta, box.motor, *state, qdd_a[of] - added[of], sign[of])
        w[of] = _needed(theta[m], one, *state, qdd_a[of] - added[of], sign[of]) + matched - feed[of]
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


def _needed(theta: Array, motor: Any, q: Array, qd: Array, qd_a: Array, qdd_a: Array, sign: Array) -> Array:
    """Torque of a model with Coulomb friction by the sign the controller takes."""
    of = motor if isinstance(motor, dict) else {name: getattr(motor, name) for name in MOTOR}
    torque = passive_inverse_dynamics(_fixed()["chain"], theta.ravel(), q, qd, qd_a, qdd_a)
    return np.asarray(torque + of["viscous"] * qd_a + of["armature"] * qdd_a + of["offset"] + of["coulomb"] * sign)


def _distances(q: Array, scene: Scene, found: Certificate, beyond: float = _NEAR) -> dict[str, Array]:
    """Gaps of all samples between their distance and the certified one; infinite where that is not stated."""
    fixed = _fixed()
    motion = reference.forward_kinematics(fixed["chain"].tree, q, np.zeros_like(q))
    joints = fixed["joints"]
    rotation, position = np.tile(np.eye(3), (len(q), len(joints), 1, 1)), np.zeros((len(q), len(joints), 3))
    for s, joint in enumerate(joints):
        if joint >= 0:
            rotation[:, s] = motion.rotation[joint].transpose(2, 0, 1)
            position[:, s] = motion.origin[joint].T
    placed = fixed["solids"].place(rotation, position)
    obstacles = stack([from_obstacle(obstacle) for obstacle in scene.obstacles])
    movable = np.flatnonzero(joints >= 0)
    against = np.array([(s, o) for s in movable for o in range(len(obstacles))], dtype=np.intp)
    out = {}
    for kind, other, pairs, margin in (
        ("obstacle", obstacles, against, found.margins.obstacle),
        ("self", placed, fixed["pairs"], found.margins.self_distance),
    ):
        certified = margin + fixed["keep"]
        if certified >= ENOUGH or not np.isfinite(certified):
            out[kind] = np.full(len(q), np.inf)
            continue
        real = distances(placed, other, pairs, beyond=certified + beyond).distance.min(axis=1)
        out[kind] = np.asarray(real - certified)
    return out


def _approach(
    rng: np.random.Generator,
    kind: str,
    gap: Array,
    drawn: Samples,
    found: Certificate,
    proof: ErrorProof,
    scene: Scene,
) -> None:
    """Moves the errors of the samples that are nearest on within their bounds, as long as that brings them nearer."""
    envelope, best = found.envelope, np.argsort(gap)[:_NEAREST]
    assert envelope is not None
    if not np.isfinite(gap[best[0]]):
        return
    of, e = drawn.interval[best], drawn.e[best]
    for size in np.geomspace(1.0, 0.02, _APPROACHES):
        step = size * rng.normal(size=e.shape) * envelope.position_error[of]
        tried = within(proof.loop, envelope.position_error[of], envelope.position[of], e + step)
        reached = _distances(drawn.now[0][best] - tried, scene, found)[kind]
        nearer = reached < gap[best]
        e[nearer], gap[best[nearer]] = tried[nearer], reached[nearer]


def _engine(rng: np.random.Generator, q: Array, scene: Scene, found: Certificate) -> dict[str, float]:
    """The same gaps for a few samples, by an engine that shares no code with the certifier."""
    fixed = _fixed()
    watch = ContactWatch(fixed["robot"], fixed["shapes"], scene.obstacles, fixed["pairs"])
    gaps = {"obstacle": np.inf, "self": np.inf}
    for row in q[rng.choice(len(q), min(20, len(q)), replace=False)]:
        for kind, real, margin in (
            ("obstacle", watch.to_obstacles(row).distance, found.margins.obstacle),
            ("self", watch.to_itself(row).distance, found.margins.self_distance),
        ):
            if margin + fixed["keep"] < ENOUGH:
                gaps[kind] = min(gaps[kind], real - margin - fixed["keep"])
    return {kind: float(gap) for kind, gap in gaps.items() if np.isfinite(gap)}
