# SPDX-License-Identifier: Apache-2.0
"""Every cause of error alone must be covered by its own radius: a term forgotten in one must not hide behind another.

The truth is integrated exactly along motions whose acceleration jumps between its bounds; see shared/row_scene.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pytest
from shared.quick_and_slow import mark_slow
from shared.rough_motion import RoughMotion
from shared.row_scene import Scene, impulse_between, random_tree, scene, silent, spinner, worst_signs

from sysid_nodes.data import Bounds, JointSamples
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.kernel import IMPLEMENTATIONS, window_samples
from sysid_nodes.models.chain import Chain
from sysid_nodes.models.known_robot import KnownRobotConfig, known_box
from sysid_nodes.robots import load_robot
from sysid_nodes.robots.robot import Robot
from sysid_nodes.systems.interval.config import NoiseConfig
from sysid_nodes.systems.interval.error_radius import POSITION, SAMPLING, VELOCITY
from sysid_nodes.systems.interval.measured_windows import sign_certain
from sysid_nodes.systems.interval.momentum_rows import (
    FRICTION_SIGN,
    ROUNDING,
    TORQUE_ABSOLUTE,
    TORQUE_RATE,
    TORQUE_RELATIVE,
    body_norms,
)
from sysid_nodes.systems.interval.noise import Noise
from sysid_nodes.systems.interval.reach import Reach
from sysid_nodes.systems.interval.row_builder import RowBuilder
from sysid_nodes.systems.interval.unknowns import identify_body, prismatic_travel

Array = npt.NDArray[np.float64]

ROBOTS = ("kinova_gen3", "ur10", "panda", "z1", "tree")
PATTERNS = ("plus", "alternating", "random", "windows", "worst")


def robot(name: str, rng: np.random.Generator) -> Robot:
    return random_tree(rng) if name == "tree" else load_robot(name)


def bounded(found: Scene, **errors: float | Array) -> Noise:
    """No error but the ones given; accelerations as they are."""
    n = found.robot.n
    limit = np.abs(found.motion.acceleration).max(axis=0)
    spread = {name: np.full(n, value) if name not in ("stamp", "hold") else value for name, value in errors.items()}
    return replace(silent(n), acceleration=limit, **spread)


def imbalance(found: Scene, noise: Noise, q: Array, qd: Array) -> tuple[Array, Array]:
    """(W, n) error of the rows at the true parameters, torque taken as exact, and their whole radius."""
    rows = found.builder(noise).build(found.samples(q, qd), found.edges)
    return rows.coefficients @ found.p - found.impulse, rows.total_radius(found.body)


def signs(pattern: str, found: Scene, rng: np.random.Generator, joint: int, *, of_velocity: bool) -> Array:
    shape = (len(found.t), found.robot.n)
    count = np.arange(shape[0])[:, None]
    if pattern == "worst":
        return worst_signs(found, *found.readings(), joint, of_velocity=of_velocity)
    common = rng.choice([-1.0, 1.0], shape[1])
    return {
        "plus": common * np.ones(shape),
        "alternating": common * np.where(count % 2, 1.0, -1.0),
        "windows": common * np.where(count < found.edges[0, 1], 1.0, -1.0),
        "random": rng.choice([-1.0, 1.0], shape),
    }[pattern]


@pytest.mark.parametrize("name", ROBOTS)
def test_sampling_error_is_covered_by_its_radius(name: str) -> None:
    rng = np.random.default_rng(1)
    largest = 0.0
    cases = ((0.3, 0.1, 0.01), (10.0, 1.0, 0.002), (80.0, 3.0, 0.005), (80.0, 0.2, 0.02), (0.01, 4.0, 0.02))
    for acceleration, speed, dt in cases:
        found = scene(robot(name, rng), rng, acceleration=acceleration, speed=speed, dt=dt, duration=4.0 * dt)
        q, qd = found.readings()
        rows = found.builder(bounded(found)).build(found.samples(q, qd), found.edges)
        error = np.abs(rows.coefficients @ found.p - found.impulse)
        # 1e-11: the truth itself is a quadrature in double precision
        allowed = found.share(rows, SAMPLING) + found.share(rows, ROUNDING) + 1e-11
        assert (error <= allowed).all()
        largest = max(largest, float((error / allowed).max()))
    assert largest > 1e-3  # worst cases of all joints at once are rare in motions at random


REGIMES = {
    "momentum": {"acceleration": 20.0, "speed": 3.0, "dt": 0.003, "duration": 0.006, "motors": 0.0},
    "gravity": {"acceleration": 1e-3, "speed": 1e-3, "dt": 0.02, "duration": 0.4, "motors": 0.0},
    "inertia": {"acceleration": 20.0, "speed": 3.0, "dt": 0.01, "duration": 0.1, "motors": 0.0},
    "motors": {"acceleration": 1.0, "speed": 0.01, "dt": 0.003, "duration": 0.006, "motors": 5.0},
}
"""Short windows show the momenta at their ends, still arms gravity, fast ones velocity products; these with another
body in mind than the true one."""


@pytest.mark.parametrize("name", mark_slow(ROBOTS, but=ROBOTS[-2:]))
@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.parametrize(("cause", "size"), [(POSITION, 1e-3), (VELOCITY, 3e-3)])
def test_reading_error_is_covered_by_its_radius(name: str, regime: str, cause: str, size: float) -> None:
    rng = np.random.default_rng(2)
    found = scene(robot(name, rng), rng, **REGIMES[regime])
    q, qd = found.readings()
    noise = bounded(found, **{"position" if cause == POSITION else "velocity": size})
    builder = found.builder(noise)
    about = found.body.lower * rng.uniform(0.0, 2.0) if regime == "inertia" else None
    exact = found.builder(bounded(found)).build(found.samples(q, qd), found.edges)
    cases = [(pattern, 0) for pattern in PATTERNS] + [("worst", joint) for joint in (1, 2, found.robot.n - 1)]
    for pattern, joint in cases:
        error = size * signs(pattern, found, rng, joint, of_velocity=cause == VELOCITY)
        read = (q + error, qd) if cause == POSITION else (q, qd + error)
        rows = builder.build(found.samples(*read), found.edges, about)
        change = np.abs((rows.coefficients - exact.coefficients) @ found.p)
        allowed = found.share(rows, cause) + found.share(rows, ROUNDING)
        assert (change <= allowed).all()


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("late", ["all", "none", "random", "ends"])
def test_stamp_error_is_covered(name: str, late: str) -> None:
    rng = np.random.default_rng(3)
    for stamp, speed in ((1e-4, 2.0), (5e-3, 0.02)):
        found = scene(robot(name, rng), rng, acceleration=30.0, speed=speed, dt=0.002)
        count = np.arange(len(found.t))
        shift = {
            "all": np.ones(count.size),
            "none": -np.ones(count.size),
            "random": rng.uniform(-1.0, 1.0, count.size),
            "ends": np.where(count < found.edges[0, 1], 1.0, -1.0),
        }[late]
        error, radius = imbalance(found, bounded(found, stamp=stamp), *found.readings(stamp * shift))
        assert (np.abs(error) <= radius).all()


def test_stamp_error_of_slow_readings_counts_the_speed_in_between() -> None:
    """All readings are taken where the joint rests; at their stamps, 5 ms away, it moves with 0.05 rad/s."""
    arm, stamp, rate = spinner(1e-6), 5e-3, 10.0
    nominal, radius = known_box(arm, KnownRobotConfig(viscous=(5.0,), coulomb=(0.0,), armature=(0.0,), offset=(0.0,)))
    theta = nominal[:10]
    unknowns = identify_body(1, 0, nominal, np.zeros_like(radius), Bounds(theta - 1e-9, theta + 1e-9))
    noise = replace(silent(1), acceleration=np.full(1, rate), stamp=stamp)
    chain = Chain.from_robot(arm)
    t = 1.0 + 1e-3 * np.arange(11)

    def truth(when: Array) -> tuple[Array, Array]:
        away = (when - t[5])[:, None]
        return 0.5 * rate * away * np.abs(away), rate * np.abs(away)

    q, qd = truth(np.clip(t[5], t - stamp, t + stamp))
    edges = np.array([[0, 10]], dtype=np.intp)
    rows = RowBuilder(chain, Reach(chain, np.zeros(chain.n)), noise, unknowns).build(
        JointSamples(arm.joint_names, t, q, qd, np.zeros((11, 1))), edges
    )
    true = truth(t)
    impulse = nominal[:10][9] * (true[1][-1] - true[1][0]) + 5.0 * (true[0][-1] - true[0][0])
    assert abs(rows.coefficients @ nominal - impulse)[0, 0] <= rows.total_radius(Bounds(theta, theta))[0, 0]


@pytest.mark.parametrize("speed", [0.02, 0.3])
def test_coulomb_friction_through_reversals(speed: float) -> None:
    rng = np.random.default_rng(4)
    unsure = 0
    for velocity_error in (0.0, 5e-3):
        found = scene(load_robot("kinova_gen3"), rng, acceleration=5.0, speed=speed, dt=0.004, coulomb=20.0)
        q, qd = found.readings()
        noise = bounded(found, velocity=velocity_error)
        read = qd + velocity_error * rng.choice([-1.0, 1.0], qd.shape)
        rows = found.builder(noise).build(found.samples(q, read), found.edges)
        exact = found.builder(noise).build(found.samples(q, qd), found.edges)
        friction = np.einsum("wkk,k->wk", rows.coefficients[:, :, 70:77], found.p[70:77])
        stated = np.array([found.p[70:77] * found.motion.direction(*found.t[edge]) for edge in found.edges])
        assert (np.abs(friction - stated) <= found.share(rows, FRICTION_SIGN) + 1e-12).all()
        assert (np.abs(exact.coefficients @ found.p - found.impulse) <= exact.total_radius(found.body)).all()
        unsure += int((found.share(rows, FRICTION_SIGN) > 0.0).sum())
    assert unsure > 0


def test_a_torque_that_turns_over_with_friction_is_off_by_twice_its_size() -> None:
    """The torque steps from one side of friction to the other right after a reading, and brakes the joint until the
    next: friction counts as unknown, the trapezoid as zero, and both are wrong by F_c dt."""
    coulomb, step, arm = 2.0, 1e-3, spinner(0.05)
    nominal, radius = known_box(
        arm, KnownRobotConfig(viscous=(0.0,), coulomb=(coulomb,), armature=(0.0,), offset=(0.0,))
    )
    theta = nominal[:10]
    unknowns = identify_body(1, 0, nominal, np.zeros_like(radius), Bounds(theta - 1e-9, theta + 1e-9))
    slowing = 2.0 * coulomb / theta[9]
    noise, chain = replace(silent(1), acceleration=np.full(1, slowing)), Chain.from_robot(arm)
    qd = np.array([[-slowing * step], [0.0]])
    samples = JointSamples(
        arm.joint_names, np.array([0.0, step]), 0.5 * step * qd[::-1], qd, np.array([[-coulomb], [coulomb]])
    )
    rows = RowBuilder(chain, Reach(chain, np.zeros(1)), noise, unknowns).build(
        samples, np.array([[0, 1]], dtype=np.intp)
    )
    error = abs(rows.coefficients @ nominal)[0, 0]
    assert error == pytest.approx(2.0 * coulomb * step, rel=1e-6)
    assert error <= rows.total_radius(Bounds(theta, theta))[0, 0] * (1.0 + 1e-9)


def test_friction_is_certain_away_from_standstill() -> None:
    rng = np.random.default_rng(5)
    found = scene(load_robot("kinova_gen3"), rng, acceleration=0.5, speed=1.0, dt=0.002, coulomb=20.0)
    q, qd = found.readings()
    rows = found.builder(bounded(found)).build(found.samples(q, qd), found.edges)
    fast = np.array([np.abs(qd[a : b + 1]).min(axis=0) > 0.01 for a, b in found.edges])
    assert fast.any() and (found.share(rows, FRICTION_SIGN)[fast] == 0.0).all()


@pytest.mark.parametrize(("relative", "absolute"), [(0.025, 0.0), (0.0, 0.3), (0.5, 0.1)])
def test_torque_noise_is_covered_by_its_radius(relative: float, absolute: float) -> None:
    rng = np.random.default_rng(6)
    found = scene(load_robot("kinova_gen3"), rng, acceleration=1.0, speed=0.5, dt=0.002, gain=3.0)
    q, qd = found.readings()
    noise = bounded(found, torque_relative=relative, torque_absolute=absolute)
    reading = rng.normal(size=q.shape) * 20.0
    for sign in (rng.choice([-1.0, 1.0], q.shape), np.sign(reading), np.ones_like(q)):
        truth = reading + sign * (relative * np.abs(reading) + absolute)
        rows, exact = (found.builder(noise).build(found.samples(q, qd, tau), found.edges) for tau in (reading, truth))
        change = np.abs((rows.coefficients - exact.coefficients) @ found.p)
        allowed = found.share(rows, TORQUE_RELATIVE) + found.share(rows, TORQUE_ABSOLUTE)
        assert (change <= allowed * (1.0 + 1e-9)).all()
    assert change.max() > 0.99 * allowed.max()  # one sign all along reaches the bound


def test_torque_between_samples_is_covered_by_its_radius() -> None:
    """Torque that leaves each reading at the stated rate and returns to the next, read in time or too late."""
    rng = np.random.default_rng(7)
    found = scene(load_robot("kinova_gen3"), rng, acceleration=1.0, speed=0.5, dt=0.004)
    q, qd = found.readings()
    rate, late = 100.0, 1e-3
    knots = np.sort(np.concatenate([found.t, 0.5 * (found.t[1:] + found.t[:-1])]))
    wave = np.zeros(knots.size)
    wave[1::2] = 0.5 * rate * np.diff(found.t)
    # `knots` are often enough for an exact trapezoid of the wave between stamps
    area = 0.5 * np.diff(knots) * (wave[1:] + wave[:-1])
    exact = np.array([area[2 * first : 2 * last].sum() for first, last in found.edges])
    for stamp in (0.0, late):
        read = np.interp(found.t + stamp, knots, wave)
        noise = bounded(found, torque_rate=rate, stamp=stamp)
        rows = found.builder(noise).build(found.samples(q, qd, read[:, None] * np.ones(7)), found.edges)
        impulse = -np.einsum("wkk->wk", rows.coefficients[:, :, 98:])
        error, allowed = np.abs(impulse - exact[:, None]), found.share(rows, TORQUE_RATE)
        assert (error <= allowed * (1.0 + 1e-9)).all()
        if not stamp:
            assert (error > 0.99 * allowed).all()
    # a ramp read too late is wrong by rate * stamp all along
    late = 8e-3
    noise = bounded(found, torque_rate=rate, stamp=late)
    ramp = [(rate * (found.t + shift))[:, None] * np.ones(7) for shift in (0.0, late)]
    rows = [found.builder(noise).build(found.samples(q, qd, tau), found.edges) for tau in ramp]
    error = np.abs(np.einsum("wkk->wk", (rows[1].coefficients - rows[0].coefficients)[:, :, 98:]))
    assert (error <= found.share(rows[1], TORQUE_RATE) * (1.0 + 1e-9)).all()


@pytest.mark.parametrize("until", [False, True])
@pytest.mark.parametrize("late", [-1.0, 1.0, 0.0])
def test_held_torque_with_late_stamps(late: float, until: bool) -> None:
    """A disc driven by torque steps: its acceleration is the torque's, so that everything is exact by hand."""
    rng = np.random.default_rng(8)
    arm, inertia = spinner(0.2), 0.2
    nominal, radius = known_box(arm, KnownRobotConfig(viscous=(0.0,), coulomb=(0.0,), armature=(0.3,), offset=(0.0,)))
    theta = nominal[:10]
    unknowns = identify_body(1, 0, nominal, np.zeros_like(radius), Bounds(theta - 1e-9, theta + 1e-9))
    chain = Chain.from_robot(arm)
    for stamp in (0.0, 1e-5, 2e-3):
        motion = RoughMotion.random(rng, np.zeros(1), np.full(1, 30.0), np.full(1, 2.0), 0.2, 0.004)
        switch = motion.knots[5:-5]
        shift = late if late else rng.uniform(-1.0, 1.0, switch.size)
        t = np.sort(switch + stamp * shift)
        q, qd, qdd = motion(switch)
        truth = (inertia + 0.3) * qdd
        error = rng.choice([-1.0, 1.0], truth.shape)
        tau = (truth + 0.01 * error) / (1.0 - 0.02 * error * np.sign(truth + 0.01 * error))
        if until:
            tau = np.roll(tau, 1, axis=0)  # the first one acted before the first sample
        noise = replace(
            silent(1), acceleration=np.full(1, 30.0), stamp=stamp, hold=True, until=until,
            torque_relative=np.full(1, 0.02), torque_absolute=np.full(1, 0.01),
        )  # fmt: skip
        builder = RowBuilder(chain, Reach(chain, np.zeros(chain.n)), noise, unknowns)
        samples = JointSamples(arm.joint_names, t, q, qd, tau)
        edges = np.array([[0, 10], [10, 20], [20, t.size - 1]], dtype=np.intp)
        rows = builder.build(samples, edges)
        assert (np.abs(rows.coefficients @ nominal) <= rows.total_radius(Bounds(theta, theta))).all()
        assert not any(mask.any() for mask in builder.violations(samples, edges).values())


