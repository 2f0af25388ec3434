# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("rclpy", reason="rclpy is not installed")
pytest.importorskip("online_sysid.msg", reason="the messages are not built; make setup builds them")

import rclpy
from rcl_interfaces.msg import Parameter as ParameterMessage
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.parameter import Parameter

from sysid_nodes.cli.demo.nodes import parameter_rules
from sysid_nodes.data.config import options
from sysid_nodes.exceptions import ConfigError
from sysid_nodes.sessions.interval.node_config import IntervalNodeConfig
from sysid_nodes.systems.interval.config import IntervalIdentifierConfig

pytestmark = pytest.mark.ros


def change(bench: Any, **values: Any) -> Any:
    """Sets parameters over the service, all or none."""
    parameters: list[ParameterMessage] = [
        Parameter(name.replace("__", "."), value=value).to_parameter_msg() for name, value in values.items()
    ]
    request = SetParametersAtomically.Request(parameters=parameters)
    return bench.call(SetParametersAtomically, "/interval_identifier/set_parameters_atomically", request).result


@pytest.mark.parametrize("value", ["", "true", "5", "a: b", "it's", True, 5, 0.5, [22.5, 25.0], ["a", ""]])
def test_a_child_process_gets_the_parameters_it_is_given(value: Any, tmp_path: Path) -> None:
    rules = parameter_rules({"some__name": value, "file": tmp_path / "of a truth"})
    context = rclpy.Context()
    rclpy.init(args=["--ros-args", *rules], context=context)
    try:
        node = rclpy.create_node("child", context=context, automatically_declare_parameters_from_overrides=True)
        got = node.get_parameter("some.name").value
        assert (got if np.isscalar(value) else list(got)) == value
        assert type(got) is type(value) or not np.isscalar(value)
        assert node.get_parameter("file").value == str(tmp_path / "of a truth")
        node.destroy_node()
    finally:
        rclpy.try_shutdown(context=context)


def test_every_option_is_a_documented_parameter_with_its_default(bench: Any) -> None:
    node = bench.node(autostart=True, diagnostics_period=1.0)
    for item in (*options(IntervalIdentifierConfig), *options(IntervalNodeConfig)):
        value = node.get_parameter(item.name).value
        assert (value == item.default) if np.isscalar(item.default) else (tuple(value) == item.default), item.name
        described = node.describe_parameter(item.name)
        assert item.doc in described.description
        assert f"[{item.unit}]" in described.description or not item.unit
        assert ("unconfigured" in described.additional_constraints) is not item.live
        if item.type is float and item.minimum is not None:
            assert described.floating_point_range[0].from_value == item.minimum


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"noise__torque_relativ": 0.1}, "parameters: unknown key 'noise.torque_relativ'"),
        ({"noise__torque_relative": 0.1}, "'noise.torque_relative' must be a list of numbers, got 0.1"),
        ({"noise__torque_relative": [-0.1]}, "'noise.torque_relative' must be at least 0"),
        ({"method": "guess"}, "'method' must be one of set_membership, sensitivity, got 'guess'"),
        ({"window__duration": 60.0}, "'window.duration' must be at most 10"),
        ({"window__duration": float("nan")}, "'window.duration' must be a finite number"),
        ({"prior__lower": [9.0] * 10}, "impossible bounds: m has lower 9 above upper 5.2"),
        ({"buffer": 0}, "'buffer' must be at least 1"),
        ({"autostart": "yes"}, "'autostart' must be true or false"),
    ],
)
def test_a_bad_override_is_one_clear_line(bench: Any, given: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        bench.node(**given)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_whole_numbers_and_empty_lists_are_taken_as_written(bench: Any) -> None:
    node = bench.node(window__duration=1, noise__torque_relative=[0], known_robot__coulomb=[])
    config = node._settings.build(IntervalIdentifierConfig)
    assert config.window.duration == 1.0
    assert config.noise.torque_relative == (0.0,)
    assert config.known_robot.coulomb == ()


def test_a_running_node_takes_live_options_only(bench: Any) -> None:
    node = bench.node()
    node.trigger_configure()
    assert change(bench, noise__torque_relative=[0.05]).successful
    assert tuple(node.get_parameter("noise.torque_relative").value) == (0.05,)
    assert node._live._session._pipeline.config.noise.torque_relative == (0.05,)
    refused = change(bench, window__duration=0.2)
    assert not refused.successful
    assert refused.reason == "'window.duration' may change only while the node is unconfigured"
    assert node.get_parameter("window.duration").value == 0.1


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"noise__torque_relative": [2.0]}, "'noise.torque_relative' must be at most 1, got [2.0]"),
        ({"noise__torque_relative": [0.1, 0.1]}, "7"),
        ({"noise__torque_absolute": [0.5], "noise__stamp_error": 5.0}, "noise.stamp_error"),
    ],
)
def test_a_refused_change_says_why_and_changes_nothing(bench: Any, given: dict[str, Any], reason: str) -> None:
    node = bench.node()
    node.trigger_configure()
    refused = change(bench, **given)
    assert not refused.successful
    assert reason in refused.reason
    assert node._settings.build(IntervalIdentifierConfig) == IntervalIdentifierConfig()
    assert tuple(node.get_parameter("noise.torque_absolute").value) == (0.0,)


def test_an_unconfigured_node_takes_everything_valid(bench: Any) -> None:
    node = bench.node()
    assert change(bench, window__duration=0.2, robot="panda").successful
    refused = change(bench, prior__lower=[9.0] * 10)
    assert "impossible bounds" in refused.reason
    # lower and upper only make sense together: one atomic change
    assert change(bench, prior__lower=[9.0] * 10, prior__upper=[10.0] * 10).successful
    assert node._settings.build(IntervalIdentifierConfig).window.duration == 0.2
