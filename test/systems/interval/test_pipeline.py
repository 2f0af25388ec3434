# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from shared.noisy_payload import Errors, configuration, measure, problem
from shared.payload_problem import Problem

from sysid_nodes.data import JointSamples
from sysid_nodes.exceptions import CalibrationError, ConfigError, RobotError, SamplesError
from sysid_nodes.models.known_robot import KnownRobotConfig
from sysid_nodes.results import IdentificationResult, Status
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.interval.config import METHODS, IntervalIdentifierConfig, NoiseConfig, WindowConfig
from sysid_nodes.systems.interval.methods import BUILDERS
from sysid_nodes.systems.interval.momentum_rows import MomentumRows
from sysid_nodes.systems.interval.pipeline import IntervalPipeline
from sysid_nodes.systems.interval.unknowns import Unknowns

ERRORS = Errors()
KNOWN = KnownRobotConfig()
Setting = tuple[Problem, IntervalIdentifierConfig, JointSamples]


@pytest.fixture(scope="module")
def setting() -> Setting:
    rng = np.random.default_rng(0)
    found = problem(rng, KNOWN)
    return found, configuration(found, KNOWN, ERRORS), measure(found, rng, ERRORS, duration=1.5)


def ticking() -> Callable[[], float]:
    count = itertools.count()
    return lambda: 0.25 * next(count)


def feed(pipeline: IntervalPipeline, samples: JointSamples) -> list[IdentificationResult]:
    rows = zip(samples.t.tolist(), samples.q, samples.qd, samples.tau, strict=True)
    pushed = [pipeline.push(samples.names, t, q, qd, tau) for t, q, qd, tau in rows]
    return [result for result in pushed if result is not None]


def same(one: IdentificationResult, other: IdentificationResult) -> bool:
    """Bit for bit."""
    arrays = [(one.lower, other.lower), (one.upper, other.upper), (one.nominal, other.nominal)]
    arrays += [(one.excitation.singular_values, other.excitation.singular_values)]
    return all(a.tobytes() == b.tobytes() for a, b in arrays) and (
        one.status, one.t, one.window, one.samples_used, one.samples_rejected, one.solve_time, one.tightened,
        one.excitation.blind, one.excitation.condition_number,
    ) == (
        other.status, other.t, other.window, other.samples_used, other.samples_rejected, other.solve_time,
        other.tightened, other.excitation.blind, other.excitation.condition_number,
    )  # fmt: skip


def test_before_data_it_states_the_prior(setting: Setting) -> None:
    found, config, _ = setting
    result = IntervalPipeline(found.robot, config).result
    assert result.status is Status.WAITING and result.window == -1 and result.samples_used == 0
    np.testing.assert_array_equal(result.lower, config.prior.lower)


def test_the_same_messages_give_the_same_bits_and_reset_starts_over(setting: Setting) -> None:
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, config, clock=ticking())
    first = feed(pipeline, samples)
    second = feed(IntervalPipeline(found.robot, config, clock=ticking()), samples)
    pipeline.reset()
    assert pipeline.result.status is Status.WAITING and pipeline.history == [] and not pipeline.samples_rejected
    third = feed(pipeline, samples)
    assert len(first) == len(second) == len(third) > 10
    assert all(same(a, b) for a, b in zip(first, second, strict=True))
    assert all(
        same(replace(a, solve_time=0.25), replace(b, solve_time=0.25)) for a, b in zip(first, third, strict=True)
    )


def test_every_message_is_used_or_rejected_once(setting: Setting) -> None:
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, config)
    rng = np.random.default_rng(1)
    pushed = 0
    for k, t in enumerate(samples.t.tolist()):
        q, qd, tau, names, repeat = samples.q[k].copy(), samples.qd[k], samples.tau[k].copy(), samples.names, 1
        match int(rng.integers(25)):
            case 0:
                q[3] = np.nan
            case 1:
                tau = tau[:0]
            case 2:
                names = (*names[:-1], "other")
            case 3:
                repeat = 2
            case 4:
                t -= 0.5
            case 5 if k > 100:
                tau[2] += 500.0  # a spike: the whole window contradicts the stated torque rate
        for _ in range(repeat):
            pipeline.push(names, t, q, qd, tau)
            pushed += 1
    result = pipeline.finish()
    rejected = dict(result.samples_rejected)
    assert {"not finite", "missing effort", "missing joint", "duplicate stamp", "backward stamp"} <= set(rejected)
    assert rejected["torque rate above its bound"] > 0
    assert result.samples_used + sum(rejected.values()) == pushed


def test_spoilt_messages_between_good_ones_change_nothing(setting: Setting) -> None:
    found, config, samples = setting
    clean, dirty = (IntervalPipeline(found.robot, config) for _ in range(2))
    feed(clean, samples)
    for t, q, qd, tau in zip(samples.t.tolist(), samples.q, samples.qd, samples.tau, strict=True):
        dirty.push(samples.names, t, np.full(7, np.inf), qd, tau)
        dirty.push(samples.names[::-1], t, q[::-1], qd[::-1], tau[::-1])  # another joint order is fine
        dirty.push(samples.names, t, q + 1.0, qd, tau)  # the same stamp again
        dirty.push((), t, [], [], [])
    assert clean.result.lower.tobytes() == dirty.result.lower.tobytes()
    assert clean.result.upper.tobytes() == dirty.result.upper.tobytes()


