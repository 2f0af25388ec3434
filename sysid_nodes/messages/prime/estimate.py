# SPDX-License-Identifier: Apache-2.0
"""Fields of what a motion estimate is published as, as plain values: for logs written without ROS, and for nodes."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import pinocchio

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.messages.geometry import Fields, header, quaternion, vector
from sysid_nodes.messages.markers import ARRAY_TYPE
from sysid_nodes.results.prime import BodyEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.robots.links import moving_link
from sysid_nodes.sessions.prime.update import PrimeUpdate

Array = npt.NDArray[np.float64]

CONTACT_FORCES, ODOMETRY, SMOOTHED, INERTIA, MARKERS = (
    "contact_forces",
    "odom",
    "joint_states_smoothed",
    "torso_inertia",
    "contact_markers",
)
"""Topics, relative to the node's namespace; in a recording below the root."""

TYPES = {
    CONTACT_FORCES: "online_sysid/msg/ContactForces",
    ODOMETRY: "nav_msgs/msg/Odometry",
    SMOOTHED: "sensor_msgs/msg/JointState",
    INERTIA: "online_sysid/msg/InertialEstimate",
    MARKERS: ARRAY_TYPE,
}


BASE_WRENCH, BASE_WRENCH_SIGMA = "base_wrench", "base_wrench_sigma"
"""Topics of a force and a moment on the base from outside, published where `prime.process` asks for them."""

WRENCH_TYPE = "geometry_msgs/msg/WrenchStamped"


def wrench_fields(update: PrimeUpdate, k: int, base: str) -> dict[str, Fields]:
    """geometry_msgs/WrenchStamped at stage k and of its standard deviations, by topic: on the base, in its axes."""
    found = update.estimate.outside
    if found is None:
        return {}
    sigma = math.sqrt(update.judgement.inflation) * found.sigma[k]
    frame = header(float(update.estimate.t[k]), update.frames.prefix + base)
    return {
        topic: {"header": frame, "wrench": {"force": vector(value[:3]), "torque": vector(value[3:])}}
        for topic, value in ((BASE_WRENCH, found.wrench[k]), (BASE_WRENCH_SIGMA, sigma))
    }


def contact_forces_fields(update: PrimeUpdate, k: int) -> Fields:
    """online_sysid/ContactForces at stage k; forces that are not known are NaN."""
    found = update.estimate.contacts
    sigma = math.sqrt(update.judgement.inflation) * found.force_sigma[k]
    contacts = [
        {
            "frame": name,
            "position": vector(found.position[k, i]),
            "force": vector(found.force[k, i]),
            "force_sigma": vector(sigma[i]),
            "gap": float(found.gap[k, i]),
            "in_contact": bool(found.on_ground[k, i]),
        }
        for i, name in enumerate(found.names)
    ]
    return {
        "header": header(float(update.estimate.t[k]), update.frames.world),
        "contacts": contacts,
        "status": int(update.judgement.status),
    }


def odometry_fields(update: PrimeUpdate, k: int, child: str) -> Fields:
    """nav_msgs/Odometry at stage k: pose and its covariance in the world, twist in the base's frame."""
    estimate = update.estimate
    turn = np.zeros((6, 6))
    turn[:3, :3] = turn[3:, 3:] = pinocchio.Quaternion(estimate.q[k, 3:7]).toRotationMatrix()
    scale = update.judgement.inflation
    pose = scale * turn @ estimate.q_covariance[k, :6, :6] @ turn.T
    twist = scale * estimate.v_covariance[k, :6, :6]
    return {
        "header": header(float(estimate.t[k]), update.frames.world),
        "child_frame_id": update.frames.prefix + child,
        "pose": {
            "pose": {"position": vector(estimate.q[k, :3]), "orientation": quaternion(estimate.q[k, 3:7])},
            "covariance": pose.ravel().tolist(),
        },
        "twist": {
            "twist": {"linear": vector(estimate.v[k, :3]), "angular": vector(estimate.v[k, 3:6])},
            "covariance": twist.ravel().tolist(),
        },
    }


def joint_state_fields(update: PrimeUpdate, k: int, names: tuple[str, ...]) -> Fields:
    """sensor_msgs/JointState at stage k, in the robot's joint order; no efforts."""
    estimate = update.estimate
    return {
        "header": header(float(estimate.t[k])),
        "name": list(names),
        "position": estimate.q[k, 7:].tolist(),
        "velocity": estimate.v[k, 6:].tolist(),
        "effort": [],
    }


def inertia_fields(update: PrimeUpdate, robot: Robot, index: int = 0) -> Fields:
    """online_sysid/InertialEstimate of an identified body."""
    body = update.estimate.bodies[index]
    return body_fields(body, robot) | {
        "header": header(float(update.estimate.t[-1]), update.frames.prefix + moving_link(robot, body.link)),
        "status": int(update.judgement.status),
        "message": "; ".join([update.judgement.sentence, *_unobserved_note(body)]),
        "sigma": (math.sqrt(update.judgement.inflation) * np.sqrt(np.diag(body.covariance))).tolist(),
        "centre_of_mass_sigma": vector(math.sqrt(update.judgement.inflation) * body.com_sigma),
        "solve_time": float(update.estimate.solve_time),
    }


def body_fields(body: BodyEstimate, robot: Robot) -> Fields:
    """A body's estimate, without header and judgement."""
    return {
        "robot": robot.name,
        "body": body.link,
        "names": list(PARAMETER_NAMES),
        "estimate": np.where(body.observed, body.parameters, np.nan).tolist(),
        "nominal": body.nominal.tolist(),
        "centre_of_mass": vector(np.where(body.com_observed, body.com, np.nan)),
    }


def _unobserved_note(body: BodyEstimate) -> list[str]:
    return [f"not observed: {', '.join(body.unobserved)}"] if body.unobserved else []
