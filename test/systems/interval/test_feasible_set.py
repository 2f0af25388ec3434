# SPDX-License-Identifier: Apache-2.0
"""The guarantee: the truth lies inside every bound ever published, as long as the assumptions hold.

More trials, at the full rate and length, run in benchmarks/.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from shared.noisy_payload import PATTERNS, PAYLOAD_PRIOR, Errors, configuration, measure, point_mass, problem
from shared.payload_problem import gen3_problem
from shared.quick_and_slow import mark_slow

from sysid_nodes.data import JointSamples
from sysid_nodes.data.inertia import parameters_to_pseudo_inertia
from sysid_nodes.models.known_robot import KnownRobotConfig, PriorConfig, known_box
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig, NoiseConfig, SetMembershipConfig
from sysid_nodes.systems.interval.feasible_set import FeasibleSet
from sysid_nodes.systems.interval.momentum_rows import CAUSES, MomentumRows
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.unknowns import identify_body

UNEVEN = Errors(relative=0.03, absolute=0.1, position=2e-4, velocity=1e-3, stamp=1e-4)
FINE = Errors(relative=0.002, position=1e-6, velocity=1e-6)
CERTAIN = KnownRobotConfig(inertia_relative=0.0, friction_relative=0.0, armature_relative=0.0)
GAIN = KnownRobotConfig(gain_relative=(0.04,), gain=(0.8,), offset_absolute=(0.3,))
LOOSE = KnownRobotConfig(inertia_relative=0.2, friction_relative=0.5, armature_relative=0.01)


def stream(pipeline: IntervalPipeline, samples: JointSamples) -> list[IdentificationResult]:
    found = []
    for t, q, qd, tau in zip(samples.t, samples.q, samples.qd, samples.tau, strict=True):
        if (result := pipeline.push(samples.names, float(t), q, qd, tau)) is not None:
            found.append(result)
    return found


def check(history: list[IdentificationResult], theta: np.ndarray) -> None:
    """Truth inside, bounds never wider, nominal inside and physical, nothing rejected by the gate."""
    lower, upper = np.full(10, -np.inf), np.full(10, np.inf)
    assert history
    for result in history:
        assert result.status in (Status.NOT_EXCITED, Status.PROVEN), result.contradiction
        assert (result.lower <= theta).all() and (theta <= result.upper).all()
        assert (result.lower >= lower).all() and (result.upper <= upper).all()
        lower, upper = result.lower, result.upper
        assert (lower <= result.nominal).all() and (result.nominal <= upper).all()
        # 1e-7 kg: the interior-point solver's own tolerance
        assert np.linalg.eigvalsh(parameters_to_pseudo_inertia(result.nominal))[0] > -1e-7
    assert set(history[-1].samples_rejected) <= {"gap", "incomplete window"}


TRIALS = [
    (pattern, kind, known, errors)
    for pattern, kind, known, errors in zip(
        PATTERNS * 5,
        ("body", "body", "payload", "point", "body", "payload", "point") * 4,
        (KnownRobotConfig(), CERTAIN, GAIN, LOOSE) * 7,
        (FINE, UNEVEN, Errors(), Errors(relative=0.0, absolute=0.05)) * 7,
        strict=False,
    )
]


@pytest.mark.parametrize("seed", mark_slow(range(len(TRIALS)), but=range(9)))
def test_truth_is_inside_every_bound(seed: int) -> None:
    pattern, kind, known, errors = TRIALS[seed]
    rng = np.random.default_rng(100 + seed)
    found = problem(rng, known, corner=seed % 3 > 0, kind=kind, speed=(0.9, 0.3, 2.0)[seed % 3])
    effort = SetMembershipConfig(max_rows=(400, 40)[seed % 2], max_cuts=(60, 8)[seed % 2], solves=(6, 20, 1)[seed % 3])
    config = configuration(found, known, errors, set_membership=effort)
    if kind == "payload":
        config = replace(config, target="payload", prior=PAYLOAD_PRIOR)
    samples = measure(found, rng, errors, pattern=pattern, start=1.0 if seed % 2 else 1.7e9 + 0.25)
    pipeline = IntervalPipeline(found.robot, config)
    if seed % 4 == 0:
        half = len(samples) // 2
        history = [pipeline.identify(samples.slice(0, half)), pipeline.identify(samples.slice(half, len(samples)))]
    else:
        history = stream(pipeline, samples)
    check(history, found.theta)


def run(seed: int, effort: SetMembershipConfig, *, block: bool) -> tuple[IdentificationResult, np.ndarray]:
    rng = np.random.default_rng(seed)
    known = KnownRobotConfig()
    found = problem(rng, known)
    config = configuration(found, known, FINE, set_membership=effort)
    pipeline = IntervalPipeline(found.robot, config)
    samples = measure(found, rng, FINE, rate=500.0)
    if block:
        pipeline.identify(samples)
    else:
        stream(pipeline, samples)
    return pipeline.finish(), found.theta


def test_a_block_at_once_proves_no_less_than_the_stream() -> None:
    once, theta = run(1, SetMembershipConfig(), block=True)
    slowly, _ = run(1, SetMembershipConfig(), block=False)
    # Rows dropped in the stream, and its cut-short solves, cost a little; the mass is the best known of all.
    ratio = (once.upper - once.lower) / (slowly.upper - slowly.lower)
    assert ratio[0] < 1.02 and np.median(ratio) < 1.02
    for result in (once, slowly):
        assert (result.lower <= theta).all() and (theta <= result.upper).all()
        assert (result.upper - result.lower)[0] < 0.5 * 4.0  # of the prior's 4 kg


def test_forgetting_rows_costs_width_and_never_soundness() -> None:
    all_rows, _ = run(2, SetMembershipConfig(max_rows=4000), block=False)
    few, theta = run(2, SetMembershipConfig(max_rows=24, max_cuts=4), block=False)
    assert (few.lower <= theta).all() and (theta <= few.upper).all()
    assert (few.upper - few.lower).sum() > (all_rows.upper - all_rows.lower).sum()


def test_costs_cover_every_interval() -> None:
    """By weak duality no interval is wider than what its assumptions add to it."""
    result, _ = run(3, SetMembershipConfig(), block=True)
    total = sum(result.costs.values())
    assert (total >= (result.upper - result.lower) * (1.0 - 1e-6)).all()
    assert {"link inertia", "relative torque noise", "armature"} <= set(result.costs)
    assert all((share >= 0.0).all() for share in result.costs.values())


def test_every_cut_holds_for_every_physical_body() -> None:
    """Point masses lie on the edge of the cone: a cut must pass them to within rounding and on the right side."""
    rng = np.random.default_rng(11)
    centre, radius = known_box(load_robot("kinova_gen3"), CERTAIN)
    box = PriorConfig(lower=(0.0, *[-1.0] * 9), upper=(4.0, *[1.0] * 9)).bounds
    built = FeasibleSet(identify_body(7, 6, centre, radius, box), SetMembershipConfig(max_cuts=400))
    radii = np.zeros((1, 7, len(CAUSES))), np.zeros((1, 7, 3, 3))
    nothing = MomentumRows(np.zeros((1, 2)), np.zeros((1, 7, 105)), *radii, np.zeros(10))
    for _ in range(4):
        built.step(nothing, np.arange(len(nothing.t)), thorough=True)
    rows, low = built.polytope.rows, built.polytope.row_lower
    assert len(rows) > 30 and (built.polytope.row_upper == np.inf).all()
    nearest = np.inf
    for _ in range(400):
        masses = [point_mass(rng.uniform(0.0, 1.5), rng.uniform(-0.5, 0.5, 3)) for _ in range(int(rng.integers(1, 4)))]
        theta = np.sum(masses, axis=0)
        if box.contains(theta):
            margin = rows @ ((theta - box.centre) / box.half_width) - low
            nearest = min(nearest, float(margin.min()))
    assert 0.0 <= nearest < 0.05
    # moments of inertia are not negative; cuts come nearer to that with every round, from -1
    assert built.bounds.lower[4] > -0.05 and built.bounds.lower[9] > -0.05


def test_small_steps_of_a_stream_add_up_to_a_cut() -> None:
    """A first moment that every window shortens by less than a hundredth: only cuts tell inertia of it."""
    centre, radius = known_box(load_robot("kinova_gen3"), CERTAIN)
    found = identify_body(7, 6, centre, radius, PriorConfig().bounds)
    built = FeasibleSet(found, SetMembershipConfig())
    rows, radii = np.zeros((1, 7, 105)), np.zeros((1, 7, len(CAUSES)))
    rows[0, 0, found.body_slice][3] = 1.0
    radii[0, 0, 0] = 1.0
    for k in range(60):
        rows[0, 0, found.motor_slice("torque gain")][0] = 1.104 + 0.004 * k  # a gain of 1: m cz <= -0.104 - 0.004 k
        nothing = np.zeros((1, 7, 3, 3)), np.zeros(10)
        built.step(MomentumRows(np.zeros((1, 2)), rows.copy(), radii.copy(), *nothing), np.array([k]))
    assert built.bounds.upper[3] == pytest.approx(-0.34, abs=1e-6)
    assert (built.bounds.lower[[4, 6]] > 0.5 * 0.34**2 / 5.2).all()


def spoilt(kind: str) -> tuple[Robot, IntervalIdentifierConfig, JointSamples, float]:
    """Two seconds in which one assumption fails."""
    rng = np.random.default_rng(7)
    known = KnownRobotConfig()
    found = problem(rng, known, corner=False)
    errors = Errors(relative=0.005, absolute=0.02)
    samples = measure(found, rng, errors, rate=1000.0, duration=2.6)
    config = configuration(found, known, errors)
    change = float(samples.t[len(samples) // 2])
    tau = samples.tau.copy()
    if kind == "bias":
        tau[:, 3] += 4.0
    elif kind == "scale":
        tau *= 1.25
    elif kind == "armature":
        tau += 0.5 * found.p[84:91] * found.motion(samples.t - 1.0)[2]
    elif kind == "released":
        empty = found.p.copy()
        empty[60:70] = [1.28486427, -4.25e-05, 8.759e-05, -0.108660427, 0.0126, 0.0, 0.0134, 0.0, 0.0, 0.0014]
        light = replace(found, p=empty).torque(*found.motion(samples.t - 1.0))
        tau = np.where((samples.t > change)[:, None], light, tau)
    elif kind == "heavy":
        heavy = found.p.copy()
        heavy[60:70] *= 2.0
        tau = replace(found, p=heavy).torque(*found.motion(samples.t - 1.0))
    return found.robot, config, replace(samples, tau=tau), change


@pytest.mark.parametrize(
    ("kind", "blamed"),
    [
        ("bias", None),
        ("scale", None),
        ("armature", {"armature"}),
        ("released", None),
        ("heavy", {"prior of the body"}),
    ],
)
def test_a_failed_assumption_is_proven_and_nothing_is_claimed(kind: str, blamed: set[str] | None) -> None:
    robot, config, samples, change = spoilt(kind)
    pipeline = IntervalPipeline(robot, config)
    history = stream(pipeline, samples)
    last = history[-1]
    assert last.status is Status.INCONSISTENT and last.contradiction is not None
    assert np.isnan([last.lower, last.upper, last.nominal]).all()
    clash = last.contradiction
    assert clash.windows and clash.times.shape == (len(clash.windows), 2)
    assert clash.factors[clash.assumption] == min(clash.factors.values()) > 1.0
    assert blamed is None or clash.assumption in blamed
    assert clash.payload_changed == (kind == "released")
    if kind == "released":
        assert clash.change_time is not None and change <= clash.change_time + 1e-9 < change + 0.5
        assert "payload changed" in clash.sentence()
    first = next(result for result in history if result.status is Status.INCONSISTENT)
    assert first.contradiction is not None and (first.contradiction.times <= first.t + 1e-9).all()


@pytest.mark.parametrize("kind", ["released", "bias", "heavy"])
def test_a_change_within_one_block_is_told_apart(kind: str) -> None:
    robot, config, samples, change = spoilt(kind)
    found = IntervalPipeline(robot, config).identify(samples).contradiction
    assert found is not None and found.payload_changed == (kind == "released")
    if kind == "released":
        assert found.change_time is not None and change <= found.change_time + 1e-9 < change + 0.5


def test_a_torque_bias_is_not_called_a_changed_payload() -> None:
    """Here the ten windows after the clash agree with one another, but not on another body."""
    found = gen3_problem(np.random.default_rng(1), KnownRobotConfig())
    noise = NoiseConfig(
        torque_relative=(0.01,), velocity_error=(1e-5,), position_error=(1e-6,), acceleration=(12.0,),
        torque_rate=(400.0,),
    )  # fmt: skip
    samples = found.samples(1.0 + np.arange(1200) / 200.0)
    tau = samples.tau.copy()
    tau[:, 1] += 6.0
    pipeline = IntervalPipeline(found.robot, IntervalIdentifierConfig(noise=noise))
    last = stream(pipeline, replace(samples, tau=tau))[-1]
    assert last.status is Status.INCONSISTENT and last.contradiction is not None
    assert not last.contradiction.payload_changed
