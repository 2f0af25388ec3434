# SPDX-License-Identifier: Apache-2.0
"""The controller's own proofs of the trajectories it is sent, made in a process beside it.

Nothing that a message claims is believed: the errors it claims are proven by assuming them once, errors at the start
are those of the own proof of the trajectory before, or those of rest, and the nominal model is any body within the
bounds that stands in the middle of a box of the own.

A thread would take the interpreter from the control loop for milliseconds at a time; a process does not.
"""

from __future__ import annotations

import multiprocessing
import signal
from collections import deque
from multiprocessing.connection import Connection
from typing import NamedTuple

import numpy as np

from sysid_nodes.data.bounds import Bounds
from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import SysidError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.model_box import model_box
from sysid_nodes.results.certificate import Certificate
from sysid_nodes.results.trajectory_record import TrajectoryRecord
from sysid_nodes.sessions.certified.config import CertifiedConfig, Setup, set_up
from sysid_nodes.solvers.threads import use_one_blas_thread
from sysid_nodes.systems.certified.certificate.certifier import Certifier
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed
from sysid_nodes.systems.certified.certificate.error_proof import Claim

_WAITING = 4
"""Trajectories that may wait for a proof; a planner sends one at a time."""

_REMEMBERED = 32
"""Proofs kept for what may continue them."""

_ENDING = 5.0
"""Longest wait for the process to end when it is asked to [s]; then it is killed."""


class Answer(NamedTuple):
    """A trajectory and the proof of it; None where it could not be proven."""

    record: TrajectoryRecord
    proof: Certificate | None


def claim_of(record: TrajectoryRecord) -> Claim:
    """A trajectory's claim, as it is to be proven."""
    joints = (record.error_acceleration, record.error_position, record.error_reference)
    acceleration, position, reference = (x.reshape(-1, len(record.joint_names)) for x in joints)
    errors = Assumed(record.error_energy, record.error_norm, acceleration, record.error_change, position, reference)
    return Claim(errors, record.robust_limit, record.proof)


class Prover:
    """Proves trajectories one after the other, each from the own proof of the one before.

    Args:
        config: what planner and controller share.
    """

    def __init__(self, setup: Setup, config: CertifiedConfig) -> None:
        self._robot, self._config = setup.robot, config
        self._body = setup.robot.body_index(setup.body)
        self._certifier = Certifier(setup.robot, setup.shapes, config.control, config.certifier)
        self._proven: dict[str, Certificate] = {}

    def prove(self, record: TrajectoryRecord, scene: Scene) -> Certificate | None:
        """The proof; None where there is none, or none of the trajectory it continues.

        Args:
            record: inspected by the controller.
            scene: what stands around; the record's own, or nothing is proven.
        """
        config = self._config
        if record.scene_id != scene.id:
            return None
        try:
            bounds = Bounds(record.lower, record.upper)
            box = model_box(self._robot, config.known_robot, bounds, self._body, config.target, record.nominal)
            if record.previous_id:
                former = self._proven.get(record.previous_id)
                if former is None or former.envelope is None:
                    return None
                entry = former.envelope.entry(record.previous_time)
            else:
                entry = self._certifier.at_rest(box, record.start_rate)
            plan = Bezier(record.q0, record.qd0, record.qdd0, record.k, record.duration)
            found = self._certifier.certify(plan, box, entry, scene, claim_of(record))
        except (SysidError, np.linalg.LinAlgError):
            return None
        if not found.certified:
            return None
        self._proven[record.id] = found
        while len(self._proven) > _REMEMBERED:
            self._proven.pop(next(iter(self._proven)))
        return found


class Recertifier:
    """The process and what waits for it; nothing here blocks.

    Args:
        config: what planner and controller share.
    """

    def __init__(self, config: CertifiedConfig) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._waiting: deque[tuple[TrajectoryRecord, Scene]] = deque()
        self._asked: TrajectoryRecord | None = None
        self._process = context.Process(target=_serve, args=(theirs, config), name="recertifier", daemon=True)
        self._process.start()
        # The process ends when this end of the pipe closes, however this process ends.
        theirs.close()

    def submit(self, record: TrajectoryRecord, scene: Scene) -> bool:
        """Queues a trajectory; False where there is no room for it or nobody left to prove it."""
        if len(self._waiting) >= _WAITING or not self._process.is_alive():
            return False
        self._waiting.append((record, scene))
        self._ask()
        return True

    def poll(self) -> Answer | None:
        """The next answer that is there, in the order of the questions."""
        record = self._asked
        if record is None:
            return None
        try:
            if not self._pipe.poll():
                return None
            proof: Certificate | None = self._pipe.recv()
        except (EOFError, OSError):
            proof = None
        self._asked = None
        self._ask()
        return Answer(record, proof)

    def close(self) -> None:
        """Ends the process."""
        self._pipe.close()
        self._process.terminate()
        self._process.join(_ENDING)
        self._process.kill()
        self._process.join(_ENDING)

    def _ask(self) -> None:
        if self._asked is None and self._waiting:
            record, scene = self._waiting.popleft()
            self._asked = record
            try:
                self._pipe.send((record, scene))
            except OSError:
                return  # `poll` finds the end of the process


def _serve(pipe: Connection, config: CertifiedConfig) -> None:
    """The process: answers until the other end is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    use_one_blas_thread()
    prover = Prover(set_up(config), config)
    try:
        while True:
            record, scene = pipe.recv()
            pipe.send(prover.prove(record, scene))
    except (EOFError, OSError):
        return
