# SPDX-License-Identifier: Apache-2.0
"""Margins in plain loops: every term of what a motion may reach, of unlike joints and intervals."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from shared.certified_arm import robot, shapes

from sysid_nodes.data.scene import Obstacle, Scene
from sysid_nodes.intervals import TimeEnclosure
from sysid_nodes.models.chain import Chain
from sysid_nodes.results.certificate import Verdict
from sysid_nodes.robots.robot import Primitive
from sysid_nodes.systems.certified.certificate import judgement
from sysid_nodes.systems.certified.certificate.closed_loop import INFLATE, Assumed
from sysid_nodes.systems.certified.certificate.judgement import Conduct, Judge, _rates
from sysid_nodes.systems.certified.certificate.motion import Desired, motion

Array = npt.NDArray[np.float64]

T, N, GAIN = 3, 7, 4.0
TREE = Chain.from_robot(robot()).tree


def draw(rng: np.random.Generator, size: float) -> Array:
    return size * rng.uniform(0.5, 1.5, (T, N))


def conduct(seed: int = 0) -> Conduct:
    rng = np.random.default_rng(seed)
    parts = (TimeEnclosure(rng.normal(size=(T, N)), draw(rng, 0.02), draw(rng, 0.01)) for _ in range(3))
    desired, errors = Desired(np.array([0.0, 1.0, 2.0, np.inf]), *parts), [draw(rng, x) for x in (0.03, 0.05)]
    errors_of = SimpleNamespace(position=errors[0], reference=errors[1], boxed=False)
    state = motion(desired, errors_of, GAIN)  # type: ignore[arg-type]
    return Conduct(desired, *errors, qd=draw(rng, 0.9), torque=rng.uniform(5.0, 9.0, N), q=state.q, boxed=False)


class Way:
    """A stop that goes further up than down, by unlike ways, and writes down what it was asked for."""

    def __init__(self) -> None:
        rng = np.random.default_rng(9)
        self.below, self.above, self.asked = draw(rng, 0.1), draw(rng, 0.2), list[Array]()

    def reach(self, least: Array, most: Array) -> tuple[Array, Array]:
        self.asked = [least, most]
        return self.below, self.above


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("stopping", [False, True])
@pytest.mark.parametrize("outward", [INFLATE, 1.1])
def test_margins_are_the_least_of_all_intervals(
    seed: int, stopping: bool, outward: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rounded outward at each step, here by so much that it would show."""
    monkeypatch.setattr(judgement, "INFLATE", outward)
    way, given, limits = Way(), conduct(seed), robot().limits
    limits = replace(limits, position_lower=np.full(N, -2.0), position_upper=np.full(N, 2.2))
    arm = replace(robot(), limits=limits)
    stop: Any = way if stopping else None
    found = Judge(arm, TREE, (), keep=0.0, torque_margin=0.3, stop=stop).compare(given, Scene(()))
    place, speed = given.desired.position, given.desired.velocity
    for j in range(N):
        room = []
        for t in range(T):
            off = (abs(place.slope_term[t, j]) + place.remainder[t, j] + given.position_error[t, j]) * outward
            down, up = (way.below[t, j], way.above[t, j]) if stopping else (0.0, 0.0)
            room += [2.2 - place.centre[t, j] - (off + up) * outward, place.centre[t, j] - (off + down) * outward + 2.0]
        assert found.margins.position[j] == pytest.approx(min(room), rel=1e-7, abs=1e-8)
        assert found.margins.velocity[j] == pytest.approx(limits.velocity[j] - max(given.qd[:, j]), rel=1e-12)
        assert found.margins.torque[j] == pytest.approx(limits.torque[j] - 0.3 - given.torque[j], rel=1e-12)
    assert found.torque is given.torque
    # Nothing to be near to: what is not worked out beyond.
    assert (found.margins.obstacle, found.margins.self_distance) == (np.inf, np.inf)
    for t, j in np.ndindex(T, N) if stopping else ():
        off = (abs(speed.slope_term[t, j]) + speed.remainder[t, j] + given.rate_error[t, j]) * outward
        least, most = (x[t, j] for x in way.asked)
        assert least == pytest.approx(max(speed.centre[t, j] - off, -given.qd[t, j]), rel=1e-7)
        assert most == pytest.approx(min(speed.centre[t, j] + off, given.qd[t, j]), rel=1e-7)


def test_velocities_are_rounded_outward_where_there_is_nothing_else() -> None:
    zero = np.zeros((T, N))
    none = TimeEnclosure(zero, zero, zero)
    given = replace(conduct(), desired=Desired(np.arange(4.0), none, none, none), rate_error=zero)
    least, most = _rates(given)
    np.testing.assert_array_equal([least, most], [zero - 1e-12, zero + 1e-12])


