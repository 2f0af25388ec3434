# SPDX-License-Identifier: Apache-2.0
"""Configuration of the methods: the only home of its defaults."""

from __future__ import annotations

from dataclasses import dataclass

from sysid_nodes.data.config import option

METHODS = ("structured", "network", "residual", "oracle", "free_oracle", "cma_es")


@dataclass(frozen=True)
class OracleConfig:
    """Torque from the motion alone; it has hardly anything to choose, for the data tell noise and prior."""

    beside: bool = option(True, "whether the report shows the torque oracle beside whatever method is chosen")
    passes: int = option(2, "times the law's torque is computed anew along the smoothed motion; 0: no law", minimum=0)
    slow: float = option(
        0.1,
        "speed below which torque may change faster, for friction may be what no law says",
        unit="rad/s",
        minimum=1e-4,
    )
    free_horizon: float = option(0.1, "free_oracle: length of its segments", unit="s", minimum=1e-3)
    free_speed_weight: float = option(
        0.0, "free_oracle: weight of the velocity beside that of the position", unit="s2", minimum=0.0
    )
    free_iterations: int = option(300, "free_oracle: steps of Adam", minimum=1)


@dataclass(frozen=True)
class NetworkConfig:
    """A small network of (command, position, velocity), trained through rollouts."""

    width: int = option(32, "of its two hidden layers", minimum=1, maximum=256)
    horizon: float = option(0.5, "length of the rollouts it is trained on", unit="s", minimum=1e-3)
    labels: int = option(150, "iterations on the torque oracle's labels, before any rollout", minimum=0)
    iterations: int = option(60, "iterations through rollouts", minimum=0)
    bound: float = option(
        3.0, "residual: its limit, in units of the RMS by which law and oracle differ", unit="1", minimum=0.0
    )
    speed_weight: float = option(0.0, "weight of the velocity beside that of the position", unit="s2", minimum=0.0)
    decay: float = option(1e-3, "weight of the squared weights beside the mean squared error", minimum=0.0)
    held_out: float = option(
        0.25, "share of the log, its end, that training does not see and that decides", minimum=0.05, maximum=0.8
    )
    judged: float = option(2.0, "length of the rollouts that decide", unit="s", minimum=1e-2)
    better: float = option(
        0.5,
        "network: RMSE on the held-out part and on the whole log, of the law's, below which it replaces the law",
        minimum=0.0,
    )
    margin: float = option(
        0.1, "way out of the training range over which the law takes over, relative to the range", minimum=1e-3
    )
    seed: int = option(1, "of the first weights", minimum=0)
    onnx: bool = option(False, "whether to write JOINT.onnx beside networks.npz, with the optional library onnx")


@dataclass(frozen=True)
class EvolutionConfig:
    """The paper's form without gradients: stiffness, damping and armature by CMA-ES."""

    evaluations: int = option(600, "rollouts at most", minimum=10)
    horizon: float = option(0.5, "length of the segments, from measured states", unit="s", minimum=1e-3)
    seed: int = option(1, "of the search", minimum=1)