@pytest.mark.parametrize("start", [0.0, 1.7e9 + 0.1])
def test_the_gate_lets_every_window_pass_that_keeps_the_assumptions(start: float) -> None:
    """Also with stamps since 1970, which double precision rounds to a quarter of a microsecond."""
    rng = np.random.default_rng(9)
    for position, velocity, stamp in ((0.0, 0.0, 0.0), (1e-4, 1e-3, 0.0), (1e-5, 1e-4, 1e-3)):
        found = scene(load_robot("kinova_gen3"), rng, acceleration=60.0, speed=3.0, dt=0.001, start=start)
        for pattern in ("alternating", "random"):
            sign = signs(pattern, found, rng, 0, of_velocity=False)
            q, qd = found.readings(stamp * sign[:, 0])
            noise = bounded(found, position=position, velocity=velocity, stamp=stamp, torque_rate=0.0)
            samples = found.samples(q + position * sign, qd + velocity * sign)
            failed = found.builder(noise).violations(samples, found.edges)
            assert not any(mask.any() for mask in failed.values()), failed


def test_the_gate_takes_friction_jumps_and_noise_for_what_they_are() -> None:
    rng = np.random.default_rng(10)
    found = scene(load_robot("kinova_gen3"), rng, acceleration=5.0, speed=0.2, dt=0.002, coulomb=20.0)
    q, qd = found.readings()
    tau = found.p[70:77] * np.sign(qd)
    tau = tau + rng.choice([-1.0, 1.0], tau.shape) * (0.01 * np.abs(tau) + 0.1) / 1.02
    noise = bounded(found, torque_relative=0.01, torque_absolute=0.1)
    failed = found.builder(noise).violations(found.samples(q, qd, tau), found.edges)
    assert not failed["torque rate above its bound"].any()


