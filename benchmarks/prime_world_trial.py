# SPDX-License-Identifier: Apache-2.0
"""One walk in a world that PRIME is not told about, and how far off its estimate says it is and is.

The simulated truth has drives with a gain, encoders with offsets, feet that are not where the description has them, a
slope, and friction and stiffness of its own. The estimator gets the messages alone and the robot's own configuration.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pinocchio

from benchmarks.prime_log import START, Log
from benchmarks.prime_score import EDGE, THRESHOLD
from benchmarks.prime_world_untold import Untold, disturb, spoil
from benchmarks.records import Record
from sysid_nodes.data.config import from_flat
from sysid_nodes.models.discrete_motion import difference
from sysid_nodes.models.rotations import quaternion_product
from sysid_nodes.results.prime import BodyEstimate
from sysid_nodes.robots import Robot
from sysid_nodes.rollouts.legged_model import GroundConfig
from sysid_nodes.sessions.prime.batch import Gatherer, StreamRecord, solve_batch
from sysid_nodes.sessions.prime.config import PrimeSessionConfig
from sysid_nodes.sessions.prime.horizon import make_horizon
from sysid_nodes.sessions.prime.session import PrimeSession
from sysid_nodes.sessions.prime.trust import UNTOLD
from sysid_nodes.sessions.prime.update import PrimeUpdate
from sysid_nodes.simulation.legged import (
    ImuReading,
    JointReading,
    LeggedRobotSim,
    LeggedSimulationConfig,
    PoseReading,
    Reading,
)
from sysid_nodes.simulation.legged.load import LoadConfig
from sysid_nodes.simulation.legged.sensors import LeggedSensorsConfig

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))
from shared.legged_log import average_forces
from shared.legged_readings import readings_of

Array = npt.NDArray[np.float64]

_NAMES = {"m": "mass"} | {f"c{axis}": f"CoM {axis}" for axis in "xyz"}

TIMESTEP = 5e-4
"""Of the simulation [s]: its integrator of first order makes motors half a step late."""


@dataclass(frozen=True)
class World:
    """Truth of a run that is not told.

    Attributes:
        robot, motion: that is simulated.
        skip, duration: of the programme before the log, and of the log [s].
        gain: factor on every torque reading, one for all joints or (n,).
        joints: (n,) or one number: added to the encoders' readings [rad].
        feet: (nc, 3) or one number: true centres less the described ones, in the links' axes [m].
        links: true masses of all bodies but the loaded one over the described ones.
        rotors: true armature over the described one.
        tilt: rotation vector of the ground in the world, about x and y [rad].
        ground: friction and compliance.
        footholds: greatest height of a foothold above or below the ground [m].
        late: how much later than it was true a reading is stamped, of the streams joints, imu and mocap by name [s].
        control: period of the robot's controller [s].
        torques: whether joint states have any.
        load: of the robot; None: of its torso, drawn by the seed.
        untold: what no prior is about.
        options: of the estimator, by dotted name.
    """

    robot: str = "go2"
    motion: str = "show"
    skip: float = 2.0
    duration: float = 4.0
    gain: Any = 1.0
    joints: Any = 0.0
    feet: Any = 0.0
    links: float = 1.0
    rotors: float = 1.0
    tilt: tuple[float, float] = (0.0, 0.0)
    ground: GroundConfig = field(default_factory=lambda: GroundConfig(friction=0.7))
    footholds: float = 0.0
    late: dict[str, float] = field(default_factory=dict)
    control: float = 0.004
    torques: bool = True
    load: LoadConfig | None = None
    untold: Untold = field(default_factory=Untold)
    options: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Walk:
    """Readings of a world, in order of arrival, and its truth in world axes.

    Attributes:
        log: readings and series; the series is in the ground's axes.
        turn: (3, 3) from the ground's axes to the world's.
        robot: as described, which the truth is not.
    """

    log: Log
    turn: Array
    robot: Robot

    def truth(self, times: Array, step: float) -> tuple[Array, Array]:
        """(N, nq) configurations and (N, nc, 3) forces, averaged as the estimator's, at stamps."""
        series, at = self.log.series, times - START
        tick = np.clip(np.round((at - series.time[0]) / series.duration).astype(int), 0, len(series.time) - 1)
        q = series.q[tick].copy()
        q[:, :3], q[:, 3:7] = q[:, :3] @ self.turn.T, _turn_all(self.turn, q[:, 3:7])
        return q, average_forces(series, at, step) @ self.turn.T