def test_a_gap_costs_its_window_only(setting: Setting) -> None:
    found, config, samples = setting
    hole = (samples.t < samples.t[200]) | (samples.t > samples.t[200] + 0.2)
    part = JointSamples(samples.names, *(a[hole] for a in (samples.t, samples.q, samples.qd, samples.tau)))
    pipeline = IntervalPipeline(found.robot, config)
    feed(pipeline, part)
    result = pipeline.finish()
    assert result.samples_rejected["gap"] > 0
    assert (result.lower <= found.theta).all() and (found.theta <= result.upper).all()


def test_the_block_has_the_windows_of_the_stream(setting: Setting) -> None:
    found, config, samples = setting
    once, slowly = (IntervalPipeline(found.robot, config) for _ in range(2))
    result = once.identify(samples)
    feed(slowly, samples)
    ended = slowly.finish()
    assert (result.window, result.samples_used) == (ended.window, ended.samples_used)
    assert dict(result.samples_rejected) == dict(ended.samples_rejected)
    np.testing.assert_allclose(
        result.excitation.singular_values,
        ended.excitation.singular_values,
        rtol=0.03,  # rows are weighed by their radius, which is narrowest about the estimate so far
    )


def test_a_log_shorter_than_a_window_claims_nothing(setting: Setting) -> None:
    found, config, samples = setting
    result = IntervalPipeline(found.robot, config).identify(samples.slice(0, 5))
    assert result.status is Status.WAITING and result.samples_rejected == {"incomplete window": 5}


def test_a_static_arm_is_not_excited(setting: Setting) -> None:
    found, config, _ = setting
    q = np.array([0.1, 0.6, -0.2, 1.2, 0.3, 0.9, 0.0])
    t = 1.0 + np.arange(300) / 250.0
    held = np.tile(q, (300, 1)), np.zeros((300, 7))
    # at rest friction is anything up to F_c: a third of it is as good as none
    tau = found.torque(*held, np.zeros((300, 7)))
    result = IntervalPipeline(found.robot, config).identify(JointSamples(found.robot.joint_names, t, *held, tau))
    assert result.status is Status.NOT_EXCITED and result.excitation.condition_number == np.inf
    assert (result.lower <= found.theta).all() and (found.theta <= result.upper).all()


def test_noise_bounds_can_change_live(setting: Setting) -> None:
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, config)
    half = len(samples) // 2
    feed(pipeline, samples.slice(0, half))
    wider = replace(config, noise=replace(config.noise, torque_relative=(0.05,)))
    pipeline.reconfigure(wider)
    feed(pipeline, samples.slice(half, len(samples)))
    assert pipeline.config is wider and pipeline.noise.torque_relative[0] == 0.05
    assert (pipeline.result.lower <= found.theta).all() and (found.theta <= pipeline.result.upper).all()


def test_bounds_stated_before_a_change_are_told_until_a_reset(setting: Setting) -> None:
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, config)
    wider = replace(config, noise=replace(config.noise, torque_relative=(0.05,)))
    pipeline.reconfigure(wider)
    pipeline.reconfigure(config)
    assert not any("assumed instead" in line for line in pipeline.assumptions()), "no data rest on it"
    feed(pipeline, samples.slice(0, 200))
    pipeline.reconfigure(wider)
    text = " ".join(pipeline.assumptions())
    assert "wrong by at most 5 % of the reading" in text
    told = f"Of the data up to t = {pipeline.result.t:.3f} s this was assumed instead: A torque reading is wrong by at"
    assert f"{told} most 1 % of the reading" in text
    assert "instead: A position" not in text, "that did not change"
    pipeline.reset()
    assert "assumed instead" not in " ".join(pipeline.assumptions())


def test_small_steps_add_up_to_news_and_what_counts_can_change_live(setting: Setting) -> None:
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, config)
    told = 2.0 * config.prior.bounds.half_width
    for share, part in ((0.4, slice(0, 250)), (0.05, slice(250, len(samples)))):
        pipeline.reconfigure(replace(config, set_membership=replace(config.set_membership, min_shrink=share)))
        news = 0
        for result in feed(pipeline, samples.slice(part.start, part.stop)):
            width = result.upper - result.lower
            assert result.tightened == bool((told - width > share * told).any())
            told = width if result.tightened else told
            news += result.tightened
        assert news


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"window": WindowConfig(duration=0.2)}, "'window.duration' cannot change while the identifier runs"),
        ({"method": "sensitivity"}, "'method' cannot change"),
        ({"known_robot": KnownRobotConfig(gain_relative=(0.1,))}, "'known_robot.gain_relative' cannot change"),
        ({"noise": NoiseConfig(torque_interpolation="hold")}, "'noise.torque_interpolation' cannot change"),
        ({"noise": NoiseConfig(velocity_error=(1.0, 2.0))}, "'noise.velocity_error' needs 1 or 7 numbers, got 2"),
    ],
)
def test_a_refused_change_leaves_everything_as_it_was(
    setting: Setting, change: dict[str, object], message: str
) -> None:
    found, config, _ = setting
    pipeline = IntervalPipeline(found.robot, config)
    noise = pipeline.noise
    with pytest.raises(ConfigError, match=message):
        pipeline.reconfigure(replace(config, **change))  # type: ignore[arg-type]
    assert pipeline.config is config and pipeline.noise is noise


