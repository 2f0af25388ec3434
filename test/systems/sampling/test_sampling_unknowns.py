# SPDX-License-Identifier: Apache-2.0
import numpy as np
import pytest

from sysid_nodes.data.config import from_flat
from sysid_nodes.data.inertia import is_consistent
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.robots import load_robot
from sysid_nodes.systems.sampling.config import SamplingConfig
from sysid_nodes.systems.sampling.estimates import estimates, quantities
from sysid_nodes.systems.sampling.unknowns import Unknowns

ROBOT = load_robot("go2")


def unknowns(**options):
    return Unknowns(ROBOT, from_flat(SamplingConfig, options))


def test_guesses_mean_the_nominal_robot():
    found = unknowns()
    varied = found.variants([found.column("guess")])
    np.testing.assert_allclose(varied.inertia[0, 0], ROBOT.inertial_parameters()[0], rtol=1e-9)
    np.testing.assert_allclose(varied.weakness, 1.0 / 25.0)
    assert varied.friction[0] == pytest.approx(0.8)


@pytest.mark.parametrize(("motors", "count"), [("none", 0), ("one", 1), ("kind", 3), ("each", 12), ("linear", 3)])
def test_motors_share_parameters_as_asked(motors, count):
    found = unknowns(**{"unknowns.motors": motors})
    names = [name for name in found.index if name.startswith(("saturation", "gain"))]
    assert len(names) == count
    vector = found.column("guess")
    for k, name in enumerate(names):
        vector[found.index[name]] = 0.01 * (k + 1) if motors == "linear" else (0.25 * (k + 1)) ** 2
    varied = found.variants([vector])
    values = varied.gain[0] if motors == "linear" else varied.weakness[0]
    assert len(set(values)) == max(count, 1)
    if count == 3:  # hip, thigh, calf of each leg
        np.testing.assert_allclose(values, np.tile([0.01, 0.02, 0.03], 4))


def test_a_body_stays_within_the_bounds_of_mass_and_centre_and_physical():
    found = unknowns(**{"unknowns.mass": (3.0, 15.0)})
    for name in ("lower", "upper"):
        vector = found.column("guess")
        bounds = found.column(name)
        vector[:10] = np.where(np.isfinite(bounds[:10]), bounds[:10], vector[:10])
        theta = found.inertia(vector, 0)
        assert theta[0] == pytest.approx({"lower": 3.0, "upper": 15.0}[name])
        assert is_consistent(theta)


def test_payload_links_have_parameters_of_their_own():
    found = unknowns(**{"unknowns.bodies": "base, FL_calf"})
    assert found.bodies == (0, ROBOT.body_index("FL_calf"))
    names = [q.name for q in quantities(found, SamplingConfig().verdict)]
    assert "base.mass" in names
    assert "FL_calf.Ixx" in names


def test_bounds_must_be_two_numbers_in_order():
    with pytest.raises(ConfigError, match=r"'unknowns\.mass' must be two numbers"):
        from_flat(SamplingConfig, {"unknowns.mass": (15.0, 3.0)})


def table(found, vector, covariance, held=None):
    quantity = quantities(found, SamplingConfig().verdict)
    freedom = np.full(len(found), np.inf)
    return {p.name: p for p in estimates(quantity, found, vector, covariance, freedom, held or {})}


def test_a_parameter_is_told_only_as_well_as_its_interval_says():
    found = unknowns()
    sigma = np.full(len(found), 1e-4)
    sigma[found.index["saturation:hip"]] = 0.4
    rows = table(found, found.column("guess"), np.diag(sigma**2))
    assert rows["mass"].identifiable
    mass = ROBOT.inertial_parameters()[0, 0]
    assert rows["mass"].sigma == pytest.approx(2.0 * mass * 1e-4, rel=1e-3)  # m = e^(2 alpha)
    assert rows["strength.calf"].identifiable
    hip = rows["strength.hip"]
    assert not hip.identifiable
    assert "N m only" in hip.reason
    # An interval of (25 N m / strength)^2, 1 +- 0.784 but for what the bounds cut, taken through the curve.
    assert hip.lower == pytest.approx(25.0 / 1.784**0.5, rel=2e-2)
    assert hip.upper == pytest.approx(25.0 / 0.216**0.5, rel=0.1)


def test_what_a_bound_holds_has_no_estimate_and_names_the_bound():
    found = unknowns()
    rows = table(found, found.column("guess"), np.eye(len(found)) * 1e-8, {"t1:0": "centre x (lower)"})
    assert rows["centre_x"].bound == "centre x (lower)"
    assert rows["centre_x"].estimate is rows["centre_x"].sigma is None
    assert rows["mass"].identifiable


def test_no_interval_holds_what_no_body_can_be_and_of_nuisances_there_is_none():
    found = unknowns()
    sigma = np.full(len(found), 1e-3)
    sigma[found.index["d2:0"]] = 0.7
    rows = table(found, found.column("guess"), np.diag(sigma**2))
    assert 0.0 <= rows["Ixx"].lower < rows["Ixx"].upper
    for name in ("dry_friction", "holding_friction", "bristle_friction", "friction", "compliance"):
        assert rows[name].estimate is rows[name].lower is rows[name].sigma is None
        assert "not claimed" in rows[name].reason
