# SPDX-License-Identifier: Apache-2.0
"""The independent checker on certificates of a loop whose torques come late: it agrees, and every claim counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from shared.certificate_documents import LATE, document, not_verified, records

from sysid_nodes.verification.memory import Ages, Kernel
from sysid_nodes.verification.verify import Verdict, verify

RECORD, NEXT = records(0.1, 0.08, LATE)
PROOF = "errors prove themselves"


def test_certificates_with_late_torques_are_verified_as_stated() -> None:
    assert RECORD.proof == NEXT.proof == "delayed"
    for one in (document(RECORD, config=LATE), document(NEXT, RECORD, LATE)):
        found = verify(one)
        assert {claim.verdict for claim in found.claims} == {Verdict.VERIFIED}, found.claims


@pytest.mark.parametrize(
    ("changes", "claim"),
    [  # slow: what test_verify.py has of the other proof
        pytest.param({"error_energy": 0.6 * RECORD.error_energy}, PROOF, marks=pytest.mark.slow),
        pytest.param({"error_norm": 0.7 * RECORD.error_norm}, PROOF, marks=pytest.mark.slow),
        ({"error_rate": 0.7 * RECORD.error_rate}, PROOF),
        ({"error_change": 0.6 * RECORD.error_change}, PROOF),
        pytest.param({"error_acceleration": 0.6 * RECORD.error_acceleration}, PROOF, marks=pytest.mark.slow),
        ({"error_position": 0.7 * RECORD.error_position}, PROOF),
        ({"error_reference": 0.7 * RECORD.error_reference}, PROOF),
        ({"error_change": RECORD.error_change[:-1]}, "intervals"),
        ({"robust_limit": 0.7 * RECORD.robust_limit}, PROOF),
        pytest.param({"lower": RECORD.lower - 0.3, "upper": RECORD.upper + 0.3}, PROOF, marks=pytest.mark.slow),
        pytest.param({"start_rate": 50.0}, PROOF, marks=pytest.mark.slow),
        ({"proof": "energy"}, PROOF),
    ],
)
def test_what_such_a_record_says_too_much_of_errors_is_not_verified(changes: dict[str, Any], claim: str) -> None:
    assert claim in not_verified(verify(document(RECORD, config=LATE, **changes)))


def test_a_damping_too_stiff_for_the_delay_is_not_verified() -> None:
    given = document(RECORD, config=LATE)
    given["premises"]["control"]["damping_share"] = 0.4
    assert PROOF in not_verified(verify(given))


def test_errors_where_the_one_before_has_more_are_not_verified() -> None:
    given = document(NEXT, RECORD, LATE)
    given["former"]["error_reference"] = [3.0 * x for x in given["former"]["error_reference"]]
    given["former"]["error_energy"] = [9.0 * x for x in given["former"]["error_energy"]]
    assert not verify(given).verified


def test_the_memory_s_integrals_are_those_of_their_kernel() -> None:
    slow, fast, h = 5.0, 100.0, 0.0035
    ages = np.array([0.001, 0.0035, 0.01, 0.1, 1.0, np.inf])
    (above, first), (below, last) = Kernel(slow, fast, h).above(ages), Kernel(slow, fast, h).below(ages)
    for k, age in enumerate(ages):
        grid = np.append(np.linspace(0.0, h, 2001)[:-1], h + np.geomspace(1e-9, 20.0, 200_001))
        grid = grid[grid <= age]
        rates = np.linspace(slow, fast, 400)
        u = np.maximum(grid - h, 0.0)
        kappa = np.array([(rates * np.exp(-rates * x)).max() for x in u[:: max(1, len(u) // 4000)]])
        kappa = np.interp(u, u[:: max(1, len(u) // 4000)], kappa)
        for low, true, high in ((below[k], np.trapezoid(kappa, grid), above[k]),
                                (last[k], np.trapezoid(grid * kappa, grid), first[k])):  # fmt: skip
            assert low <= true * 1.001 + 1e-6 and true * 0.999 - 1e-6 <= high <= 1.01 * true + 1e-5


def test_answers_hold_what_a_late_loop_does() -> None:
    """x' = g (f - x(s)) with s anywhere within h, against both bounds on the integral of its kernel times f."""
    rng, g, h, step = np.random.default_rng(3), 100.0, 0.0035, 1e-4
    begin, length = 0.01 * np.arange(30), np.append(np.full(29, 0.01), np.inf)
    most = rng.uniform(0.2, 1.0, 30) * np.repeat([1.0, 0.1, 1.0], 10)
    ages, kernel = Ages(begin, length, h), Kernel(g, g, h)
    bound = np.minimum(
        ages.answer(most, kernel.above(ages.most)[0], kernel.below(ages.least)[0]), ages.slow_answer(most, g)
    )
    x, used = [0.0] * 40, 0.0
    for k in range(2990):
        part = min(k // 100, 29)
        late = int(rng.integers(0, 36))
        x.append(x[-1] + step * g * (most[part] - x[-1 - late]))
        used = max(used, x[-1] / bound[part])
    assert 0.9 < used <= 1.0