@pytest.mark.parametrize(
    ("robot", "changes", "error", "message"),
    [
        ("kinova_gen3", {"body": "nose"}, RobotError, "has no link 'nose'"),
        (
            "kinova_gen3",
            {"noise": NoiseConfig(torque_rate=(1.0, 2.0))},
            ConfigError,
            "'noise.torque_rate' needs 1 or 7",
        ),
        ("kinova_gen3", {"known_robot": KnownRobotConfig(coulomb=(1.0, 2.0))}, ConfigError, "'known_robot.coulomb'"),
        ("kinova_gen3", {"calibration": "none.json", "target": "payload"}, CalibrationError, "No such file"),
        ("go2", {}, RobotError, "floating base"),
    ],
)
def test_a_configuration_that_does_not_fit_the_robot(
    robot: str, changes: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        IntervalPipeline(load_robot(robot), replace(IntervalIdentifierConfig(), **changes))  # type: ignore[arg-type]


def test_every_method_of_the_configuration_can_be_built(setting: Setting) -> None:
    found, config, samples = setting
    assert tuple(BUILDERS) == METHODS
    for method in METHODS:
        pipeline = IntervalPipeline(found.robot, replace(config, method=method))
        assert pipeline.identify(samples).samples_used > 0


class KeepsThePrior:
    """The least that satisfies `Method`."""

    certified = False
    assumptions = ("Nothing is learnt.",)
    contradiction = None

    def __init__(self, unknowns: Unknowns) -> None:
        self.bounds = unknowns.prior

    def step(self, rows: MomentumRows, *_: object) -> bool:
        return len(rows.t) > 0

    def nominal(self, *_: object) -> np.ndarray:
        return self.bounds.centre

    def costs(self) -> dict[str, np.ndarray]:
        return {}

    def reconfigure(self, *_: object) -> None: ...


def test_a_third_method_needs_a_class_and_a_name(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    found, config, samples = setting
    monkeypatch.setitem(BUILDERS, "prior", lambda unknowns, _config, _calibration: KeepsThePrior(unknowns))
    pipeline = IntervalPipeline(found.robot, replace(config, method="prior"))
    pipeline.reconfigure(pipeline.config)
    result = pipeline.identify(samples)
    assert result.status is Status.ESTIMATED and result.tightened and pipeline.history == [result]
    np.testing.assert_array_equal(result.lower, config.prior.lower)
    assert pipeline.assumptions()[-1] == "Nothing is learnt."


def test_a_block_of_other_joints_is_refused(setting: Setting) -> None:
    found, config, samples = setting
    turned = JointSamples(samples.names[::-1], samples.t, samples.q, samples.qd, samples.tau)
    with pytest.raises(SamplesError, match="in another order than the robot's"):
        IntervalPipeline(found.robot, config).identify(turned)


def test_predicted_torque_is_near_the_measured_one(setting: Setting) -> None:
    found, config, samples = setting
    pipeline = IntervalPipeline(found.robot, config)
    empty = pipeline.prediction()
    assert empty.t.size == 0
    feed(pipeline, samples)
    prediction = pipeline.prediction()
    assert prediction.measured.shape == prediction.predicted.shape == prediction.radius.shape == (prediction.t.size, 7)
    rms = np.sqrt(np.mean((prediction.measured - prediction.predicted) ** 2, axis=0))
    assert (rms < 0.05 * np.abs(prediction.measured).max(axis=0) + 0.2).all()


def test_assumptions_state_the_numbers_in_force(setting: Setting) -> None:
    found, config, _ = setting
    text = " ".join(IntervalPipeline(found.robot, config).assumptions())
    assert "1 % of the reading" in text and "within 5 %" in text and "[1.2, 5.2] kg" in text
    assert "but for the jump when friction changes its sign." in text and "N m/s2" not in text
    smooth = replace(config, noise=replace(config.noise, torque_curvature=(900.0,)))
    words = " ".join(IntervalPipeline(found.robot, smooth).assumptions())
    assert "and that rate, while no joint reverses, by at most 900 N m/s2; at the samples it may jump." in words
    smooth = replace(config, noise=replace(config.noise, torque_curvature=(900.0, *6 * (0.0,))))
    words = " ".join(IntervalPipeline(found.robot, smooth).assumptions())
    assert "by at most 0 to 900 (by joint) N m/s2 (0: not assumed); at the samples it may jump." in words
    held = replace(config, noise=replace(config.noise, torque_interpolation="hold"))
    assert "constant from one stamp to the next" in " ".join(IntervalPipeline(found.robot, held).assumptions())
