# SPDX-License-Identifier: Apache-2.0
"""Proves a trajectory safe for every model in the bounds, or refuses it (section V of the paper; ARMOUR).

Proposals may come from anywhere: a trajectory is judged as it is, over its whole length, braking tail and rest
included. The certificate says yes only on what is proven with outward rounding; numbers that are not finite refuse.

What is assumed: the true model lies in the box and is physical; joint states, torques and timing err by no more than
the controller's configuration says, stamps not at all; obstacles lie inside their shapes and rest; the shapes cover
robot and load; nothing else touches the robot. A stop of the robot's own is covered only where the configuration says
how far it goes (own_stop.py).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sysid_nodes.data.scene import Scene
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.bezier import Bezier
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.model_box import ModelBox
from sysid_nodes.models.robust_control import Gains, RobustControlConfig, gains
from sysid_nodes.results.certificate import PROOFS, Certificate, Entry, Envelope, Margins, Verdict
from sysid_nodes.robots.robot import Array, Primitive, Robot
from sysid_nodes.systems.certified.certificate.config import CertifierConfig, TrackingConfig
from sysid_nodes.systems.certified.certificate.delayed import steady
from sysid_nodes.systems.certified.certificate.error_proof import (
    Claim,
    ErrorProblem,
    ErrorProof,
    check_errors,
    closed_loop,
    prove_errors,
)
from sysid_nodes.systems.certified.certificate.handover import at_rest, handover_entry
from sysid_nodes.systems.certified.certificate.judgement import Judge
from sysid_nodes.systems.certified.certificate.motion import desired_motion, jerk_bound
from sysid_nodes.systems.certified.certificate.own_stop import OwnStop
from sysid_nodes.systems.certified.certificate.tracked import (
    UNPROVEN,
    beyond_evidence,
    known_errors,
    tracked_conduct,
    tracked_envelope,
)

_EARLY, _LONGER = 8, 1.25
"""Short intervals at the beginning of a delayed loop, and how much longer each is than the one before."""

_LOOKS = 65
"""Times at which the desired motion is compared with the limits before anything is proven."""


class Certifier:
    """Judges trajectories of one robot with one set of shapes and gains.

    Args:
        robot: with a fixed base and turning joints only.
        shapes: that cover the robot and what it carries.
        control: the controller that is to execute the trajectories.
        config: effort and margins.

    Raises:
        RobotError: the base floats, or a shape is on no joint of the robot.
        ConfigError: a joint slides, or the gains do not fit the robot.
    """

    def __init__(
        self, robot: Robot, shapes: Sequence[Primitive], control: RobustControlConfig, config: CertifierConfig
    ) -> None:
        self._robot, self._control, self._config = robot, control, config
        self._tree = Chain.from_robot(robot).tree
        if not self._tree.revolute.all():
            slides = robot.joint_names[int(np.argmin(self._tree.revolute))]
            raise ConfigError(f"'{slides}' is a sliding joint; trajectories are certified for turning joints only")
        self._gains: Gains = gains(robot, control)
        if (self._gains.damping <= 0.0).any():
            raise ConfigError("'control.damping' must be positive for every joint")
        self._judge = Judge(
            robot,
            self._tree,
            shapes,
            keep=config.distance_margin,
            torque_margin=config.torque_margin,
            stop=OwnStop.of(config, robot.n),
        )

    @property
    def joints(self) -> int:
        """Number of joints n."""
        return self._robot.n

    def at_rest(self, box: ModelBox, rate: float = 0.0) -> Entry:
        """Errors of a robot that rests, for a trajectory that starts where the robot was measured.

        Args:
            box: its models.
            rate: bound on |dr/dt| in the norm of M by the certificate of the trajectory that holds it; 0 where it
                holds itself.

        Raises:
            ConfigError: the box is not for this robot.
        """
        self._check(box)
        return at_rest(self._tree, box, self._gains, self._config.start_speed, self._config.start_distance, rate)

    def certify(
        self, plan: Bezier, box: ModelBox, entry: Entry, scene: Scene, claim: Claim | None = None
    ) -> Certificate:
        """The verdict on a trajectory that starts with the errors of ``entry``.

        Args:
            plan: the trajectory.
            box: the models.
            entry: errors where it starts.
            scene: what stands around.
            claim: errors that somebody says he has proven: checking them takes one pass where finding any takes
                several. Errors that do not prove themselves refuse.

        Raises:
            ConfigError: the trajectory or the box is not for this robot, or the trajectory is shorter than a torque
                may act.
        """
        self._check(box, plan)
        quick = self._quick_refusal(plan)
        if quick is not None:
            return quick
        proof = self.prove(plan, box, entry) if claim is None else self._check_claim(plan, box, entry, claim)
        if not isinstance(proof, ErrorProof):
            return self._refusal(Verdict.TRACKING, "errors grow without bound under the model's uncertainty", proof)
        judged, tube = self._judge.judge(proof, scene), proof.proven.tube(proof.loop)
        envelope = Envelope(
            edges=proof.desired.edges,
            level=proof.proven.level,
            position=proof.proven.position,
            position_error=tube.position,
            reference_error=tube.reference,
            acceleration=proof.proven.acceleration,
            speed=proof.rates.speed,
            jerk=proof.jerk,
            change=proof.proven.speed,
            weight=proof.weight,
            settling=proof.settling,
        )
        verdict, _ = judged.margins.worst()
        return Certificate(
            verdict,
            judged.margins,
            judged.binding,
            proof.loop.limit,
            judged.torque,
            envelope,
            proof.passes,
            proof=proof.name,
        )

    def certify_tracked(self, plan: Bezier, box: ModelBox, tracking: TrackingConfig, scene: Scene) -> Certificate:
        """The verdict on a trajectory that a position controller follows, errors as measured.

        Errors are the same all along, so that one trajectory may take over from another at any time, where position,
        velocity and acceleration agree.

        Raises:
            ConfigError: as for `certify`, or the errors are not known or not as many as there are joints.
        """
        self._check(box, plan)
        errors = known_errors(tracking, self.joints)
        quick = self._quick_refusal(plan)
        if quick is not None:
            return quick
        edges = np.linspace(0.0, plan.duration, self._config.intervals + 1)
        desired = desired_motion(plan, edges)
        beyond = beyond_evidence(desired, errors, self._robot.joint_names)
        if beyond:
            return self._refusal(Verdict.TRACKING, beyond, 0)
        conduct = tracked_conduct(self._tree, desired, box, errors, self._gains.torque_error)
        judged = self._judge.compare(conduct, scene)
        verdict, _ = judged.margins.worst()
        proven = errors.acceleration is not None
        return Certificate(
            verdict,
            judged.margins,
            judged.binding if proven else f"{judged.binding}; {UNPROVEN}",
            np.zeros(self.joints),
            conduct.torque,
            tracked_envelope(desired, errors, jerk_bound(plan, edges)),
            0,
            () if proven else (Verdict.TORQUE,),
        )

    def prove(self, plan: Bezier, box: ModelBox, entry: Entry) -> ErrorProof | int:
        """The errors behind a certificate, whatever other limits say; or the passes after which there are none.

        Torques that act at once are proven by energies (tracking.py), older ones as in delayed.py, which goes further;
        what one of the two does not reach the other may.

        Raises:
            ConfigError: as for `certify`.
        """
        found: ErrorProof | int = 0
        late = self._control.delay > 0.0
        for delayed in (late, not late):
            found = self.prove_by(plan, box, entry, delayed=delayed)
            if isinstance(found, ErrorProof):
                break
        return found

    def prove_by(self, plan: Bezier, box: ModelBox, entry: Entry, *, delayed: bool) -> ErrorProof | int:
        """The same by one of the proofs.

        Raises:
            ConfigError: as for `certify`.
        """
        self._check(box, plan)
        problem = self._problem(plan, box, entry, delayed=delayed)
        if delayed and not steady(problem.loop):
            return 0
        return prove_errors(problem, self._edges(plan.duration, delayed=delayed), self._config.iterations)

    def _check_claim(self, plan: Bezier, box: ModelBox, entry: Entry, claim: Claim) -> ErrorProof | int:
        """The proof of errors claimed, or the passes after which there is none."""
        if claim.proof not in PROOFS:
            return 0
        delayed = claim.proof == "delayed"
        problem = self._problem(plan, box, entry, delayed=delayed)
        return check_errors(problem, self._edges(plan.duration, delayed=delayed), claim)

    def _problem(self, plan: Bezier, box: ModelBox, entry: Entry, *, delayed: bool = False) -> ErrorProblem:
        control = self._control
        jerk = jerk_bound(plan, self._edges(plan.duration, delayed=delayed))[0]
        return ErrorProblem(
            tree=self._tree,
            plan=plan,
            box=box,
            gains=self._gains,
            loop=closed_loop(box, self._gains, control, delayed=delayed),
            start=handover_entry(self._tree, box, entry, jerk, control.position_gain, control.age),
            torque_limit=self._robot.limits.torque - self._config.torque_margin,
        )

    def _check(self, box: ModelBox, plan: Bezier | None = None) -> None:
        if plan is not None and plan.n != self.joints:
            raise ConfigError(f"the trajectory is for {plan.n} joints, '{self._robot.name}' has {self.joints}")
        if box.theta.shape != (self.joints, 10):
            raise ConfigError(f"the model box is for {len(box.theta)} joints, '{self._robot.name}' has {self.joints}")

    def _edges(self, duration: float, *, delayed: bool = False) -> Array:
        """Edges of intervals that are at least as long as a torque may act.

        A delayed loop's first errors come and go within a few ages: short intervals follow its beginning.
        """
        age = self._control.age
        count = min(self._config.intervals, int(duration / (1.001 * age)))
        if count < 1:
            raise ConfigError(f"a trajectory of {duration:g} s is shorter than a torque may act, {age:g} s")
        edges = np.linspace(0.0, duration, count + 1)
        if not delayed:
            return edges
        early = np.cumsum(1.001 * age * _LONGER ** np.arange(_EARLY))
        early = early[early < duration - 1.001 * age]
        return np.concatenate([[0.0], early, edges[edges > early[-1:].sum() + 1.001 * age]])

    def _quick_refusal(self, plan: Bezier) -> Certificate | None:
        """A refusal of a trajectory that leaves the limits by itself, without any error."""
        limits, (middle, rate, _) = self._robot.limits, plan(np.linspace(0.0, plan.duration, _LOOKS))
        position = np.minimum(
            (limits.position_upper - middle).min(axis=0), (middle - limits.position_lower).min(axis=0)
        )
        velocity = limits.velocity - np.abs(rate).max(axis=0)
        unknown = np.full(self.joints, -np.inf)
        margins = Margins(unknown, position, velocity, -np.inf, -np.inf)
        for verdict, values, unit in ((Verdict.POSITION, position, "rad"), (Verdict.VELOCITY, velocity, "rad/s")):
            if (values < 0.0).any():
                worst = int(np.argmin(values))
                words = f"the desired motion exceeds the limit of {self._robot.joint_names[worst]} by "
                words += f"{-values[worst]:.3g} {unit}"
                return Certificate(verdict, margins, words, np.zeros(self.joints), -unknown, None, 0)
        return None

    def _refusal(self, verdict: Verdict, words: str, passes: int) -> Certificate:
        unknown = np.full(self.joints, -np.inf)
        margins = Margins(unknown, unknown, unknown, -np.inf, -np.inf)
        return Certificate(verdict, margins, words, np.zeros(self.joints), -unknown, None, passes)
