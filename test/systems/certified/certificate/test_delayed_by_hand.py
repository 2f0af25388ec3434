# SPDX-License-Identifier: Apache-2.0
"""The proof for delayed torques in plain loops: two unlike joints, all terms at once, by docs/certified/delay.md.

Taken as they are: kernels of memory.py and the forces, which have tests of their own. Draws are such that each of the
lesser and larger of two things is taken by some. Roundings are allowed for by factors of 1e-9, some of them once an
interval: hence 1e-7.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from sysid_nodes.results.certificate import Entry
from sysid_nodes.systems.certified.certificate.closed_loop import Assumed, ClosedLoop, Disturbance
from sysid_nodes.systems.certified.certificate.delayed import _forces, _Loop, propagate_delayed
from sysid_nodes.systems.certified.certificate.disturbance import Split
from sysid_nodes.systems.certified.certificate.memory import kernel, peak_rate

Array = npt.NDArray[np.float64]

GAIN, H = 2.5, 0.004
BEGIN = np.array([0.0, 0.006, 2.0 * H, 0.05, 0.4])
EDGES = np.append(BEGIN, np.inf)
T = len(BEGIN)
JOINTS = range(2)


class Turned(Split):
    """A split whose r_bar jumps by as much as the nominal model's masses do."""

    def jump(self, change: Array) -> Array:
        return 30.0 * np.abs(change[:, 0])


