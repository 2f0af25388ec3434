# SPDX-License-Identifier: Apache-2.0
"""Measurement models of floating-base robots, one a file; see ``sensor`` for what they have in common."""

from sysid_nodes.sensors.sensor import Linearisation, Sensor, States, StaticParameter
from sysid_nodes.sensors.suite import (
    SOURCES,
    SensorsConfig,
    build_sensors,
    channel_specs,
    parameter_layout,
    sensor_configs,
    sources,
)
from sysid_nodes.signals.samples import Samples

__all__ = [
    "SOURCES",
    "Linearisation",
    "Samples",
    "Sensor",
    "SensorsConfig",
    "States",
    "StaticParameter",
    "build_sensors",
    "channel_specs",
    "parameter_layout",
    "sensor_configs",
    "sources",
]
