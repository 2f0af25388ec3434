# SPDX-License-Identifier: Apache-2.0
"""Windows: which are kept, and how they become one log."""

from __future__ import annotations

import numpy as np
import pytest

from sysid_nodes.data.actuator_log import ActuatorLog
from sysid_nodes.systems.actuators.online.config import DriftConfig
from sysid_nodes.systems.actuators.online.drift import DriftWatch, Shift
from sysid_nodes.systems.actuators.online.memory import REACH, MotionWindow, ToldWindow, keep_telling, lay_end_to_end


def window(number: int, begin: float, *, joins: bool = False) -> MotionWindow:
    """Two joints, a second long, samples every 0.1 s and commands between them."""
    t = begin + 0.1 * np.arange(10)
    command_t = begin - REACH + 0.1 * np.arange(13)
    q, command = np.stack([t, -t], axis=1), np.stack([command_t, -command_t], axis=1)
    return MotionWindow(number, ActuatorLog(("a", "b"), t, q, command_t, command), joins)


def told(number: int, *diagonals: tuple[float, float]) -> ToldWindow:
    return ToldWindow(window(number, float(number)), np.array([np.diag(d) for d in diagonals]))


def numbers(windows: tuple[ToldWindow, ...]) -> list[int]:
    return [one.window.number for one in windows]


def test_windows_that_join_stay_together_and_others_are_laid_behind() -> None:
    windows = [window(0, 100.0), window(1, 101.0, joins=True), window(5, 500.0)]
    log = lay_end_to_end(windows)
    assert log.t[0] == 0.0
    np.testing.assert_allclose(np.diff(log.t)[:19], 0.1)
    assert np.diff(log.t)[19] > 1.0  # a hole
    np.testing.assert_allclose(log.q[:, 0], np.concatenate([w.log.q[:, 0] for w in windows]))
    # Each command keeps its distance to the samples, and none is there twice.
    assert (np.diff(log.command_t) > 0.0).all()
    shift = log.t[20] - 500.0
    given = log.command_t > log.t[19] + 0.3
    np.testing.assert_allclose(log.command_t[given] - shift, windows[2].log.command_t)
    np.testing.assert_allclose(log.command[given][:, 0], windows[2].log.command_t)


def test_a_window_that_only_looks_as_if_it_joins_does_not() -> None:
    """The one between them was forgotten."""
    log = lay_end_to_end([window(0, 100.0), window(2, 102.0, joins=True)])
    assert np.diff(log.t)[9] > 1.0


def test_what_tells_least_goes() -> None:
    windows = [told(0, (4.0, 0.1), (3.0, 3.0)), told(1, (0.1, 0.1), (0.1, 0.1)), told(2, (1.0, 5.0), (1.0, 1.0))]
    assert numbers(keep_telling(windows, 2, 1e9)) == [0, 2]
    assert numbers(keep_telling(windows, 3, 1e9)) == [0, 1, 2]


def test_the_only_window_that_tells_a_parameter_stays_however_little_it_tells_of_others() -> None:
    windows = [told(0, (9.0, 0.0)), told(1, (0.0, 0.1)), told(2, (9.0, 0.0)), told(3, (8.0, 0.0))]
    assert 1 in numbers(keep_telling(windows, 2, 1e9))


def test_a_window_in_which_nothing_moves_displaces_nothing() -> None:
    assert numbers(keep_telling([told(0, (1.0, 1.0)), told(1, (1.0, 1.0)), told(2, (0.0, 0.0))], 2, 10.0)) == [0, 1]


def test_of_windows_that_tell_the_same_the_oldest_goes() -> None:
    windows = [told(k, (1.0, 1.0)) for k in range(4)]
    assert numbers(keep_telling(windows, 3, 10.0)) == [1, 2, 3]


def test_a_window_is_worth_less_with_age() -> None:
    """The first tells the most, but two half-lives later no longer."""
    windows = [told(0, (1.5, 1.5)), told(1, (1.0, 1.0)), told(2, (1.0, 1.0))]
    assert numbers(keep_telling(windows, 2, 1e9)) == [0, 2]
    assert numbers(keep_telling(windows, 2, 1.0)) == [1, 2]


def shift(kind: str, after: float, *, certain: bool = True, counts: bool = True) -> Shift:
    return Shift(kind, 1.0, after, certain, counts, 1e-3)


@pytest.mark.parametrize(
    ("shifts", "alarms"),
    [
        ([shift("coulomb", 2.0), shift("coulomb", 2.2)], 1),
        ([shift("coulomb", 2.0), shift("viscous", 2.2)], 1),  # friction both
        ([shift("coulomb", 2.0), shift("gain", 0.7)], 0),
        ([shift("coulomb", 2.0), shift("coulomb", 0.5)], 0),
        ([shift("delay", 2.0), shift("delay", 1.6, counts=False)], 1),  # half as much confirms
        ([shift("delay", 2.0, counts=False), shift("delay", 2.0)], 0),  # but is no beginning
        ([shift("delay", 2.0), shift("delay", 1.4, counts=False), shift("delay", 2.0)], 0),
        ([shift("delay", 2.0), shift("delay", 2.0, certain=False, counts=False), shift("delay", 2.0)], 0),
        ([shift("delay", 2.0), None, shift("delay", 2.0)], 0),
    ],
)
def test_an_alarm_needs_windows_in_a_row_that_say_the_same(shifts: list[Shift | None], alarms: int) -> None:
    watch = DriftWatch(DriftConfig(windows=2))
    raised = [alarm for k, one in enumerate(shifts) for alarm in watch.take(window(k, float(k)), [("a", one)])[0]]
    assert len(raised) == alarms
    if raised:
        assert raised[0].since == 0.0
        assert raised[0].joint == "a"
        assert "of 'a' changed" in raised[0].sentence