class Case:
    """Inputs at random, from some seed."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng(seed)

        def draw(*shape: int) -> Array:
            return np.asarray(rng.uniform(0.5, 1.5, shape))

        self.loop = ClosedLoop(
            GAIN, np.array([600.0, 250.0]) * draw(2), np.full(2, 1e9), 8.0 * draw(2), 30.0 * draw(2), 0.1 * draw(2),
            np.array([7.0, 0.8 if seed % 2 else 4.0]), np.full(2, 9.0), 1e-3 * draw(2), 0.01, 0.001, H - 0.001, True,
        )  # fmt: skip
        heavy = np.array([[9.0, 1.0], [1.0, 6.0]]) * draw(T, 1, 1)
        self.found = Disturbance(
            draw(T, 2), draw(T, 2), heavy, 0.05 * heavy * draw(T, 1, 1), draw(T, 2),
            10.0 ** rng.uniform(-1.5, 1.0) * draw(T, 2), draw(T, 2),
        )  # fmt: skip
        size = 10.0 ** rng.uniform(-1.0, 2.0, (4, T, 1)) * draw(4, T, 2)
        self.split = Turned(*size, None, None)  # type: ignore[arg-type]
        wide = 10.0 ** rng.uniform(-2.0, 0.0, 6)
        self.assumed = Assumed(
            wide[0] * draw(T), wide[1] * draw(T), 50.0 * wide[2] * draw(T, 2), 50.0 * wide[3] * draw(T),
            wide[4] * draw(T, 2), wide[5] * draw(T, 2),
        )  # fmt: skip
        own = 10.0 ** rng.uniform(-2.0, 0.5, 9)
        theta = np.zeros((2, 10))
        theta[:, 0] = draw(2)
        self.start = Entry(
            own[0] ** 2, own[1], 20.0 * own[2], draw(2), own[3], own[4], own[5] * draw(2), own[6] * draw(2), own[7],
            own[8] * draw(2), theta,
        )  # fmt: skip
        self.theta = theta.copy()
        self.theta[:, 0] += 0.2 * draw(2)


def response(x: Array, i: int, part: str, slow: float, fast: float) -> float:
    """Of interval i, to what is x in each: each step since it began, for the longest if it adds, else the shortest."""
    total = 0.0
    for j in range(i + 1):
        step = x[j] - (x[j - 1] if j else 0.0)
        age = min(EDGES[i + 1] - EDGES[j], 1e3) if step > 0.0 else EDGES[i] - EDGES[j]
        total += step * float(getattr(kernel(np.array(age), np.array(slow), np.array(fast), H), part))
    return total


def lasting(x: Array, i: int, slow: float) -> float:
    """What is x now, and of each drop before it what is left."""
    return float(x[i]) + sum(
        max(x[j] - x[j + 1], 0.0) * np.exp(-slow * max(EDGES[i] - EDGES[j + 1] - H, 0.0)) for j in range(i)
    )


def lately(x: Array, i: int) -> Array:
    return np.maximum(x[i], x[max(i - 1, 0)])


class ByHand:
    """Everything that is proven, interval by interval."""

    def __init__(self, case: Case) -> None:
        loop, split, start, assumed = case.loop, case.split, case.start, case.assumed
        middle = 0.5 * (loop.viscous_lower + loop.viscous_upper)
        self.case, self.stiff = case, loop.damping + middle
        self.fast = max(self.stiff[j] / loop.armature_lower[j] for j in JOINTS)
        self.metric = self.stiff / self.fast
        self.root = np.sqrt(self.metric)
        scaled = [case.found.inertia[t] / np.outer(self.root, self.root) for t in range(T)]
        self.weight = max(np.linalg.eigvalsh(x)[-1] for x in scaled)
        self.rest = _forces(_Loop(loop, case.found), case.found, split, assumed)
        self.known = min(np.sqrt(2.0 * start.level), start.reference_norm)
        self.leap = split.jump(case.theta - start.theta)
        self.together()
        self.each()
        self.rates()
        self.positions()

    def norm(self, torque: Array) -> float:
        return float(np.sqrt(sum(torque[j] ** 2 / self.metric[j] for j in JOINTS))) / self.fast

    def together(self) -> None:
        split, start, slow = self.case.split, self.case.start, self.fast / self.weight
        slope, drift = (np.array([self.norm(x[i]) for i in range(T)]) for x in (split.slope, split.drift))
        passed = H * (start.speed + slope[0])
        apart = min(self.known + self.norm(split.steady[0]), start.apart_norm + self.norm(self.leap) + passed)
        force = np.array([self.rest.norm[i] + self.norm(H * lately(split.slope, i)) for i in range(T)])
        force += np.where(BEGIN < 2.0 * H, passed, 0.0)
        self.size, self.apart, self.speed, late = np.empty((4, T))
        for i in range(T):
            forced = response(force, i, "mass", slow, self.fast) + response(slope, i, "length", slow, self.fast)
            forced += response(drift, i, "moment", slow, self.fast)
            acting = max(BEGIN[i] - H, 0.0)
            left, shift = np.exp(-slow * acting) * apart, self.norm(split.steady[i])
            passing = max(slope[: i + 1]) / (np.e * slow)
            self.size[i] = min(shift + left, np.hypot(shift, self.known) + passing) + forced
            self.apart[i] = left + forced
            late[i] = forced + H * response(drift, i, "mass", slow, self.fast)
            begun = float(peak_rate(np.array(max(acting - H, 0.0)), slow, self.fast)) * apart
            self.speed[i] = begun + self.fast * (max(late[i], late[max(i - 1, 0)]) + force[i])
        self.size[0] = max(self.size[0], self.known)

    def each(self) -> None:
        case, split, start, loop = self.case, self.case.split, self.case.start, self.case.loop
        self.box, self.away = np.empty((2, T, 2))
        for j in JOINTS:
            other, stiff = 1 - j, self.stiff[j]
            slow = stiff / max(case.found.inertia[:, j, j])
            fast = stiff / loop.armature_lower[j]
            slope, drift = split.slope[:, j] / stiff, split.drift[:, j] / stiff
            known = min(start.reference_error[j], self.known / self.root[j])
            passed = H * (start.speed / np.sqrt(loop.armature_lower[j]) + slope[0])
            apart = start.apart_error[j] + self.leap[j] / stiff + passed
            apart = min(known + split.steady[0, j] / stiff, apart)
            force = np.empty(T)
            for i in range(T):
                entry = case.found.inertia[i, j, other]
                coupled = min(
                    entry / self.root[other] * case.assumed.speed[i], entry * case.assumed.acceleration[i, other]
                )
                force[i] = (self.rest.joint[i, j] + H * lately(split.slope, i)[j] + coupled) / stiff
                force[i] += passed if BEGIN[i] < 2.0 * H else 0.0
            for i in range(T):
                forced = min(response(force, i, "mass", slow, fast), lasting(force, i, slow))
                forced += response(drift, i, "moment", slow, fast) + response(slope, i, "length", slow, fast)
                left, shift = np.exp(-slow * max(BEGIN[i] - H, 0.0)) * apart, split.steady[i, j] / stiff
                passing = max(slope[: i + 1]) / (np.e * slow)
                r = min(shift + left, max(shift, known) + passing) + forced
                self.box[i, j] = min(max(r, known) if i == 0 else r, self.size[i] / self.root[j])
                self.away[i, j] = min(left + forced, self.apart[i] / self.root[j])

    def rates(self) -> None:
        case, loop = self.case, self.case.loop
        self.acceleration, self.robust = np.empty((2, T, 2))
        for i in range(T):
            force = self.stiff * lately(self.away, i) + H * lately(case.split.slope, i) + self.rest.joint[i]
            self.speed[i] = min(self.speed[i], self.fast * self.norm(force))
            if i == 0:
                self.speed[i] = max(self.speed[i], case.start.speed)
            for j in JOINTS:
                lever = case.found.inertia_root[i] / loop.armature_lower
                alone = force[j] / loop.armature_lower[j] + lever[j] * lever[1 - j] * force[1 - j]
                if i == 0:
                    alone = max(alone, case.start.speed / np.sqrt(loop.armature_lower[j]))
                self.acceleration[i, j] = min(alone, self.speed[i] / self.root[j])
                self.robust[i, j] = loop.damping[j] * (lately(self.box, i)[j] + loop.reference_noise[j])

    def positions(self) -> None:
        start = self.case.start
        self.position, self.position_error = np.empty(T), np.empty((T, 2))
        norm = min(start.position, start.position_norm)
        now = [norm, *(min(start.position_error[j], norm / self.root[j]) for j in JOINTS)]
        for i in range(T):
            found = []
            for k, push in enumerate([self.size[i] / GAIN, *(self.box[i] / GAIN)]):
                times = (EDGES[i + 1] - EDGES[i] - (H if i == 0 else 0.0), EDGES[i + 1] - EDGES[i])
                later = max(push + (now[k] - push) * np.exp(-GAIN * t) for t in times)
                found.append(max(now[k], later))
                now[k] = later
            self.position[i] = found[0]
            self.position_error[i] = [min(found[1 + j], found[0] / self.root[j]) for j in JOINTS]


@pytest.mark.parametrize("seed", range(24))
def test_everything_proven_is_what_plain_loops_say(seed: int) -> None:
    case = Case(seed)
    hand = ByHand(case)
    found = propagate_delayed(case.loop, case.found, case.split, case.assumed, EDGES, case.start, case.theta)
    expected = {
        "level": 0.5 * hand.size**2, "position": hand.position, "acceleration": hand.acceleration,
        "speed": hand.speed, "position_error": hand.position_error, "reference_error": hand.box,
    }  # fmt: skip
    for name, value in expected.items():
        np.testing.assert_allclose(getattr(found.errors, name), value, rtol=1e-7, err_msg=name)
    np.testing.assert_allclose(found.robust, hand.robust, rtol=1e-7)
    np.testing.assert_allclose(found.apart_norm, hand.apart, rtol=1e-7)
    np.testing.assert_allclose(found.apart_error, hand.away, rtol=1e-7)
    assert found.weight == pytest.approx(hand.weight, rel=1e-7)
