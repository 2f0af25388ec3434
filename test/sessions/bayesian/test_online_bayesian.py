# SPDX-License-Identifier: Apache-2.0
"""A posterior that follows the motion: what windows are made of, what they are worth, and what stops them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from shared.leg_bag import CONFIG, VALUES, leg_record
from shared.quick_and_slow import mark_slow

from sysid_nodes.data.config import from_flat, own_parameters, read_parameters
from sysid_nodes.data.joint_state import RawJointState
from sysid_nodes.exceptions import ConfigError, LogError
from sysid_nodes.logs.power_reader import RawPower
from sysid_nodes.messages.bayesian.posterior import friction_fields, posterior_fields
from sysid_nodes.results.bayesian import BayesianStatus
from sysid_nodes.robots import load_robot
from sysid_nodes.sessions.bayesian.config import BayesianSessionConfig
from sysid_nodes.sessions.bayesian.online import BayesianUpdate, OnlineBayesian
from sysid_nodes.simulation.fourbar.leg import MOTORS, mjcf
from sysid_nodes.systems.bayesian import BayesianConfig
from sysid_nodes.systems.bayesian.config import MechanismConfig

WINDOW = 1.5  # [s]
Raw = RawJointState | RawPower


def session(**values: Any) -> OnlineBayesian:
    given = own_parameters(BayesianSessionConfig, read_parameters(CONFIG)) | VALUES | {"bayesian.online.window": WINDOW}
    config = from_flat(BayesianSessionConfig, given | {key.replace("__", "."): x for key, x in values.items()})
    return OnlineBayesian(load_robot(config.robot), config)


@cache
def messages(duration: float = 4.8) -> tuple[Raw, ...]:
    """In the order of their stamps."""
    _, record = leg_record(duration)
    rows: list[Raw] = []
    for k, t in enumerate(record.t.tolist()):
        rows.append(RawPower(t, float(record.voltage[k]), -float(record.current[k])))
        rows.append(RawJointState(t, MOTORS, record.position[k], np.zeros(0), record.torque[k]))
    return tuple(rows)


def feed(to: OnlineBayesian, raws: Iterable[Raw]) -> list[BayesianUpdate]:
    found = []
    for raw in raws:
        if isinstance(raw, RawPower):
            to.take_power(*raw)
        elif (update := to.take(raw)) is not None:
            found.append(update)
    return found


@cache
def followed() -> list[BayesianUpdate]:
    return feed(session(), messages())


def test_the_config_id_is_of_the_files_that_are_used(tmp_path: Path) -> None:
    """A file that only the configuration names is read at a reset, not whenever messages were lost."""
    loops, text = tmp_path / "leg.xml", mjcf(leg_record(4.8)[0])
    loops.write_text(text)
    own = session(bayesian__mechanism__loops=[str(loops)])
    first = own.update.config_id
    loops.unlink()
    own.interrupt()
    loops.write_text(text.replace("<connect", "<weld"))
    assert own.reset().config_id != first
    loops.write_text(text)
    assert own.reset().config_id == first
    loops.write_text(text.replace("<connect", "<weld"))
    own.reset()
    loops.write_text(text)  # before the first window
    assert feed(own, messages()[: 2 * 320])[-1].config_id == first


def test_the_posterior_narrows_and_holds_the_truth() -> None:
    truth, updates = leg_record(4.8)[0].values(), followed()
    assert [(update.window, update.used) for update in updates] == [(0, 1), (1, 2), (2, 3)]
    assert [update.t for update in updates] == pytest.approx([1.49, 2.99, 4.49])
    first, last = (
        {row.name: row for row in update.result.parameters} for update in (updates[0], updates[-1]) if update.result
    )
    assert last["shank.Iyy"].sigma < 0.5 * first["shank.Iyy"].sigma
    observed = [row for row in last.values() if row.verdict == "observed"]
    inside = sum(row.lower <= truth[row.name] <= row.upper for row in observed)
    assert len(observed) >= 15
    assert inside >= 0.8 * len(observed)
    assert updates[-1].result is not None
    assert updates[-1].result.stages == 3 * 75
    held_out = updates[-1].result.held_out  # predicted before it was used
    assert held_out is not None
    assert np.all(held_out.rms[2] < 0.5 * held_out.rms[0])


def test_when_messages_arrive_makes_no_difference() -> None:
    """The power meter is late by up to 0.1 s, less than the patience that is stated."""
    early = [raw for raw in messages() if raw.stamp < 3.4]
    late = sorted(early, key=lambda raw: raw.stamp + (0.1 if isinstance(raw, RawPower) else 0.0))
    ids = [
        [posterior_fields(update)["id"] for update in updates] for updates in (followed()[:2], feed(session(), late))
    ]
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 2


def test_memory_is_bounded() -> None:
    to = session()
    feed(to, still(messages()))
    kept = to._session
    assert max(len(kept._joints), len(kept._power)) <= (WINDOW + 0.2) * 200.0 + 2
    silent = session()
    for k in range(4000):
        silent.take_power(0.01 * k, 48.0, -1.0)
    assert len(silent._session._power) < 500


def test_the_messages_say_the_same_as_the_result() -> None:
    update = followed()[-1]
    assert update.result is not None
    fields, friction = posterior_fields(update), friction_fields(update)
    k = fields["names"].index("hip.coulomb")
    count = len(fields["names"])
    row = update.result.parameters[k]
    assert (fields["mean"][k], fields["lower"][k], fields["units"][k]) == (row.mean, row.lower, "N m")
    variance = np.reshape(fields["covariance"], (count, count))[k, k]
    assert variance == pytest.approx(row.sigma**2, rel=3e-3)  # a divisor of S - 1 for one of S
    assert friction is not None
    assert friction["posterior"] == fields["id"]
    assert {curve["joint"] for curve in friction["joints"]} == {"hip", "crank_motor", "rod_joint", "knee"}
    claimed = replace(update, result=replace(update.result, status=BayesianStatus.CONTRADICTED))
    assert posterior_fields(claimed)["names"] == []
    assert friction_fields(claimed) is None


def loaded(raws: Iterable[Raw], since: float, factor: float) -> list[Raw]:
    """From a time on the motors give more torque, as if there were a load."""
    out: list[Raw] = []
    for raw in raws:
        if isinstance(raw, RawJointState) and raw.stamp >= since:
            raw = raw._replace(effort=factor * np.asarray(raw.effort))
        out.append(raw)
    return out


REASONS = {
    1.3: r"most of all '.*' \(\d+ sigmas\)",  # other constants explain the part, far from those that were known
    2.0: r"the model errs \d+\.\d times as much",  # no constants explain it
}


@pytest.mark.parametrize("factor", mark_slow(REASONS, but=[2.0]))
def test_a_load_that_is_picked_up_midway_contradicts(factor: float) -> None:
    to = session()
    updates = feed(to, loaded((raw for raw in messages() if raw.stamp < 3.2), 1.5, factor))
    assert [update.used for update in updates] == [1, 1]
    result = updates[-1].result
    assert result is not None
    assert result.status is BayesianStatus.CONTRADICTED
    assert re.search(f"contradicts what was known before.*{REASONS[factor]}", result.message)
    assert sum(to.rejected.values()) == 1


@pytest.mark.parametrize("motor", mark_slow([0, 1], but=[0]))
def test_a_motor_whose_torque_is_turned_is_claimed_in_no_window(motor: int) -> None:
    """Windows of half a second: the first tells no motor from one that is turned, others agree now and then."""
    sign = np.ones(2)
    sign[motor] = -1.0
    raws = [
        raw._replace(effort=sign * np.asarray(raw.effort)) if isinstance(raw, RawJointState) else raw
        for raw in messages()
        if raw.stamp < 1.1
    ]
    updates = feed(session(bayesian__online__window=0.5), raws)
    assert len(updates) == 2
    for update in updates:
        assert update.result is not None
        assert not update.result.status.trusted
        said = rf"half of what was read at '{MOTORS[motor]}': swapped, reversed|too short: .* independent errors beside"
        assert re.search(said, update.result.message)


def test_after_a_contradiction_twice_as_many_windows_have_to_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    found = followed()[-1].result
    script = iter("FCFFFCCFF")

    def next_of_script(known: object, *_: object) -> tuple[object, object]:
        good = next(script) == "F"
        status = BayesianStatus.FOUND if good else BayesianStatus.CONTRADICTED
        assert found is not None
        return replace(found, status=status, findings=("a load",)), SimpleNamespace(mechanism=None) if good else None

    monkeypatch.setattr("sysid_nodes.sessions.bayesian.online.identify_further", next_of_script)
    monkeypatch.setattr(OnlineBayesian, "_identify_config", lambda *_: "")
    updates = feed(session(bayesian__online__window=0.5), messages())
    claimed = "".join("F" if update.result and update.result.status.trusted else "C" for update in updates)
    assert claimed == "FCCFFCCCC"
    assert [update.used for update in updates] == [1, 1, 2, 3, 4, 4, 4, 5, 6]
    doubted = updates[8].result
    assert doubted is not None
    assert "of the windows, 2 contradicted what is known, 2 of 4 since then agree" in doubted.message
    assert doubted.findings[1] == "a load"


def still(raws: Iterable[Raw]) -> list[Raw]:
    return [raw._replace(position=np.zeros(2)) if isinstance(raw, RawJointState) else raw for raw in raws]


def with_a_gap(raws: Iterable[Raw]) -> list[Raw]:
    return [raw for raw in raws if not 0.5 < raw.stamp < 0.7]


def back_in_time(raws: Iterable[Raw]) -> list[Raw]:
    first = [raw for raw in raws if raw.stamp < 0.5]
    return [*first, *raws]


@pytest.mark.parametrize(
    ("change", "end", "reason"),
    [
        (with_a_gap, 0.7 + 1.49, "a gap in the joint states"),
        (back_in_time, 1.49, "stamps went back"),
    ],
)
def test_windows_begin_anew(change: Any, end: float, reason: str) -> None:
    to = session()
    updates = feed(to, [raw for raw in change(messages()) if raw.stamp < 2.5])
    assert to.rejected == {reason: 1}
    assert [update.t for update in updates] == pytest.approx([end])
    assert [update.used for update in updates] == [1]


def test_reasons_that_differ_in_numbers_alone_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Diagnostics show all of them: a leg whose loop does not close for a day must not make them longer and longer."""
    gaps = iter(range(10))

    def fail(*_: object) -> object:
        raise LogError(f"a loop cannot be closed: {next(gaps)} mm stay open", kind="a loop cannot be closed")

    monkeypatch.setattr("sysid_nodes.sessions.bayesian.online.identify_further", fail)
    to = session()
    assert feed(to, messages())[-1].fault == "a loop cannot be closed: 2 mm stay open"
    assert to.rejected == {"a loop cannot be closed": 3}


def test_standing_still_tells_nothing() -> None:
    to = session()
    (update,) = feed(to, still(raw for raw in messages() if raw.stamp < 2.0))
    assert (update.used, update.result) == (0, None)
    assert posterior_fields(update)["message"] == "nothing is identified: no joint moves"
    assert to.rejected == {"no joint moves": 1}


def test_an_interrupt_drops_what_was_gathered() -> None:
    to = session()
    feed(to, [raw for raw in messages() if raw.stamp < 1.0])
    to.interrupt()
    assert to.rejected == {"messages lost": 1}
    assert not feed(to, [raw for raw in messages() if 1.0 <= raw.stamp < 2.0])


def test_a_joint_that_is_missing_is_said() -> None:
    with pytest.raises(LogError, match="no joint 'crank_motor'"):
        session().take(RawJointState(0.0, ("hip",), np.zeros(1), np.zeros(0), np.zeros(1)))


def test_contacts_are_refused_before_a_window_is_read() -> None:
    config = BayesianSessionConfig(bayesian=BayesianConfig(mechanism=MechanismConfig(contacts=("shank:base:touch@1",))))
    with pytest.raises(ConfigError, match="is for a whole log"):
        OnlineBayesian(load_robot(config.robot), config)