@pytest.mark.parametrize(
    ("what", "reason"),
    [
        ("velocity", "acceleration above its bound"),
        ("position", "velocity at odds with position"),
        ("torque", "torque rate above its bound"),
    ],
)
def test_the_gate_names_the_window_and_the_assumption(what: str, reason: str) -> None:
    rng = np.random.default_rng(11)
    found = scene(load_robot("kinova_gen3"), rng, acceleration=5.0, speed=0.5, dt=0.002)
    q, qd = found.readings()
    tau = np.zeros_like(q)
    sample = found.edges[1, 0] + 5
    {"velocity": qd, "position": q, "torque": tau}[what][sample, 3] += 0.2
    failed = found.builder(bounded(found)).violations(found.samples(q, qd, tau), found.edges)
    assert failed[reason].tolist() == [False, True]


@pytest.mark.parametrize(("share", "seen"), [(0.99, False), (1.01, True)])
def test_the_gate_allows_torques_what_changes_while_stamps_are_off(share: float, seen: bool) -> None:
    """200 N m/s from one sample to the next, and for a stamp's error of 1 ms at either of them."""
    found = scene(load_robot("kinova_gen3"), np.random.default_rng(11), acceleration=5.0, speed=0.5, dt=0.002)
    q, qd = found.readings()
    tau, sample = np.zeros_like(q), found.edges[1, 0] + 5
    tau[sample:, 3] += share * 200.0 * (found.t[sample] - found.t[sample - 1] + 0.002)
    noise = replace(bounded(found, torque_rate=200.0, stamp=1e-3), acceleration=np.full(7, 1e-3))  # certain signs
    failed = found.builder(noise).violations(found.samples(q, qd, tau), found.edges)
    assert failed["torque rate above its bound"].tolist() == [False, seen]


