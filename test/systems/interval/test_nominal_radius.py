# SPDX-License-Identifier: Apache-2.0
"""The radius of rows at parameters that are given, in plain loops over windows, samples and joints.

Taken as they are: derivatives of the momentum, and the curvatures by norms, which have tests of their own.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.row_scene import random_tree

from sysid_nodes.data import Bounds, JointSamples
from sysid_nodes.kernel import reference
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.models.momentum_derivatives import momentum_derivatives
from sysid_nodes.systems.interval.error_radius import momentum_curvature, rate_curvature, unit_motions
from sysid_nodes.systems.interval.momentum_rows import body_norms
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.nominal_radius import nominal_radius
from sysid_nodes.systems.interval.reach import Levers, Reach
from sysid_nodes.systems.interval.row_builder import Draft, RowBuilder
from sysid_nodes.systems.interval.unknowns import identify_body

Array = np.ndarray

N, EDGES = 2, np.array([[0, 21], [21, 30], [33, 45]], dtype=np.intp)
T = 1.0 + np.cumsum(np.random.default_rng(1).uniform(0.6e-3, 1.4e-3, 46))
ACCELERATION, JERK, STAMP = np.array([6.0, 9.0]), np.array([50.0, 80.0]), 1e-5


class Case:
    """Three windows of two joints; `slow`: the sign of their velocities is not certain, so that they may be rough."""

    def __init__(self, *, slow: bool, position: float, velocity: float) -> None:
        rng = np.random.default_rng(2)
        arm = next(x for x in (random_tree(rng, N) for _ in range(99)) if Chain.from_robot(x).tree.revolute.all())
        self.chain = chain = Chain.from_robot(arm)
        centre, radius = known_box(arm, KnownRobotConfig())
        unknowns = identify_body(N, 1, centre, radius, Bounds(centre[10:20] - 0.1, centre[10:20] + 0.1))
        zero = np.zeros(N)
        noise = Noise(
            torque_relative=zero, torque_absolute=zero, position=np.full(N, position), velocity=np.full(N, velocity),
            acceleration=ACCELERATION, jerk=JERK, torque_rate=zero, torque_curvature=zero, stamp=STAMP, hold=False,
            itemised=True,
        )  # fmt: skip
        rate = np.array([0.5, 0.8]) * (1e-4 if slow else 1.0)
        time = (T - 1.0)[:, None]
        q, qd = np.array([0.3, -0.7]) + rate * time + time**2, rate + 2.0 * time
        q = q + 0.99 * position * rng.choice([-1.0, 1.0], q.shape)  # so that together they tell more than one of them
        samples = JointSamples(arm.joint_names, T, q, qd, 0.0 * q)
        self.draft: Draft = RowBuilder(chain, Reach(chain, zero), noise, unknowns).draft(samples, EDGES)
        self.theta = centre[: 10 * N]
        place, motion = self.draft.positions, self.draft.motion
        times = T[place.index]
        self.levers: Levers = Reach(chain, zero).levers(times, place.q, place.edges, motion.speed, place.error)


def picks_by_hand(case: Case, w: int) -> list[dict[str, Any]]:
    """Of a window: each sample counts as the next one at which there are derivatives, the earlier of two."""
    first, last = EDGES[w]
    begin = case.draft.positions.edges[w, 0]
    chosen = [int(k - begin + first) for k in case.levers.picked[w]]
    out: list[dict[str, Any]] = [{"at": k, "weight": 0.0, "late": 0.0, "after": [], "away": 0.0} for k in chosen]
    for k in range(first, last + 1):
        own = min(out, key=lambda pick: (abs(pick["at"] - k), pick["at"]))
        weight = 0.5 * ((T[k] - T[k - 1] if k > first else 0.0) + (T[k + 1] - T[k] if k < last else 0.0))
        own["weight"] += weight
        own["late"] += weight * (T[k] - T[first]) / (T[last] - T[first])
        own["after"] += [k] if k < last else []
        own["away"] = max(own["away"], abs(T[k] - T[own["at"]]))
    return out


PLACES = ((1, 1), (1, 0), (0, 0), (0, 1))
"""Whether a row begins and ends with the window: alone, the first of several, between others, the last."""


def first_order(case: Case, w: int, found: Any, offset: int, begins: int, ends: int) -> Array:
    """(3, N) of position, velocity and what happens between samples."""
    draft, picks = case.draft, picks_by_hand(case, w)
    motion, rows = draft.motion, slice(offset, offset + len(picks))
    p, f_q, f_v, mass = (
        x[rows] for x in (found.by_position, found.rate_by_position, found.rate_by_velocity, found.mass)
    )
    out = np.zeros((3, N))
    rough, smooth = (x[:, 0] for x in draft.roughness)
    for k, j in np.ndindex(N, N):
        dq, dv, travel = motion.dq[w, j], motion.dv[w, j], draft.positions.travel_error[w, j]
        size = sum(pick["weight"] * abs(f_q[i, k, j]) for i, pick in enumerate(picks))
        late = sum(pick["late"] * f_q[i, k, j] for i, pick in enumerate(picks))
        early = sum((pick["weight"] - pick["late"]) * f_q[i, k, j] for i, pick in enumerate(picks))
        first, last = begins * p[0, k, j], ends * p[-1, k, j]
        end, start = last - late, -first - early
        line = min((abs(end) + abs(start)) * dq, abs(end + start) * dq + min(abs(end), abs(start)) * travel)
        alone = (abs(first) + abs(last) + size) * dq
        out[0, k] += min(alone, line + size * travel)
        out[1, k] += (begins * abs(mass[0, k, j]) + ends * abs(mass[-1, k, j])) * dv
        for i, pick in enumerate(picks):
            out[1, k] += pick["weight"] * abs(f_v[i, k, j]) * dv
            for m in pick["after"]:
                out[2, k] += rough[m] / 4.0 * abs(f_v[i, k, j]) * ACCELERATION[j]
                out[2, k] += smooth[m] / 12.0 * abs(f_v[i, k, j]) * JERK[j]
                out[2, k] += (T[m + 1] - T[m]) ** 3 / 12.0 * abs(f_q[i, k, j]) * ACCELERATION[j]
    return out


def second_order(case: Case, w: int, edges: int) -> Array:
    """(3, N) by the norms of all bodies."""
    motion, levers, draft = case.draft.motion, case.levers, case.draft
    unit, speed, dq, dv = unit_motions(levers), motion.speed, motion.dq, motion.dv
    first, last = EDGES[w]
    pause = max(np.diff(T[first : last + 1]))
    stamp = draft.windows.stamp_error
    whole = motion.smooth[w] >= motion.cube[w]
    stray = JERK * pause**2 / 8.0 + 2.0 * ACCELERATION * stamp if whole else ACCELERATION * pause / 2.0
    reach = max(pick["away"] for pick in picks_by_hand(case, w)) + pause
    none = np.zeros(N)
    lines = [(dq[w], none), (none, dv[w]), (ACCELERATION * pause**2 / 8.0, stray)]
    other = speed[w] * reach + 3.0 * dq[w] + lines[2][0], ACCELERATION * reach + 3.0 * dv[w] + lines[2][1]

    def curvature(kind: Any, along: tuple[Array, Array]) -> Array:
        wide = [np.tile(x, (len(speed), 1)) for x in along]
        return np.asarray(kind(unit, speed, *wide)[w])

    def mixed(kind: Any, one: tuple[Array, Array], two: tuple[Array, Array]) -> Array:
        both = one[0] + two[0], one[1] + two[1]
        return np.maximum(0.5 * (curvature(kind, both) - curvature(kind, one) - curvature(kind, two)), 0.0)

    def third(one: Array, two: Array) -> Array:
        return np.einsum("kjsic,j,s->kic", levers.third, one, two)

    out = []
    for c, line in enumerate(lines):
        found = motion.duration[w] * (mixed(rate_curvature, line, other) + third(line[0], other[0]))
        if c < 2:
            found = found + 0.5 * edges * mixed(momentum_curvature, line, (dq[w], dv[w]))
        else:
            along = curvature(rate_curvature, (speed[w], ACCELERATION)) + third(speed[w], speed[w])
            found = found + motion.cube[w] / 12.0 * along
        out.append(found)
    bodies = case.theta.reshape(N, 10)
    return np.einsum("ckis,is->ck", np.array(out), body_norms(bodies, bodies))


@pytest.mark.parametrize("slow", [False, True])
@pytest.mark.parametrize(("position", "velocity"), [(1e-3, 1e-4), (1e-5, 1e-2), (1e-2, 1e-6), (1e-4, 3e-2)])
def test_the_radius_is_that_of_all_samples_joints_and_bodies(slow: bool, position: float, velocity: float) -> None:
    """Readings that tell more than their velocities, and the other way round; smooth windows and rough ones."""
    case = Case(slow=slow, position=position, velocity=velocity)
    draft, levers = case.draft, case.levers
    picked = np.concatenate(levers.picked)
    qd = draft.windows.samples.qd[draft.positions.index[picked]]
    derivatives = momentum_derivatives(
        case.chain, case.theta, reference.at_velocities(case.chain.tree, levers.places, qd)
    )
    found = nominal_radius(
        case.chain, case.theta, draft.windows, draft.roughness, draft.positions, draft.motion, levers
    )
    offset = 0
    for w in range(len(EDGES)):
        for place, (begins, ends) in enumerate(PLACES):
            expected = first_order(case, w, derivatives, offset, begins, ends) + second_order(case, w, begins + ends)
            # Roundings are allowed for once more.
            np.testing.assert_allclose(found[place, :, w], expected, rtol=1e-8)
            assert (found[place, :, w] >= expected * (1.0 - 1e-12)).all()
        offset += len(levers.picked[w])
