# SPDX-License-Identifier: Apache-2.0
"""Indexing, joining and reshaping move every part of a form alike, as NumPy moves the values."""

import numpy as np
import pytest
from intervals.exact import SYMBOLS

from sysid_nodes.exceptions import InputError
from sysid_nodes.intervals import Affine, concatenate, stack

INDICES = [
    0,
    -1,
    slice(1, None),
    (slice(None), 1),
    (..., 2),
    (..., None, slice(None)),
    (0, slice(None), [2, 0]),
    ([0, 1], slice(None), [2, 0]),
    (slice(None), np.array([[0, 2], [1, 1]])),
    np.arange(24).reshape(2, 3, 4) % 5 == 0,
    (np.int64(1), slice(None, None, -1)),
    (slice(None), [True, False, True]),
]


def moved(x, move):
    """A form whose parts NumPy moved one by one."""
    terms = np.stack([move(t) for t in x.terms])
    return Affine(move(x.centre), terms, move(x.remainder))


def assert_same(x, y):
    for part in ("centre", "terms", "remainder"):
        np.testing.assert_array_equal(getattr(x, part), getattr(y, part))
    # The hidden scale must go along: rounding bounds rest on it.
    bound = np.abs(y.centre) + np.abs(y.terms).sum(axis=0)
    assert (x.scale >= bound).all() and (x.scale <= bound * (1.0 + 1e-13) + 1e-300).all()


MOVES = {
    "reshape": (lambda x: x.reshape(4, 6), lambda a: a.reshape(4, 6)),
    "reshape to fit": (lambda x: x.reshape((2, -1)), lambda a: a.reshape(2, -1)),
    "transpose": (lambda x: x.transpose(), lambda a: a.swapaxes(-1, -2)),
    **{f"index {k}": (lambda x, i=i: x[i], lambda a, i=i: a[i]) for k, i in enumerate(INDICES)},
}


@pytest.mark.parametrize("known", [True, False], ids=["with scale", "without"])
@pytest.mark.parametrize(("move", "reference"), MOVES.values(), ids=MOVES)
def test_moves(move, reference, known):
    rng = np.random.default_rng(0)
    x = Affine(rng.normal(size=(2, 3, 4)), rng.normal(size=(SYMBOLS, 2, 3, 4)), rng.uniform(size=(2, 3, 4)))
    if known:
        assert x.scale.shape == x.shape
    assert_same(move(x), moved(x, reference))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_stack_and_concatenate(axis):
    rng = np.random.default_rng(1)
    x, y = (Affine(rng.normal(size=(2, 2)), rng.normal(size=(SYMBOLS, 2, 2)), rng.uniform(size=2)) for _ in range(2))
    number = rng.normal(size=(2, 2))
    still = Affine.constant(number, symbols=SYMBOLS)
    for function, reference in ((stack, np.stack), (concatenate, np.concatenate)):
        terms = [reference([f.terms[s] for f in (x, still, y)], axis=axis) for s in range(SYMBOLS)]
        parts = [reference([getattr(f, p) for f in (x, still, y)], axis=axis) for p in ("centre", "remainder")]
        assert_same(function([x, number, y], axis=axis), Affine(parts[0], terms, parts[1]))
        if not axis:
            assert_same(function([x, number, y]), Affine(parts[0], terms, parts[1]))


def test_length_and_iteration_follow_the_values():
    x = Affine.constant(np.arange(6.0).reshape(3, 2), symbols=2)
    assert len(x) == 3 and x.ndim == 2 and x.symbols == 2
    np.testing.assert_array_equal([row.centre for row in x], x.centre)
    assert repr(x) == "Affine(shape=(3, 2), symbols=2)"


X = Affine.constant(np.ones((2, 3)), symbols=2)


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: stack([np.ones(2)]), "joining needs at least one affine form"),
        (lambda: stack([]), "joining needs at least one affine form"),
        (lambda: stack([X, X[0]]), r"values of shapes \(2, 3\), \(3,\) do not join along axis 0"),
        (lambda: concatenate([X, X], axis=2), "axis 2 is not among the 2 axes"),
        (lambda: stack([X, Affine.constant(np.ones((2, 3)), symbols=3)]), "over 2 and 3 symbols cannot be combined"),
    ],
)
def test_bad_input_is_refused(act, message):
    with pytest.raises(InputError, match=message):
        act()
