# SPDX-License-Identifier: Apache-2.0
"""The exploration's demo does not end well with an interval that misses the truth, and says which and by how much."""

from types import SimpleNamespace

from sysid_nodes.cli.demo.ending import NOT_HELD, Ending
from sysid_nodes.cli.sampling.demo_summary import verdict

TRUTH = {"mass": 11.98, "Ixx": 0.04804, "strength.thigh": 25.0}


def ending(*rows, same=True):
    columns = ("name", "unit", "lower", "upper")
    parameters = [dict(zip(columns, row, strict=True)) for row in rows]
    document = {"parameters": parameters, "exploration": {"replay_equals_live": same}}
    return verdict(SimpleNamespace(truth=TRUTH, overloaded=False), document)


MASS, THIGH, BIAS = (
    ("mass", "kg", 11.87, 12.04),
    ("strength.thigh", "N m", None, None),  # nothing is claimed of it
    ("gyro_bias_x", "rad/s", -0.003, -0.002),  # whose truth the demo does not know
)


def test_one_interval_that_misses_is_one_too_many():
    assert ending(MASS, ("Ixx", "kg m2", 0.045, 0.049), THIGH, BIAS) == Ending()
    words = "1 of 2 intervals of 95 % do not hold the truth: Ixx 0.043 to 0.047 kg m2, in truth 0.04804"
    missed = ending(MASS, ("Ixx", "kg m2", 0.043, 0.047), THIGH, BIAS)
    assert missed == Ending(NOT_HELD, f"{words} (0.52 half-widths beyond)")
    assert "mass 12 to 12.04 kg, in truth 11.98 (1.00" in ending(("mass", "kg", 12.0, 12.04)).fault


def test_a_replay_has_the_live_numbers():
    assert ending(MASS, same=False).status == NOT_HELD
