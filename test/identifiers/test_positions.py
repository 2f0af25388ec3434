"""Positions bounded by encoder and velocity together: sound for every error pattern, far better when a joint moves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sysid_nodes.identifiers.positions import bound_positions

STEP = 3.5e-4
VELOCITY = 5e-5


def readings(seed: int, speed: float, rate: float, pattern: str) -> tuple[np.ndarray, ...]:
    """Truth and readings of two joints over three adjacent windows at errors of up to their bounds."""
    rng = np.random.default_rng(seed)
    t = np.cumsum(rng.uniform(0.5, 1.5, 91) / rate)
    acceleration = 3.0
    phase = rng.uniform(0.0, 6.0, 2)
    omega = acceleration / max(speed, 1e-9)
    q = rng.uniform(-3, 3, 2) - speed / omega * np.cos(omega * t[:, None] + phase)
    qd = speed * np.sin(omega * t[:, None] + phase)
    noise = {
        "random": rng.uniform(-1.0, 1.0, qd.shape),
        "plus": np.ones(qd.shape),
        "alternating": np.where(np.arange(91)[:, None] % 2, 1.0, -1.0) * np.ones(qd.shape),
    }[pattern]
    quantised = STEP * np.round(q / STEP)
    return t, q, qd, quantised, qd + VELOCITY * noise, np.full((90, 2), acceleration)


EDGES = np.array([[0, 30], [30, 60], [60, 90]])


@given(
    st.integers(0, 2**31),
    st.floats(1e-4, 2.0),
    st.sampled_from([200.0, 1000.0, 4000.0]),
    st.sampled_from(["random", "plus", "alternating"]),
)
def test_truth_is_within_the_error(seed: int, speed: float, rate: float, pattern: str) -> None:
    t, q, _, q_read, qd_read, acceleration = readings(seed, speed, rate, pattern)
    dt = np.diff(t)
    creep = dt[:, None] * VELOCITY + 0.25 * acceleration * dt[:, None] ** 2
    error = np.full((3, 2), 0.5 * STEP * (1.0 + 1e-9))
    found = bound_positions(q_read, qd_read, dt, EDGES, error, creep)
    assert found.possible.all()
    window = np.repeat(np.arange(3), 31)
    assert (np.abs(found.q - q[found.index]) <= found.error[window] + 1e-12).all()
    travelled = found.q[found.edges[:, 1]] - found.q[found.edges[:, 0]]
    assert (np.abs(travelled - (q[EDGES[:, 1]] - q[EDGES[:, 0]])) <= found.travel_error + 1e-12).all()
    assert (found.error <= error).all()


def test_a_moving_joint_is_known_better_than_its_encoder() -> None:
    t, _, _, q_read, qd_read, acceleration = readings(1, 0.5, 1000.0, "random")
    dt = np.diff(t)
    creep = dt[:, None] * VELOCITY + 1e-3 * acceleration * dt[:, None] ** 2
    found = bound_positions(q_read, qd_read, dt, EDGES, np.full((3, 2), 0.5 * STEP), creep)
    assert (found.error < 0.1 * STEP).all()


def test_a_wrong_velocity_is_impossible() -> None:
    t, _, _, q_read, qd_read, _ = readings(2, 0.5, 1000.0, "random")
    dt = np.diff(t)
    creep = dt[:, None] * VELOCITY * np.ones(2)
    found = bound_positions(q_read, -qd_read, dt, EDGES, np.full((3, 2), 0.5 * STEP), creep)
    assert not found.possible.any()


def test_without_a_useful_velocity_the_readings_stay() -> None:
    t, _, _, q_read, qd_read, _ = readings(3, 0.5, 1000.0, "random")
    error = np.full((3, 2), 0.5 * STEP)
    found = bound_positions(q_read, qd_read, np.diff(t), EDGES, error, np.full((90, 2), 1e6))
    assert (found.q == q_read[found.index]).all()
    assert (found.error == error).all()
    assert (found.travel_error == 2.0 * error).all()
