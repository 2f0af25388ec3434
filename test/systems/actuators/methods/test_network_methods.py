# SPDX-License-Identifier: Apache-2.0
"""Networks and CMA-ES on a simulated servo, against commands that no training saw."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.servo_rig import Servo, bar, fourier_command, run_servo
from sysid_nodes.systems.actuators.config import ActuatorConfig, FittedConfig, MotionConfig
from sysid_nodes.systems.actuators.fit import fit_joint, known_law
from sysid_nodes.systems.actuators.method_config import NetworkConfig
from sysid_nodes.systems.actuators.methods import joint_method, smooth_joint
from sysid_nodes.systems.actuators.methods.apply import METHODS
from sysid_nodes.systems.actuators.methods.method import StructuredModel
from sysid_nodes.systems.actuators.preparation import JointMotion, prepare
from sysid_nodes.systems.actuators.replay import replay_error, replay_joint

CONFIG = ActuatorConfig(
    fitted=FittedConfig(gain=True, position_friction=False),
    motion=MotionConfig(step=2e-3),
    network=NetworkConfig(width=16, horizon=0.3, labels=60, iterations=20, judged=1.0),
)


@pytest.fixture(scope="module")
def rig() -> tuple[JointMotion, np.ndarray, JointMotion, JointMotion]:
    """A log, its fitted law, a held-out log of the same kind, and one far outside of the range of the first."""
    rng = np.random.default_rng(2)
    servo = Servo.draw(rng)

    def motion(duration: float, **more: float) -> JointMotion:
        t, command = fourier_command(duration, rng, **more)
        return prepare(run_servo(servo, t, command, rng=rng).log, bar(), CONFIG)[0]

    seen = motion(12.0)
    law = fit_joint(seen, known_law(CONFIG, 0), CONFIG, CONFIG.fitted.names).law
    return seen, law, motion(5.0, span=0.5, speed=2.0), motion(5.0, span=1.3, speed=4.2)


def test_a_residual_is_better_inside_and_no_worse_outside(
    rig: tuple[JointMotion, np.ndarray, JointMotion, JointMotion],
) -> None:
    seen, law, inside, outside = rig
    model = METHODS["residual"](smooth_joint(seen, law, CONFIG), law, CONFIG)
    assert model.weights["W2"].shape == (16, 16)
    for motion, most in ((inside, 0.95), (outside, 1.05)):
        plain = replay_error(motion, replay_joint(motion, law, CONFIG)).rmse
        replay = model.replay(motion)
        assert replay_error(motion, replay.position).rmse < most * plain
    assert model.replay(outside).outside > 0.1


def test_a_network_that_is_no_better_gives_way_to_the_law_and_says_so(
    rig: tuple[JointMotion, np.ndarray, JointMotion, JointMotion],
) -> None:
    seen, law, _, _ = rig
    lazy = replace(CONFIG, network=replace(CONFIG.network, labels=0, iterations=0))
    model = METHODS["network"](smooth_joint(seen, law, lazy), law, lazy)
    assert isinstance(model, StructuredModel)
    assert "the law alone is used" in model.findings[0]


def test_a_network_that_wins_on_the_end_of_its_log_alone_is_not_taken() -> None:
    """A servo of the benchmark, whose network was twice as good there and as bad on the next log of the same kind."""
    rng = np.random.default_rng(10)
    servo = Servo.draw(rng)
    config = ActuatorConfig(
        fitted=FittedConfig(gain=True, position_friction=False), motion=MotionConfig(step=2e-3),
        network=NetworkConfig(seed=10, iterations=40, labels=100),
    )  # fmt: skip
    kinds = ((20.0, {"span": 0.8, "speed": 3.0}), (10.0, {"span": 0.55, "speed": 2.2}))
    logs = [run_servo(servo, *fourier_command(duration, rng, **kind), rng=rng).log for duration, kind in kinds]
    seen, other = (prepare(log, bar(), config)[0] for log in logs)
    law = fit_joint(seen, known_law(config, 0), config, config.fitted.names).law
    model = METHODS["network"](smooth_joint(seen, law, config), law, config)
    plain = replay_error(other, replay_joint(other, law, config)).rmse
    assert replay_error(other, model.replay(other).position).rmse < 1.05 * plain


@pytest.mark.slow
def test_the_same_seed_gives_the_same_network(rig: tuple[JointMotion, np.ndarray, JointMotion, JointMotion]) -> None:
    seen, law, _, _ = rig
    short = replace(CONFIG, method="residual", network=replace(CONFIG.network, labels=5, iterations=2))
    one, other = joint_method(seen, law, short), joint_method(seen, law, short)
    np.testing.assert_array_equal(one.position, other.position)
    assert one.oracle is not None
    assert np.nanstd(one.oracle.model - one.oracle.torque) < 0.5 * np.nanstd(one.oracle.torque)


def test_cma_es_finds_what_the_gradients_find(rig: tuple[JointMotion, np.ndarray, JointMotion, JointMotion]) -> None:
    seen, law, _, _ = rig
    few = replace(CONFIG, fitted=FittedConfig(**{n: n in ("armature", "gain", "viscous") for n in vars(CONFIG.fitted)}))
    found = METHODS["cma_es"](smooth_joint(seen, law, CONFIG), law, CONFIG)
    gradient = fit_joint(seen, known_law(few, 0), few, few.fitted.names).law
    errors = [
        replay_error(seen, each).rmse for each in (found.replay(seen).position, replay_joint(seen, gradient, few))
    ]
    assert errors[0] == pytest.approx(errors[1], rel=0.05)
