# SPDX-License-Identifier: Apache-2.0
"""The exploration's demo does not end well with intervals that miss by more than chance explains, and names them."""

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


def test_intervals_that_miss_by_more_than_chance_explains_are_named():
    assert ending(MASS, ("Ixx", "kg m2", 0.045, 0.049), THIGH, BIAS) == Ending()
    near, far = ("Ixx", "kg m2", 0.043, 0.0475), ("Ixx", "kg m2", 0.0435, 0.0467)
    assert ending(MASS, MASS, MASS, MASS, near) == Ending()  # one of five
    words = "more than chance explains: 1 of 5 intervals of 95 % do not hold the truth: Ixx 0.0435 to 0.0467 kg m2"
    assert ending(MASS, MASS, MASS, MASS, far) == Ending(
        NOT_HELD, f"{words}, in truth 0.04804 (0.84 half-widths beyond)"
    )
    assert "2 of 6 intervals of 95 % do not hold" in ending(MASS, MASS, MASS, MASS, near, near).fault


def test_a_replay_has_the_live_numbers():
    assert ending(MASS, same=False).status == NOT_HELD
