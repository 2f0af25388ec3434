# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.systems.sampling.exploration.criteria import criterion, invert

INFORMATION = np.array([[4.0, 1.0, 0.0], [1.0, 9.0, 0.0], [0.0, 0.0, 1e6]])
SLOPES = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]])


def cost(name, information):
    return criterion(name, information, invert(information), SLOPES)


def test_criteria_are_those_of_the_textbook():
    values = np.linalg.eigvalsh(SLOPES @ np.linalg.inv(INFORMATION) @ SLOPES.T)
    assert cost("A", INFORMATION) == pytest.approx(values.sum())
    assert cost("D", INFORMATION) == pytest.approx(np.log(values).sum())
    assert cost("E", INFORMATION) == pytest.approx(values.max())
    assert cost("T", INFORMATION) == pytest.approx(-(4.0 + 9.0 / 4.0))


@pytest.mark.parametrize("name", ["A", "D", "E", "T"])
def test_more_information_costs_less(name):
    assert cost(name, 2.0 * INFORMATION) < cost(name, INFORMATION)


def test_coordinates_of_any_scale_are_inverted():
    scale = np.diag([1e-6, 1.0, 1e5])
    np.testing.assert_allclose(
        invert(scale @ INFORMATION @ scale), np.linalg.inv(scale @ INFORMATION @ scale), rtol=1e-6
    )


def test_what_is_not_finite_costs_everything_and_other_names_are_refused():
    assert criterion("A", np.full((3, 3), np.nan), np.eye(3), SLOPES) == np.inf
    with pytest.raises(ConfigError, match="A, D, E and T"):
        cost("X", INFORMATION)