def test_the_gate_rejects_a_sliding_joint_outside_its_limits() -> None:
    """The radii count on the travel within the limits."""
    rng = np.random.default_rng(12)
    tree = random_tree(rng)
    sliding = int(np.flatnonzero(~Chain.from_robot(tree).tree.revolute)[0])
    found = scene(tree, rng, acceleration=1.0, speed=0.1, dt=0.005)
    q, qd = found.readings()
    q[:, sliding] += 5.0
    failed = found.builder(bounded(found)).violations(found.samples(q, qd), found.edges)
    assert failed["sliding joint beyond its limits"].all()
    # Not where it may have been read wrong, or late while it moved.
    travel, name = prismatic_travel(tree)[sliding], "sliding joint beyond its limits"
    for errors, far, beyond in (
        ({"position": 0.02}, 0.0199, False),
        ({"position": 0.02}, 0.0201, True),
        ({"stamp": 0.1}, 0.0999 * np.abs(qd[:, sliding]), False),
        ({"stamp": 0.1}, 0.1, True),  # at 0.1 m/s and 1 m/s2 that is for 0.5 s
    ):
        q[:, sliding] = travel + far
        failed = found.builder(bounded(found, **errors)).violations(found.samples(q, qd), found.edges)
        assert (failed[name] == beyond).all(), (errors, far)


