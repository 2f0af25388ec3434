# SPDX-License-Identifier: Apache-2.0
"""Every stream that can fail, in every way it can fail, gets the finding of that name and no other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sysid_nodes.signals.alignment import Aligner, GridConfig
from sysid_nodes.signals.channel import ChannelSpec
from sysid_nodes.signals.channel_config import ChannelConfig, ValueKind
from sysid_nodes.signals.stream_health import StreamFault, StreamHealthConfig

FAST = ChannelConfig(rate=500.0, max_gap=0.02, largest=1000.0)
CHANNELS = {
    "joints": ChannelSpec(FAST, 3),
    "gyroscope": ChannelSpec(replace(FAST, window="before"), 3),
    "orientation": ChannelSpec(FAST, 4, ValueKind.ROTATION),
    "mocap": ChannelSpec(ChannelConfig(rate=100.0, max_gap=0.05), 7, ValueKind.POSE),
}
T0 = 1.7e9
BREAK = 1.5  # when a stream starts to fail [s]
END = 3.0


def value_of(name: str, rng: np.random.Generator) -> np.ndarray:
    value = rng.normal(size=CHANNELS[name].width)
    if CHANNELS[name].kind is not ValueKind.VECTOR:
        value[-4:] /= np.linalg.norm(value[-4:])
    return value


def run(victim: str, fault: StreamFault | None) -> Aligner:
    """All streams for END seconds, one of them failing from BREAK on."""
    rng = np.random.default_rng(1)
    entries = []
    for name, spec in CHANNELS.items():
        last = value_of(name, rng)
        for k in range(int(END * spec.config.rate)):
            t = k / spec.config.rate
            stamp, arrival = t, t + 0.001
            last = value = (
                value_of(name, rng) if not (name == victim and fault is StreamFault.STUCK and t > BREAK) else last
            )
            if name == victim and t > BREAK:
                if fault is StreamFault.OFF:
                    continue
                if fault is StreamFault.GARBAGE and rng.uniform() < 0.2:
                    value = value * rng.choice([np.nan, np.inf, 1e9])
                if fault is StreamFault.SLOW and k % 3:
                    continue
                if fault is StreamFault.INTERMITTENT and t % 0.4 < 0.12:
                    continue
                if fault is StreamFault.DELAYED:
                    arrival += 0.15
                if fault is StreamFault.CLOCK:
                    stamp += 0.2
            entries.append((arrival, name, stamp, value))
    aligner = Aligner(CHANNELS, GridConfig())
    for _, name, stamp, value in sorted(entries, key=lambda entry: entry[0]):
        aligner.push(name, T0 + stamp, value)
    return aligner


def test_good_streams_have_no_finding() -> None:
    aligner = run("", None)
    assert aligner.findings() == []
    assert aligner.findings(T0 + END) == []


@pytest.mark.parametrize("fault", [fault for fault in StreamFault if fault is not StreamFault.OFFSET])
@pytest.mark.parametrize("victim", list(CHANNELS))
def test_a_fault_is_named_and_blamed_on_its_stream(victim: str, fault: StreamFault) -> None:
    """An offset takes two streams to be seen: test_lag_watch."""
    aligner = run(victim, fault)
    (finding,) = aligner.findings()
    assert (finding.kind, finding.subject) == (fault, victim)
    assert finding.message.startswith(f"stream '{victim}' ")
    assert BREAK - 0.01 <= finding.t - T0 <= END + 0.3
    # The others' steps go on.
    steps = aligner.take()[-1]
    assert steps.times[-1] - T0 > END - 0.1
    other = next(name for name in CHANNELS if name != victim)
    assert len(steps.samples[other].between(len(steps) - 100, len(steps))) == 100


def test_silence_of_all_streams_is_seen_by_the_caller_s_clock_alone() -> None:
    aligner = run("", None)
    found = aligner.findings(T0 + END + 1.0)
    assert {finding.subject for finding in found} == set(CHANNELS)
    assert {finding.kind for finding in found} == {StreamFault.OFF}
    assert found[0].message == "stream 'joints' has been silent for 1.00 s"


def test_a_stream_that_never_spoke_is_off() -> None:
    aligner = Aligner(CHANNELS, GridConfig())
    for k in range(500):
        aligner.push("joints", T0 + 0.002 * k, np.array([k, 0.0, 0.0]))
    assert {finding.subject for finding in aligner.findings()} == set(CHANNELS) - {"joints"}


def test_streams_that_have_sent_nothing_usable() -> None:
    aligner = Aligner({"joints": CHANNELS["joints"]}, GridConfig())
    assert aligner.findings()[0].message == "stream 'joints' has sent nothing"
    aligner.push("joints", 0.0, np.zeros(3))
    (finding,) = aligner.findings(T0)
    assert finding.message == "stream 'joints' has sent nothing usable (1 x absurd stamp)"
    assert (finding.kind, finding.t) == (StreamFault.OFF, T0)


@pytest.mark.parametrize("stamp", [0.0, T0], ids=["never filled in", "frozen"])
def test_stamps_that_are_no_stamps(stamp: float) -> None:
    rng = np.random.default_rng(0)
    aligner = Aligner(CHANNELS, GridConfig())
    for k in range(1000):
        for name in CHANNELS:
            if name != "mocap" or k % 5 == 0:
                aligner.push(name, stamp if name == "joints" else T0 + 0.002 * k, value_of(name, rng))
    (finding,) = aligner.findings()
    assert (finding.subject, finding.kind) == ("joints", StreamFault.CLOCK)
    assert ("do not advance" in finding.message) == (stamp > 0.0)


def test_a_stream_that_recovers_is_believed_again() -> None:
    aligner = run("mocap", StreamFault.OFF)
    rng = np.random.default_rng(2)
    for k in range(1500):
        for name in CHANNELS:
            if name != "mocap" or k % 5 == 0:
                aligner.push(name, T0 + END + 0.002 * k, value_of(name, rng))
    assert aligner.findings() == []
    assert len(aligner.take()[-1].samples["mocap"]) > 250


def test_rest_is_not_stuck_if_the_configuration_says_so() -> None:
    config = StreamHealthConfig(stuck_after=0.0)
    aligner = Aligner({"joints": CHANNELS["joints"]}, GridConfig(), config)
    for k in range(1000):
        aligner.push("joints", T0 + 0.002 * k, np.zeros(3))
    assert aligner.findings() == []
