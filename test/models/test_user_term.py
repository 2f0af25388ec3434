# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models.user_term import read_term

JOINTS = ("hip", "knee")
SPRING = """import casadi
CONSTANTS = [("stiffness", "N m/rad", 20.0, 10.0, 0.0), ("rest", "rad", 0.0, 0.1)]
def torque(q, v, a, theta):
    return {"knee": theta["stiffness"] * casadi.sin(q["knee"] - theta["rest"]) + a["hip"] * v["knee"]}
def power(q, v, a, theta):
    return 0.5 * v["hip"] ** 2 + theta["rest"]
"""


def test_values_and_derivatives(tmp_path: Path) -> None:
    pytest.importorskip("casadi", reason="CasADi is optional")
    (tmp_path / "spring.py").write_text(SPRING)
    term = read_term(str(tmp_path / "spring.py"), JOINTS)
    assert term is not None and [constant.lower for constant in term.constants] == [0.0, -np.inf]
    q, v, a = np.random.default_rng(0).standard_normal((3, 4, 2))
    for k, theta in ((2.0, 0.1), (3.0, 0.2)):
        value, slope = (of(q, v, a, np.array([k, theta])) for of in (term.value, term.linearise))
        bent, turned = np.sin(q[:, 1] - theta), np.cos(q[:, 1] - theta)
        still = np.zeros(4)
        torque = k * bent + a[:, 0] * v[:, 1]
        np.testing.assert_allclose(value.T, [still, torque, 0.5 * v[:, 0] ** 2 + theta], atol=1e-14)
        by_torque = [still, k * turned, still, a[:, 0], v[:, 1], still, bent, -k * turned]
        np.testing.assert_allclose(slope[:, 1].T, by_torque, atol=1e-14)
        np.testing.assert_allclose(slope[:, 2].T, [still, still, v[:, 0], *[still] * 4, still + 1.0], atol=1e-14)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nothing_of_that_name", "raises ModuleNotFoundError"),
        ("raise SystemExit(3)", "raises SystemExit: 3"),
        ("def torque(q, v, a, theta):\n    return 1 / 0", "raises ZeroDivisionError"),
        ("def torque(q, v, a, theta):\n    return {'knee': theta['k']}", "raises KeyError: 'k'"),
        ("x = 1", "has neither torque"),
        ("def torque(q, v, a, theta):\n    return q['hip']", "torque returns SX"),
        ("def torque(q, v, a, theta):\n    return {'ankle': 1.0}", "torque returns 'ankle'"),
        ("import casadi\ndef power(q, v, a, theta):\n    return casadi.SX(2, 1)", "more than a number"),
        ("CONSTANTS = [('k', 'N m')]", "CONSTANTS has"),
        ("CONSTANTS = [('k', 'N m', 1.0, 0.0)]", "a sigma above 0"),
        ("CONSTANTS = [('k', 'N m', 1.0, 1.0, 2.0)]", "mean below"),
        ("CONSTANTS = [('k', 'N m', 1.0, 1.0, float('nan'))]", "mean below"),
        ("CONSTANTS = [('k', 'N m', 1.0, 1.0), ('k', 'N m', 1.0, 1.0)]", "a name twice"),
        (
            "import casadi\ndef torque(q, v, a, theta):\n    return {'knee': casadi.sign(v['knee'])}",
            "the torque of 'knee' has no derivative by v of 'knee' at rest",
        ),
        (
            "import casadi\ndef torque(q, v, a, theta):\n    return {'knee': casadi.sqrt(q['hip'])}",
            "the torque of 'knee' has no derivative by q of 'hip' at some motions",
        ),
    ],
)
def test_terms_of_no_use(tmp_path: Path, text: str, message: str) -> None:
    pytest.importorskip("casadi", reason="CasADi is optional")
    (tmp_path / "term.py").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_term(str(tmp_path / "term.py"), JOINTS)
    with pytest.raises(ConfigError, match=r": No such file or directory$"):
        read_term(str(tmp_path / "no.py"), JOINTS)


def test_without_casadi(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(ConfigError, match="needs CasADi: pip install casadi"):
        read_term(str(tmp_path / "term.py"), JOINTS)
    assert read_term("", JOINTS) is None
