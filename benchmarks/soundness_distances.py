# SPDX-License-Identifier: Apache-2.0
"""Distances of the soundness benchmark: of samples against what is certified, and the errors that make them least."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.soundness_draws import Samples, within
from sysid_nodes.data.scene import Scene
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.robust_control import RobustControlConfig
from sysid_nodes.models.self_collision import joints_of, self_collision_pairs
from sysid_nodes.models.separation import distances
from sysid_nodes.models.solids import from_obstacle, from_primitive, stack
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.kinova_gen3.geometry import cover
from sysid_nodes.robots.kinova_gen3.payloads import PayloadVolumeConfig, payload_volume
from sysid_nodes.rollouts.contact_watch import ContactWatch
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.config import CertifierConfig
from sysid_nodes.systems.certified.certificate.error_proof import ErrorProof
from sysid_nodes.systems.certified.certificate.occupancy import ENOUGH

Array = npt.NDArray[np.float64]

NEAR = 0.02
"""How far beyond the certified distance distances are measured [m]."""
_NEAREST, _APPROACHES = 50, 60
"""Samples of a plan that are moved nearer to what is there, and steps of that."""
_CORNERS = 3
"""Steps of those to where errors bring them nearest by the distance's slope, before chance has its way."""

LAWS = {
    "in time": RobustControlConfig(),
    "in time, off by 0.2 N m": RobustControlConfig(torque_error=(0.2,)),
    "0.5 ms late, off by 0.2 N m": RobustControlConfig(delay=0.0005, torque_error=(0.2,)),
    "2 ms late, off by 0.2 N m": RobustControlConfig(delay=0.002, torque_error=(0.2,), position_gain=2.5),
}
"""By how torques act."""


@cache
def fixed_parts() -> dict[str, Any]:
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


def distances_beyond(q: Array, scene: Scene, found: Certificate, beyond: float = NEAR) -> dict[str, Array]:
    """Gaps of all samples between their distance and the certified one; infinite where that is not stated."""
    fixed = fixed_parts()
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


def approach(
    rng: np.random.Generator,
    kind: str,
    gap: Array,
    drawn: Samples,
    found: Certificate,
    proof: ErrorProof,
    scene: Scene,
) -> float:
    """Moves the errors of the samples that are nearest on within their bounds, as long as that brings them nearer.

    Returns:
        The most that all errors together can change the distance of one of these samples by, to first order [m].
    """
    envelope, best = found.envelope, np.argsort(gap)[:_NEAREST]
    assert envelope is not None
    if not np.isfinite(gap[best[0]]):
        return 0.0
    of, e = drawn.interval[best], drawn.e[best]
    most = envelope.position_error[of]

    def gaps(e: Array) -> Array:
        return distances_beyond(drawn.now[0][best] - e, scene, found)[kind]

    def try_errors(wanted: Array) -> Array:
        tried = within(proof.loop, most, envelope.position[of], wanted)
        reached = gaps(tried)
        nearer = reached < gap[best]
        e[nearer], gap[best[nearer]] = tried[nearer], reached[nearer]
        return tried / most

    moved = 0.0
    for _ in range(_CORNERS):
        steps = 1e-3 * np.eye(e.shape[1])
        slope = np.column_stack([(gaps(e + step) - gaps(e - step)) / 2e-3 for step in steps]) * most
        slope = np.where(np.isfinite(slope), slope, 0.0)
        length = np.maximum(np.linalg.norm(slope, axis=1, keepdims=True), 1e-12)
        for towards in (np.sign(slope), slope / length):  # the corner of a box, the end of an ellipsoid
            moved = max(moved, float(-(slope * try_errors(-towards * most)).sum(axis=1).min()))
    for size in np.geomspace(1.0, 0.02, _APPROACHES):
        try_errors(e + size * rng.normal(size=e.shape) * most)
    return moved


def engine_gaps(rng: np.random.Generator, q: Array, scene: Scene, found: Certificate) -> dict[str, float]:
    """The same gaps for a few samples, by an engine that shares no code with the certifier."""
    fixed = fixed_parts()
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
