# SPDX-License-Identifier: Apache-2.0
"""Effects that a moving horizon leaves out show in what left its windows, as in a whole log at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

import numpy as np
import numpy.typing as npt
import pytest
from shared.legged_log import LeggedLog, simulate, simulated_config

from sysid_nodes.models.rotations import quaternion_matrix
from sysid_nodes.results.prime import PrimeEstimate, UntoldEffect
from sysid_nodes.results.prime_status import PrimeStatus
from sysid_nodes.sessions.prime.trust import UNTOLD, PrimeJudgement
from sysid_nodes.signals.finding import Finding
from sysid_nodes.signals.samples import AlignedSteps
from sysid_nodes.signals.stream_health import StreamFault
from sysid_nodes.simulation.legged import LeggedSimulationConfig
from sysid_nodes.simulation.legged.scenario import PushConfig
from sysid_nodes.solvers.trajectory_least_squares import Blocks, assemble
from sysid_nodes.solvers.trajectory_least_squares.factor import factorise
from sysid_nodes.systems.prime import MovingHorizon, build_model, untold_watch
from sysid_nodes.systems.prime.arrival import next_arrival
from sysid_nodes.systems.prime.carried import Carried
from sysid_nodes.systems.prime.directions import Direction, Past, directions
from sysid_nodes.systems.prime.initialisation import initial_configurations, initial_trajectory
from sysid_nodes.systems.prime.leaving import _take
from sysid_nodes.systems.prime.problem import Arrival, PrimeProblem, build_problem, first_arrival
from sysid_nodes.systems.prime.trajectory import Trajectory
from sysid_nodes.systems.prime.untold import WEAK, Shown, effect_sizes
from sysid_nodes.systems.prime.untold_watch import UntoldWatch

Array = npt.NDArray[np.float64]

STAGES = 20


@cache
def log(*, pushed: bool = False) -> LeggedLog:
    push = PushConfig(start=0.5, duration=10.0, force=(4.0, -5.0, 0.0)) if pushed else PushConfig()
    return simulate(LeggedSimulationConfig(push=push), 2.5, seed=41, skip=1.5)


@cache
def window() -> tuple[PrimeProblem, Trajectory, tuple[Blocks, ...]]:
    """A window near nothing: its residuals are large, and so are all scores."""
    one, config = log(), simulated_config()
    model = build_model(one.robot, config)
    samples = {name: entry.between(0, STAGES) for name, entry in one.steps.samples.items()}
    q = initial_configurations(model, samples, STAGES)
    problem = build_problem(model, samples, STAGES, first_arrival(model, q[0]))
    point = initial_trajectory(problem, q, model.parameters.mean)
    return problem, point, tuple(problem.linearise(point))


def chosen(group: Blocks, kept: npt.NDArray[np.intp], first: int) -> Blocks:
    """Some blocks of a group, stages counted from another first."""
    taken = _take(group, kept)
    return replace(taken, first=taken.first - first, local=None if taken.local is None else taken.local - first)


def test_stages_that_leave_in_turn_tell_what_all_do_at_once() -> None:
    """Sizes and sigmas of every effect, to rounding, though each stage was in one window alone."""
    problem, point, blocks = window()
    names, last = problem.groups, STAGES - 1
    kept = [np.flatnonzero(group.first < last) for group in blocks[:-2]]
    whole = [*(chosen(group, own, 0) for group, own in zip(blocks, kept, strict=False)), *blocks[-2:]]
    effects = [
        replace(one, columns={name: by[kept[names.index(name)]] for name, by in one.columns.items()})
        for one in directions(problem, point, Past.beginning(point))
    ]
    watch, arrival, first = UntoldWatch(), problem.arrival, 0
    for count in (6, 1, 7, 5):
        part = replace(problem, stages=STAGES - first, arrival=arrival)
        here = replace(point, q=point.q[first:], w=point.w[first:])
        later = [np.flatnonzero(group.first >= first) for group in blocks[:-2]]
        groups = [*(chosen(group, own, first) for group, own in zip(blocks, later, strict=False)), *part.priors(here)]
        if not first:  # all effects of the whole window, by the watch
            _, by = watch.effects(problem, point, last, fits=True)
        part = replace(part, arrival=replace(arrival, carried=arrival.carried.widen(watch._count)))
        left = next_arrival(
            part,
            groups,
            here,
            factorise(assemble(groups, part.layout), 0.0),
            count,
            [np.ones(group.residual.shape) for group in groups],
            {name: columns[later[names.index(name)]] for name, columns in by.items()},
        )
        assert left is not None
        arrival, first = left, first + count
    told = untold_watch._conclude(problem, arrival)
    for (effect, size, covariance), one in zip(
        effect_sizes(problem, whole, effects), watch._followed.values(), strict=True
    ):
        place, harmless = one.place, one.effect.harmless
        spread = harmless**2 * np.linalg.inv(told.information[place, place] + WEAK**-2 * np.eye(effect.count))
        found = -spread @ told.gradient[place] / harmless
        assert one.effect.name == effect.name
        np.testing.assert_allclose(spread, covariance, rtol=1e-5, err_msg=effect.name)
        np.testing.assert_allclose(found, size, atol=1e-5 * np.sqrt(covariance.max()), err_msg=effect.name)


def test_windows_in_turn_have_the_effects_of_one() -> None:
    """A load swings on from window to window, and readings that leave are those of their stages."""
    problem, point, _ = window()
    whole: dict[str, list[Mapping[str, Array]]] = {}
    for one in directions(problem, point, Past.beginning(point)):
        whole.setdefault(one.name, []).append(one.columns)
    watch, count = UntoldWatch(), 7
    _, before = watch.effects(problem, point, count, fits=True)
    past = watch._past
    assert past is not None
    later = replace(point, q=point.q[count:], w=point.w[count:])
    rest = replace(problem, readings=())
    after = [one.columns["dynamics"] for one in directions(rest, later, past) if one.name == "a load that swings"]
    for k, columns in enumerate(whole["a load that swings"]):
        np.testing.assert_allclose(after[k][:, :3], columns["dynamics"][count:, :3], rtol=1e-9, atol=1e-12)
    for key, known in watch._followed.items():
        for name, wanted in whole[key[0]][key[1]].items():
            early = before[name][:count, :, known.place] / known.effect.harmless
            np.testing.assert_allclose(early, wanted[: len(early)], rtol=1e-9, atol=1e-12, err_msg=f"{key} {name}")


def followed(one: LeggedLog, *, recalled: bool = False, jump: float = 0.0) -> PrimeEstimate:
    """The last estimate of a moving horizon, whose markers move midway."""
    samples = dict(one.steps.samples)
    poses = samples["mocap_pose"]
    values, after = poses.values.copy(), poses.steps > poses.steps[-1] / 2
    values[after, :3] += jump * quaternion_matrix(values[after, 3:])[:, :, 1]
    samples["mocap_pose"] = replace(poses, values=values)
    horizon, found = MovingHorizon(build_model(one.robot, simulated_config())), None
    for first in range(0, len(one.steps), 8):
        stop = min(first + 8, len(one.steps))
        parts = {name: entry.between(first, stop) for name, entry in samples.items()}
        horizon.push(AlignedSteps(0, first, one.steps.times[first:stop], parts))
        found = horizon.step() or found
        if recalled and first == 8 * (len(one.steps) // 8 - 8):
            horizon.recall(horizon.knowledge)
    assert found is not None
    return found


def test_nothing() -> None:
    assert followed(log()).untold is None


@pytest.mark.parametrize("recalled", [False, True])
def test_steady_force(recalled: bool) -> None:
    """To a third: the first windows have taken their share. What was shown stays when constants are taken up again."""
    one = followed(log(pushed=True), recalled=recalled).untold
    assert one is not None
    assert (one.name, one.unit) == ("a steady force from outside", "N")
    assert one.size == pytest.approx(5.0, rel=0.35)


def test_markers_that_move() -> None:
    """A jump in the midst of a look counts as one at its beginning: to a half."""
    one = followed(log(), jump=0.015).untold
    assert one is not None
    assert one.name == "markers that moved on the robot"
    assert one.size == pytest.approx(0.015, rel=0.5)


def test_what_does_not_fit_is_not_counted() -> None:
    """Nor is what was before it, which an impact leaves to the constants."""
    problem, point, _ = window()
    watch = UntoldWatch()
    with_sizes, by = watch.effects(problem, point, 5, fits=True)
    assert by and len(with_sizes.arrival.carried.gradient)
    with_none, by = watch.effects(with_sizes, point, 5, fits=False)
    assert not by and not len(with_none.arrival.carried.gradient)


@cache
def arrival_with_sums() -> tuple[PrimeProblem, Arrival, UntoldWatch]:
    problem, point, _ = window()
    watch = UntoldWatch()
    problem, _ = watch.effects(problem, point, 5, fits=True)
    rng, count = np.random.default_rng(0), len(problem.arrival.carried.gradient)
    rows = rng.normal(size=(60, count))
    cross = rng.normal(size=(problem.arrival.prior.root.shape[1], count))
    carried = Carried(1e-3 * cross, rows.T @ rows, rng.normal(size=count))
    return problem, replace(problem.arrival, carried=carried), watch


def test_jumps_begin_anew_at_every_look_and_the_rest_after_ten_seconds(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, arrival, _ = arrival_with_sums()
    watch = UntoldWatch()
    watch._followed = arrival_with_sums()[2]._followed
    monkeypatch.setattr(UntoldWatch, "_test", lambda *_: None)
    count = round(0.25 / problem.model.config.step)
    assert watch.look(problem, arrival, count - 1) is arrival
    seen = watch.look(problem, arrival, 1).carried
    (jump,) = (one.place for (name, _), one in watch._followed.items() if name == "markers that moved on the robot")
    others = np.setdiff1d(np.arange(len(seen.gradient)), np.arange(len(seen.gradient))[jump])
    assert not seen.gradient[jump].any() and not seen.information[jump].any() and not seen.cross[:, jump].any()
    np.testing.assert_array_equal(seen.gradient[others], arrival.carried.gradient[others])
    for _ in range(38):
        assert watch.look(problem, arrival, count).carried.gradient[others].any()
    watch._past = Past(np.zeros(3), np.zeros((6, 2, 2)))
    ended = watch.look(problem, arrival, count).carried
    np.testing.assert_array_equal(watch._past.place, arrival.q[0, :3])
    assert not ended.gradient.any() and not ended.information.any() and not ended.cross.any()


def test_what_explains_most_of_all_looks_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    problem, arrival, _ = arrival_with_sums()
    watch, count = UntoldWatch(), round(0.25 / problem.model.config.step)
    told = [UntoldEffect(name, 1.0, 0.1, "N") for name in ("first", "most", "last")]
    looks = iter([None, *(Shown(one, d) for one, d in zip(told, (30.0, 40.0, 35.0), strict=True)), None])
    monkeypatch.setattr(UntoldWatch, "_test", lambda *_: next(looks))
    shown = []
    for _ in range(5):
        watch.look(problem, arrival, count)
        shown.append(None if watch.shown is None else watch.shown.name)
    assert shown == [None, "first", "most", "most", "most"]


def test_chance_is_that_of_thousands_of_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """4.2 sigma of one size are one log's effect in ten thousand, and no finding of a look."""
    problem, arrival, watch = arrival_with_sums()
    asked: list[float] = []

    def shown(_: Sequence[tuple[Direction, Array, Array]], excess: float, chance: float) -> None:
        asked.append(chance)

    monkeypatch.setattr(untold_watch, "shown_effect", shown)
    watch._test(problem, arrival)
    assert asked == [1e-5]


OFFSET = Finding(StreamFault.OFFSET, "mocap_pose", 0.0, "late")
LEFT_OUT = Finding(UNTOLD, "a steady force from outside", 0.0, "5 N")
STUCK = Finding(StreamFault.STUCK, "gyroscope", 0.0, "stuck")


@pytest.mark.parametrize(
    ("findings", "spared"),
    [((), False), ((OFFSET,), True), ((LEFT_OUT,), True), ((OFFSET, LEFT_OUT), True), ((LEFT_OUT, STUCK), False)],
)
def test_constants_of_before_are_no_better_where_the_model_leaves_something_out(
    findings: tuple[Finding, ...], spared: bool
) -> None:
    assert PrimeJudgement(PrimeStatus.DOUBTFUL, findings).spares_constants is spared