@pytest.mark.parametrize("at", [0, -1])
def test_one_sample_outside_is_enough_at_either_end_of_a_window(at: int) -> None:
    rng = np.random.default_rng(12)
    tree = random_tree(rng)
    sliding = int(np.flatnonzero(~Chain.from_robot(tree).tree.revolute)[0])
    found = scene(tree, rng, acceleration=1.0, speed=0.1, dt=0.005)
    q, qd = found.readings()
    q[found.edges[-1, at], sliding] += 5.0
    window = found.edges[-1:]
    failed = found.builder(bounded(found)).violations(found.samples(q, qd), window)
    assert failed["sliding joint beyond its limits"].all()


def test_windows_of_a_block_give_the_same_rows_as_one_by_one() -> None:
    rng = np.random.default_rng(13)
    found = scene(load_robot("kinova_gen3"), rng, acceleration=5.0, speed=0.5, dt=0.002, coulomb=1.0)
    q, qd = found.readings()
    tau = rng.normal(size=q.shape)
    noise = bounded(found, torque_relative=0.02, position=1e-4, velocity=1e-3, torque_rate=50.0)
    builder = found.builder(noise)
    samples = found.samples(q, qd, tau)
    block = builder.build(samples, found.edges)
    for w, (first, last) in enumerate(found.edges):
        alone = builder.build(samples.slice(first, last + 1), np.array([[0, last - first]], dtype=np.intp))
        np.testing.assert_allclose(alone.coefficients[0], block.coefficients[w], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(alone.radius[0], block.radius[w], rtol=1e-9, atol=1e-15)
        np.testing.assert_allclose(alone.body_radius[0], block.body_radius[w], rtol=1e-9, atol=1e-15)


def test_noise_takes_half_an_encoder_step_where_no_position_error_is_given() -> None:
    noise = Noise.from_config(NoiseConfig(position_error=(0.0, 0.1)), 2, np.array([0.02, 0.02]))
    np.testing.assert_allclose(noise.position, [0.01, 0.1])


def test_noise_needs_one_number_or_one_a_joint() -> None:
    with pytest.raises(ConfigError, match=r"'noise.velocity_error' needs 1 or 3 numbers, got 2"):
        Noise.from_config(NoiseConfig(velocity_error=(0.1, 0.1)), 3, np.zeros(3))


def test_body_norms_bound_every_body_in_the_box() -> None:
    rng = np.random.default_rng(14)
    lower, upper = np.sort(rng.normal(size=(2, 10)), axis=0)
    mass, first, second = body_norms(lower, upper)
    for _ in range(100):
        theta = rng.uniform(lower, upper)
        inertia = np.zeros((3, 3))
        inertia[np.tril_indices(3)] = theta[4:]
        inertia = inertia + np.tril(inertia, -1).T
        assert abs(theta[0]) <= mass and np.linalg.norm(theta[1:4]) <= first
        assert np.linalg.norm(inertia, 2) <= second
    # The corner's own norms, no more: inertia by Frobenius.
    corner = np.maximum(np.abs(lower), np.abs(upper))
    inertia[np.tril_indices(3)] = corner[4:]
    inertia = np.tril(inertia) + np.tril(inertia, -1).T
    expected = (corner[0], np.linalg.norm(corner[1:4]), np.linalg.norm(inertia))
    assert (mass, first, second) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("late", [0.0, 1e-5])
def test_sampling_error_with_bounded_jerk_is_covered(name: str, late: float) -> None:
    """Acceleration jumps at the samples, or `late` beside them, and is constant in between: no jerk at all."""
    rng = np.random.default_rng(4)
    ratio = []
    for acceleration, speed, dt in ((0.3, 0.1, 0.01), (10.0, 1.0, 0.004), (80.0, 3.0, 0.005)):
        found = scene(robot(name, rng), rng, acceleration=acceleration, speed=speed, dt=dt, duration=0.2)
        knots = found.motion.knots
        inner = knots[(knots > found.t[0] + 1e-3) & (knots < found.t[-1] - 1e-3)]
        t = np.concatenate([found.t[:1], inner + rng.choice([-late, late], inner.size), found.t[-1:]])
        middle = len(t) // 2
        edges = np.array([[0, middle], [middle, len(t) - 1]])
        chain = Chain.from_robot(found.robot)
        impulse = np.array([impulse_between(chain, found.p, found.motion, t[a], t[b]) for a, b in edges])
        moved = replace(found, instants=t, t=t, edges=edges, impulse=impulse)
        q, qd = moved.readings()
        rough = moved.builder(bounded(moved, stamp=late)).build(moved.samples(q, qd), edges)
        smooth = moved.builder(bounded(moved, stamp=late, jerk=1e-9)).build(moved.samples(q, qd), edges)
        error = np.abs(smooth.coefficients @ moved.p - impulse)
        assert (error <= smooth.total_radius(moved.body) + 1e-11).all()
        ratio.append(float(moved.share(smooth, SAMPLING).mean() / moved.share(rough, SAMPLING).mean()))
    assert min(ratio) < 0.9  # the assumption buys something


def test_viscous_friction_with_a_power_of_the_speed_is_integrated_by_trapezia() -> None:
    """F_v |v|^p sign v between samples, joint by joint; of p = 1 the travel itself."""
    rng = np.random.default_rng(3)
    found = scene(robot("ur10", rng), rng, acceleration=4.0, speed=1.0, dt=0.01)
    power, n = np.array([0.5, 0.7, 1.0, 1.0, 1.0, 1.0]), found.robot.n
    chain, samples = Chain.from_robot(found.robot), found.samples(*found.readings())
    noise, reach = replace(silent(n), itemised=False), Reach(chain, prismatic_travel(found.robot))
    rows = RowBuilder(chain, reach, noise, found.unknowns, viscous_power=power).build(samples, found.edges)
    joints = np.arange(n)
    travelled = rows.coefficients[:, joints, 11 * n + joints]
    curve = np.sign(samples.qd) * np.abs(samples.qd) ** power
    for window, (first, last) in enumerate(found.edges):
        part = slice(first, last + 1)
        expected = np.trapezoid(curve[part], samples.t[part], axis=0)
        np.testing.assert_allclose(travelled[window, :2], expected[:2], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(travelled[window, 2:], (samples.q[last] - samples.q[first])[2:], atol=1e-9)


@pytest.mark.parametrize("kernel", IMPLEMENTATIONS)
def test_a_slow_sample_makes_the_sign_before_and_after_it_uncertain(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Within its error it may have gone the other way, however fast its neighbours went the same; so may a joint of
    which the bound on acceleration lets it stop between two samples."""
    if kernel == "compiled" and window_samples._windows is None:
        pytest.skip("the compiled kernel is not built")
    monkeypatch.setenv("SYSID_KERNEL", kernel)
    found = scene(spinner(0.1), np.random.default_rng(0), acceleration=1.0, speed=1.0, dt=0.01, duration=0.1)
    noise = replace(bounded(found, velocity=0.05), acceleration=np.ones(1))
    t, speed = 0.01 * np.arange(6), np.array([0.9, 0.9, 0.04, 0.9, 0.9, 0.9])[:, None]
    certain = sign_certain(JointSamples(("j",), t, 0.0 * speed, speed, 0.0 * speed), noise, 0.0)
    np.testing.assert_array_equal(certain[:, 0], [True, False, False, True, True])
    samples = JointSamples(("j",), 170.0 * t, 0.0 * speed, speed, 0.0 * speed)  # .85 rad/s are gone after 1.7 s / 2
    assert not sign_certain(samples, noise, 0.0).any()
    samples = JointSamples(("j",), 160.0 * t, 0.0 * speed, speed, 0.0 * speed)
    assert sign_certain(samples, noise, 0.0)[0, 0]
