# SPDX-License-Identifier: Apache-2.0
"""Stand-ins for Unitree's LowState and LowCmd messages, whose packages come with the vendor's SDK only."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Motor:
    """As unitree_go/MotorState and unitree_hg/MotorState, as far as it is read."""

    q: float = 0.0
    dq: float = 0.0
    tau_est: float = 0.0


@dataclass
class Imu:
    quaternion: np.ndarray = field(default_factory=lambda: np.array([1.0, 0.0, 0.0, 0.0], dtype=np.float32))
    gyroscope: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.float32))
    accelerometer: np.ndarray = field(default_factory=lambda: np.zeros(3, dtype=np.float32))


@dataclass
class GoLowState:
    tick: int = 0
    imu_state: Imu = field(default_factory=Imu)
    motor_state: list[Motor] = field(default_factory=lambda: [Motor() for _ in range(20)])


@dataclass
class HgLowState:
    tick: int = 0
    mode_pr: int = 0
    imu_state: Imu = field(default_factory=Imu)
    motor_state: list[Motor] = field(default_factory=lambda: [Motor() for _ in range(35)])


@dataclass
class LowMotor:
    """As unitree_go/MotorCmd."""

    q: float = 0.0
    dq: float = 0.0
    tau: float = 0.0
    kp: float = 0.0
    kd: float = 0.0


@dataclass
class GoLowCmd:
    motor_cmd: list[LowMotor] = field(default_factory=lambda: [LowMotor() for _ in range(20)])
