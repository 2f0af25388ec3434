# SPDX-License-Identifier: Apache-2.0
"""Motion capture: the pose of a cluster of markers on a link, its axes not exactly aligned with the link's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.models import rotations
from sysid_nodes.robots import Robot
from sysid_nodes.sensors.frame_motion import Pose, SensorFrame
from sysid_nodes.sensors.late import LateConfig
from sysid_nodes.sensors.sensor import Array, Linearisation, States, StaticParameter
from sysid_nodes.signals.channel_config import ValueKind
from sysid_nodes.signals.samples import Samples


@dataclass(frozen=True)
class MocapPoseConfig(LateConfig):
    """Motion capture of a cluster of markers."""

    rate: float = option(100.0, "rate that the stream should have", unit="Hz", minimum=0.1, maximum=1e5)
    max_gap: float = option(
        0.05, "readings farther apart are not connected: steps in between go without", unit="s", minimum=1e-4
    )
    delay_sigma: float = option(
        5e-3,
        "prior standard deviation of an error of the delay against the joints', which is then estimated; 0: exact",
        unit="s",
        minimum=0.0,
    )
    largest: float = option(200.0, "a reading with a larger component is garbage", unit="m", minimum=0.0)
    link: str = option("", "URDF link that carries the markers; empty for the floating base")
    position_sigma: float = option(2e-3, "standard deviation of a position component", unit="m", minimum=1e-9)
    orientation_sigma: float = option(0.02, "standard deviation of an orientation component", unit="rad", minimum=1e-9)
    offset: tuple[float, ...] = option((0.0, 0.0, 0.0), "x, y, z of the markers' origin in the link's frame", unit="m")
    offset_sigma: float = option(
        0.0, "prior standard deviation of an error of the offset, which is then estimated; 0: it is exact", unit="m"
    )
    estimate_bias: bool = option(True, "whether the constant turn between link and markers is estimated")
    bias_sigma: float = option(0.05, "prior standard deviation of that turn about zero", unit="rad", minimum=1e-9)

    def __post_init__(self) -> None:
        if len(self.offset) != 3:
            raise ConfigError(f"'offset' of the motion capture must be three numbers, got {len(self.offset)}")


@dataclass(frozen=True)
class MocapPose:
    """Reading: position [m] and quaternion x, y, z, w of the markers in the world.

    Prediction, with (p, R) the link's pose: p + R (offset + its error), R Exp(bias). Residual: position error in the
    world (3 rows), then Log(R_measured' R Exp(bias)) (3 rows).

    Attributes:
        offset: (3,) [m].
        sigma: (6,) standard deviations [m, rad].
        with_bias, with_offset: which of the static parameters there are, in this order.
    """

    frame: SensorFrame
    offset: Array
    sigma: Array
    parameters: tuple[StaticParameter, ...]
    with_bias: bool
    with_offset: bool
    name: str = "mocap_pose"
    kind: ValueKind = ValueKind.POSE
    width: int = 7
    rows: int = 6

    def residual(self, samples: Samples, states: States, parameters: Array) -> Array:
        """(K, 6) whitened."""
        pose, (bias, offset) = self.frame.pose(states), self._constants(parameters)
        turn = rotations.quaternion_matrix(pose.quaternion)
        shift, error = self._errors(samples, pose, turn, rotations.quaternion_exp(bias), offset)
        return np.column_stack([shift, error]) * (samples.weights[:, None] / self.sigma)

    def linearise(self, samples: Samples, states: States, parameters: Array) -> Linearisation:
        """The residual and its Jacobians with respect to q, the bias and the offset."""
        pose, (bias, offset) = self.frame.pose(states), self._constants(parameters)
        turn, quaternion_bias = rotations.quaternion_matrix(pose.quaternion), rotations.quaternion_exp(bias)
        shift, error = self._errors(samples, pose, turn, quaternion_bias, offset)
        by_angle = rotations.right_log_jacobian(error)
        linear, angular = pose.jacobian[:, :3], pose.jacobian[:, 3:]
        by_q = np.concatenate(
            [
                turn @ (linear - rotations.skew(offset) @ angular),
                by_angle @ rotations.quaternion_matrix(quaternion_bias).T @ angular,
            ],
            axis=1,
        )
        by_reading = np.zeros((len(samples), 6, 6))
        by_reading[:, :3, :3], by_reading[:, 3:, 3:] = -np.eye(3), -by_angle.swapaxes(1, 2)
        raw = Linearisation(
            np.column_stack([shift, error]),
            q=by_q,
            reading=by_reading,
            parameters=self._by_parameters(by_angle @ np.linalg.inv(rotations.right_log_jacobian(bias)), turn),
        )
        return raw.whiten(samples.weights[:, None] / self.sigma)

    def _constants(self, parameters: Array) -> tuple[Array, Array]:
        """Bias and offset of the markers."""
        bias = parameters[:3] if self.with_bias else np.zeros(3)
        return bias, self.offset + parameters[-3:] if self.with_offset else self.offset

    def _errors(
        self, samples: Samples, pose: Pose, turn: Array, quaternion_bias: Array, offset: Array
    ) -> tuple[Array, Array]:
        """(K, 3) of the position and (K, 3) of the orientation."""
        measured = rotations.quaternion_inverse(samples.values[:, 3:])
        predicted = rotations.quaternion_product(pose.quaternion, quaternion_bias)
        error = rotations.quaternion_log(rotations.quaternion_product(measured, predicted))
        return pose.position + turn @ offset - samples.values[:, :3], error

    def _by_parameters(self, by_bias: Array, by_offset: Array) -> Array | None:
        blocks = []
        if self.with_bias:
            blocks.append(np.concatenate([np.zeros_like(by_bias), by_bias], axis=1))
        if self.with_offset:
            blocks.append(np.concatenate([by_offset, np.zeros_like(by_offset)], axis=1))
        return np.concatenate(blocks, axis=2) if blocks else None


def mocap_pose(robot: Robot, config: MocapPoseConfig) -> MocapPose:
    """Motion capture of a robot.

    Raises:
        RobotError: the link is unknown or does not move.
    """
    with_offset = config.offset_sigma > 0.0
    bias = StaticParameter("mocap_pose.orientation_bias", "rad", np.zeros(3), np.full(3, config.bias_sigma))
    offset = StaticParameter("mocap_pose.offset_error", "m", np.zeros(3), np.full(3, config.offset_sigma))
    return MocapPose(
        frame=SensorFrame(robot, config.link),
        offset=np.array(config.offset),
        sigma=np.repeat([config.position_sigma, config.orientation_sigma], 3),
        parameters=(*((bias,) if config.estimate_bias else ()), *((offset,) if with_offset else ())),
        with_bias=config.estimate_bias,
        with_offset=with_offset,
    )