@pytest.mark.parametrize("delayed", [False, True])
def test_a_proof_is_judged_by_what_it_proves(delayed: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The torque of each joint at its worst, and de/dt = r - K_r e."""
    rng, seen = np.random.default_rng(1), list[Conduct]()
    monkeypatch.setattr(judgement, "INFLATE", 1.1)
    monkeypatch.setattr(Judge, "compare", lambda _, found, __: seen.append(found))
    armature = rng.uniform(0.5, 2.0, N)
    stiff = np.full(N, 300.0)
    loop: Any = SimpleNamespace(
        position_gain=GAIN, delayed=delayed, metric=armature, damping=stiff, viscous=0.0, armature_lower=armature
    )
    proven = Assumed(*(rng.uniform(0.01, 0.1, s) for s in ((T,), (T,), (T, N), (T,), (T, N), (T, N))))
    nominal, robust = draw(rng, 5.0), draw(rng, 2.0)
    desired, qd = conduct().desired, draw(rng, 0.5)
    demanded = SimpleNamespace(nominal_torque=nominal, qd=qd)
    proof: Any = SimpleNamespace(proven=proven, loop=loop, demand=demanded, robust=robust, desired=desired)
    Judge(robot(), TREE, (), keep=0.0, torque_margin=0.0, stop=None).judge(proof, Scene(()))
    (found,) = seen
    position, reference = (
        (proven.position_error, proven.reference_error)
        if delayed
        else (proven.position[:, None] / np.sqrt(armature), np.sqrt(2.0 * proven.level)[:, None] / np.sqrt(armature))
    )
    for j in range(N):
        assert found.torque[j] == pytest.approx(1.1 * max(nominal[t, j] + robust[t, j] for t in range(T)), rel=1e-7)
    np.testing.assert_allclose(found.position_error, position, rtol=1e-7)
    np.testing.assert_allclose(found.rate_error, 1.1 * (GAIN * position + reference), rtol=1e-7)
    assert found.desired is desired and found.qd is qd and found.boxed == delayed
    tube: Any = SimpleNamespace(position=position, reference=reference)
    np.testing.assert_allclose(found.q.terms, motion(desired, tube, GAIN).q.terms, rtol=1e-7)


def test_the_base_may_stand_on_an_obstacle_and_the_first_joint_may_not() -> None:
    place, own = np.array([0.3, 0.0, 0.0]), np.eye(3)
    base, ball = (Primitive(name, "sphere", place, own, np.array([0.05])) for name in ("universe", "joint_1"))
    scene = Scene((Obstacle("floor", "sphere", (0.3, 0.0, 0.0), size=(0.02,)),))
    arm, given = robot(), conduct()
    alone, both = (
        Judge(arm, TREE, of, keep=0.0, torque_margin=0.0, stop=None).compare(given, scene).margins.obstacle
        for of in ((base,), (base, ball))
    )
    assert alone == np.inf and both < 0.25
    judge = Judge(arm, TREE, (base, ball), keep=0.0, torque_margin=0.0, stop=None)
    assert [judge._part(k) for k in range(2)] == ["the base", "what joint_1 moves"]


@pytest.mark.parametrize(("share", "kind"), [(0.3, "torque"), (0.1, "position"), (0.2, "velocity")])
def test_what_has_no_limit_is_never_what_binds(share: float, kind: str) -> None:
    """Joints that turn for ever have none of position."""
    arm = robot()
    limits, judge = arm.limits, Judge(arm, TREE, shapes(), keep=0.0, torque_margin=0.0, stop=None)
    turning = ~np.isfinite(limits.position_upper)
    assert turning.any() and not turning.all()
    spread = limits.position_upper - limits.position_lower
    full = {"torque": limits.torque, "position": np.where(turning, 1e-3, spread), "velocity": limits.velocity}
    given = {name: np.where(turning, 1.0, 0.9) * np.asarray(value) for name, value in full.items()}
    joint = int(np.flatnonzero(~turning)[1])
    given[kind] = np.where(np.arange(N) == joint, share * full[kind], given[kind])
    margins: Any = SimpleNamespace(**given, obstacle=1.0, self_distance=1.0, worst=lambda: (Verdict.CERTIFIED, 0.0))
    words = judge._binding_limit(margins, np.zeros((T, 0, 0)), np.zeros((T, 0)), Scene(()))
    assert words.startswith(f"{kind} of {arm.joint_names[joint]}, {given[kind][joint]:+.3g}")