def walk(world: World, seed: int) -> Walk:
    """Simulates a world with a load drawn by the seed."""
    rng = np.random.default_rng([seed, 17])
    load = LoadConfig(
        mass=float(rng.uniform(0.5, 5.0)), position=tuple(rng.uniform([-0.1, -0.05, 0.04], [0.1, 0.05, 0.12]))
    )
    config = LeggedSimulationConfig(
        robot=world.robot,
        motion=world.motion,
        load=world.load or load,
        ground=world.ground,
        footholds=world.footholds,
        sensors=from_flat(LeggedSensorsConfig, {f"{name}.stamp_offset": by for name, by in world.late.items()}),
        timestep=TIMESTEP,
        tick=max(0.002, TIMESTEP),
        control_period=world.control,
    )
    sim = LeggedRobotSim(config, np.random.default_rng(seed), start=START)
    turn = np.asarray(pinocchio.exp3(np.array([*world.tilt, 0.0])))
    # The simulation's world is the ground's: a slope is gravity that leans.
    sim._plant._model.opt.gravity = turn.T @ sim._plant._model.opt.gravity
    disturb(sim, world.untold, config.tick)
    told = (_told(reading, world, turn) for reading in sim.run(world.skip + world.duration))
    readings = spoil([reading for reading in told if reading.stamp >= START + world.skip], world.untold)
    return Walk(Log(sim.robot, tuple(readings), sim.truth, sim.series()), turn, described(sim.robot, world))


def described(robot: Robot, world: World) -> Robot:
    """The robot as its description would have it, of the true one."""
    shift = np.broadcast_to(np.asarray(world.feet, dtype=np.float64), (len(robot.contacts), 3))
    contacts = (replace(point, position=point.position - by) for point, by in zip(robot.contacts, shift, strict=True))
    model = robot.model.copy()
    for k in range(1, model.njoints):
        if k != 1 + robot.body_index():
            model.inertias[k] = pinocchio.Inertia.FromDynamicParameters(
                robot.model.inertias[k].toDynamicParameters() / world.links
            )
    motor = replace(robot.motor, armature=robot.motor.armature / world.rotors)
    return replace(robot, contacts=tuple(contacts), model=model, motor=motor)


def _told(reading: Reading, world: World, turn: Array) -> Reading:
    """A reading as the estimator gets it."""
    if isinstance(reading, JointReading):
        effort = reading.effort * world.gain if world.torques else np.zeros(0)
        return replace(reading, position=reading.position + world.joints, effort=effort)
    if isinstance(reading, ImuReading):
        return replace(reading, orientation=_turn_all(turn, reading.orientation[None])[0])
    if isinstance(reading, PoseReading):
        return replace(
            reading,
            position=turn @ reading.position,
            orientation=_turn_all(turn, reading.orientation[None])[0],
        )
    return reading


def _turn_all(turn: Array, quaternions: Array) -> Array:
    first = np.asarray(pinocchio.Quaternion(turn).coeffs())
    return quaternion_product(np.broadcast_to(first, quaternions.shape), quaternions)


def judge(world: World, made: Walk, seed: int, mode: str) -> Record:
    """Errors and sigmas of one run.

    Args:
        world: that was simulated.
        made: its walk.
        seed: of load, noise and biases.
        mode: "batch" or "horizon", as of ``sysid replay``.
    """
    pace = {"horizon.window": 15, "pacing.hop": 3, "prime.step": 0.02} if world.robot == "g1" else {"pacing.hop": 4}
    config = from_flat(PrimeSessionConfig, {"robot": world.robot, **pace, **world.options})
    begun = time.process_time()
    updates, session = (_batch if mode == "batch" else _horizon)(made, config)
    seconds = time.process_time() - begun
    estimate, raised = updates[-1].estimate, float(np.sqrt(session.judgement.inflation))
    found: Record = {
        "seed": seed,
        "mode": mode,
        "status": session.whole_status.name,
        "message": session.judgement.sentence,
        "statuses": sorted({update.judgement.status.name for update in updates}),
        "named": _named(updates),
        "seconds": seconds,
        "raised": raised,
        **_body(made, estimate.bodies[0], raised),
        "others": [_body(made, body, raised) for body in estimate.bodies[1:]],
        "constants": {
            name: [float(value), float(sigma)]
            for name, value, sigma in zip(
                estimate.parameter_names,
                estimate.parameters,
                raised * np.sqrt(np.diag(estimate.parameter_covariance)),
                strict=True,
            )
        },
    }
    return found | _motion(made, updates, config.prime.step)


