# SPDX-License-Identifier: Apache-2.0
"""Times at which each sensor reads and its readings arrive, and their stamps."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from sysid_nodes.data.joint_order import JointOrder
from sysid_nodes.simulation.legged.faults import Fault, FaultInjector
from sysid_nodes.simulation.legged.sensors import (
    ImuSensor,
    JointSensor,
    LeggedSensorsConfig,
    MocapSensor,
    Observed,
    Reading,
    SensorConfig,
    VelocitySensor,
)

Read = Callable[[Observed, float, float], Reading | None]


class Stream:
    """One sensor's clock and transport.

    Args:
        config: rate, stamps, delay and loss.
        read: gives a reading for a true observation, a stamp and an arrival.
        rng: of stamps and losses.
        start: stamp of simulated time zero [s].
    """

    def __init__(
        self,
        config: SensorConfig,
        read: Read,
        rng: np.random.Generator,
        *,
        start: float,
    ) -> None:
        self._config, self._read, self._rng, self._start = config, read, rng, start
        self._taken = 0

    def observe(self, seen: Observed) -> Reading | None:
        """A reading if one is due and not lost."""
        config = self._config
        if seen.time * config.rate < self._taken - 1e-6:
            return None
        # Sampling times are multiples of the period; a tick that comes late does not shift those after it.
        self._taken = int(np.floor(seen.time * config.rate + 1e-6)) + 1
        jitter, lost = self._rng.standard_normal(), self._rng.uniform() < config.loss
        time = self._start + seen.time
        reading = self._read(seen, time + config.stamp_offset + config.stamp_jitter * jitter, time + config.delay)
        return None if lost else reading


class SensorSuite:
    """All streams of a robot, their readings in the order of arrival.

    Args:
        names: joint names, in the simulation's order.
        published: joint names in the order in which they are published.
        rng: source of all noise; each sensor gets its own generator, so that one's settings do not change another's.
        start: stamp of simulated time zero [s].
        faults: what goes wrong with the streams.
    """

    def __init__(
        self,
        config: LeggedSensorsConfig,
        names: tuple[str, ...],
        published: tuple[str, ...],
        rng: np.random.Generator,
        *,
        start: float,
        faults: Sequence[Fault] = (),
    ) -> None:
        seeds = [np.random.default_rng(seed) for seed in rng.integers(0, 2**63, 9)]
        self.joints = JointSensor(config.joints, names, seeds[0])
        self.imu = ImuSensor(config.imu, seeds[1])
        self.mocap = MocapSensor(config.mocap, seeds[2])
        self._velocity = VelocitySensor(config.velocity, seeds[7])
        self._order = JointOrder(published).columns(names)
        self._published = published
        self._streams = (
            Stream(config.joints, self._read_joints, seeds[3], start=start),
            Stream(config.imu, self.imu.read, seeds[4], start=start),
            Stream(config.mocap, self.mocap.read, seeds[5], start=start),
            Stream(config.velocity, self._velocity.read, seeds[8], start=start),
        )
        self._send = FaultInjector(faults, seeds[6])
        self._waiting: list[tuple[float, int, Reading]] = []
        self._count = 0

    def observe(self, seen: Observed) -> None:
        """Takes the readings that are due."""
        for stream in self._streams:
            taken = stream.observe(seen)
            reading = self._send(taken) if taken is not None else None
            if reading is not None:
                heapq.heappush(self._waiting, (reading.arrival, self._count, reading))
                self._count += 1

    def take_arrived(self, until: float) -> tuple[Reading, ...]:
        """Removes and returns the readings that have arrived by a time [s], in order of arrival."""
        readings = []
        while self._waiting and self._waiting[0][0] <= until + 1e-9:
            readings.append(heapq.heappop(self._waiting)[2])
        return tuple(readings)

    def _read_joints(self, seen: Observed, stamp: float, arrival: float) -> Reading:
        reading = self.joints.read(seen, stamp, arrival)
        order = self._order
        return replace(
            reading,
            names=self._published,
            position=reading.position[order],
            velocity=reading.velocity[order],
            effort=reading.effort[order],
        )
