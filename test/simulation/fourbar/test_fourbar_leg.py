# SPDX-License-Identifier: Apache-2.0
"""The simulated leg is the leg that is drawn: closed, and with readings of its own truth."""

from __future__ import annotations

import mujoco
import numpy as np
import pytest
from shared.leg_bag import leg_record

from sysid_nodes.robots.fourbar_leg import LINKS
from sysid_nodes.simulation.fourbar.leg import JOINTS, MOTORS, LegTruth, mjcf, simulate_leg


@pytest.fixture(scope="module")
def quiet() -> tuple[LegTruth, object]:
    truth = LegTruth.draw(np.random.default_rng(3))
    noise = {"position_noise": 0.0, "torque_noise": 0.0, "power_noise": 0.0}
    return truth, simulate_leg(truth, 1.0, np.random.default_rng(4), **noise)


def test_the_loop_stays_closed() -> None:
    """The constraint is stiff, not hard: docs promise some nanometres, a tenth of a micrometre is the limit here."""
    _, record = leg_record(1.0)
    assert record.gap.max() < 1e-7
    assert np.ptp(record.joints, axis=0).min() > 0.01, "it moves"


def test_the_compiled_model_has_the_hidden_constants() -> None:
    truth = LegTruth.draw(np.random.default_rng(1))
    model = mujoco.MjModel.from_xml_string(mjcf(truth))
    for k, link in enumerate(LINKS):
        body, dof = model.body(link.name), model.joint(link.joint).dofadr[0]
        assert body.mass[0] == pytest.approx(truth.mass[k])
        np.testing.assert_allclose(body.ipos, truth.centre[k])
        assert model.dof_frictionloss[dof] == pytest.approx(truth.coulomb[k])
        assert model.dof_armature[dof] == pytest.approx(truth.armature[k])


def test_power_is_that_of_the_motors_and_their_losses(quiet) -> None:
    """P = tau' v + loss' tau^2 + idle; v by central differences of readings 2 ms apart: some percent at 0.5 Hz."""
    truth, record = quiet
    v = np.gradient(record.position, record.t, axis=0)
    expected = (record.torque * v).sum(axis=1) + record.torque**2 @ truth.loss + truth.idle
    power = record.voltage * record.current
    np.testing.assert_allclose(power[5:-5], expected[5:-5], atol=0.02 * np.abs(power).max())


def test_encoders_read_the_motors_joints(quiet) -> None:
    _, record = quiet
    np.testing.assert_array_equal(record.position, record.joints[:, [JOINTS.index(name) for name in MOTORS]])


def test_truths_are_named_as_posteriors_name_them() -> None:
    truth = LegTruth.draw(np.random.default_rng(2))
    values = truth.values()
    assert values["idle power"] == truth.idle
    assert values[f"{MOTORS[1]}.loss"] == truth.loss[1]
    assert values[f"{LINKS[2].name}.m"] == pytest.approx(truth.mass[2])