def _named(updates: Sequence[PrimeUpdate]) -> list[str]:
    """Effects that are left out which findings named, in order."""
    findings = (finding for update in updates for finding in update.judgement.findings)
    return list(dict.fromkeys(finding.subject for finding in findings if finding.kind == UNTOLD))


def _body(made: Walk, body: BodyEstimate, raised: float) -> Record:
    """Errors and sigmas of an identified body, as result.json has them."""
    true = made.log.truth.parameters[made.robot.body_index(body.link)]
    return {
        "link": body.link,
        "truth": true.tolist(),
        "parameters": {
            "error": (body.parameters - true).tolist(),
            "sigma": (raised * np.sqrt(np.diag(body.covariance))).tolist(),
        },
        "unobserved": [_NAMES.get(name, name) for name in body.unobserved],
        "com": {"error": (body.com - true[1:4] / true[0]).tolist(), "sigma": (raised * body.com_sigma).tolist()},
    }


def _batch(made: Walk, config: PrimeSessionConfig) -> tuple[list[PrimeUpdate], PrimeSession]:
    gathered, record = Gatherer(), StreamRecord.empty()
    session = PrimeSession(made.robot, config, lambda: gathered, clock=lambda: 0.0)
    for reading in made.log.readings:
        session.take(readings_of(reading))
        record.look(session)
    return [solve_batch(session, gathered, record)[0]], session


def _horizon(made: Walk, config: PrimeSessionConfig) -> tuple[list[PrimeUpdate], PrimeSession]:
    session = PrimeSession(made.robot, config, lambda: make_horizon(made.robot, config), clock=lambda: 0.0)
    updates = [session.take(readings_of(reading)) for reading in made.log.readings]
    return [update for update in updates if update is not None], session


def _motion(made: Walk, updates: list[PrimeUpdate], step: float) -> Record:
    """Errors over sigmas of pose and forces at the stages that are published, but for both ends.

    Forces that are not observed have none.
    """
    parts = [(update.estimate, list(update.stages), update.judgement.inflation) for update in updates]
    times = np.concatenate([estimate.t[stages] for estimate, stages, _ in parts])
    inner = slice(EDGE, len(times) - EDGE)
    q, force = made.truth(times[inner], step)
    pose = difference(q, np.concatenate([estimate.q[stages] for estimate, stages, _ in parts])[inner])[:, :6]
    variance = [raised * np.diagonal(e.q_covariance[s], axis1=1, axis2=2)[:, :6] for e, s, raised in parts]
    wrong = np.concatenate([e.contacts.force[s] for e, s, _ in parts])[inner] - force
    sigma = np.concatenate([np.sqrt(raised) * e.contacts.force_sigma[s] for e, s, raised in parts])[inner]
    on = force[..., 2] > THRESHOLD
    finite = np.isfinite(wrong).all(axis=2) & on
    z = {"pose": pose / np.sqrt(np.concatenate(variance)[inner]), "force": wrong[finite] / sigma[finite]}
    return {
        "pose_error": np.sqrt(np.mean(pose**2, axis=0)).tolist(),
        "force_error": float(np.sqrt(np.nansum(wrong**2) / np.nansum(force**2))) if finite.any() else None,
        "inside": {
            name: {str(k): np.mean(np.abs(values) <= k, axis=0).tolist() for k in (0.6745, 1.0, 1.96, 3.0)}
            for name, values in z.items()
            if len(values)
        },
        "rms": {name: np.sqrt(np.mean(values**2, axis=0)).tolist() for name, values in z.items() if len(values)},
    }
