# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of a node from configuration dataclasses, and back."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor, SetParametersResult
from rclpy.node import Node
from rclpy.parameter import Parameter

from sysid_nodes.data.config import SUITE, Option, from_flat, gather_joints, options, range_text
from sysid_nodes.data.joint_vector import ByJoint, did_you_mean
from sysid_nodes.exceptions import ConfigError, SysidError

T = TypeVar("T")

# Declared by rclpy itself, or read by it, whatever the node.
_RCLPY_NAMES = ("use_sim_time", "start_type_description_service")
_RCLPY_PREFIXES = ("qos_overrides.",)


class NodeParameters:
    """Declares the options of some configuration dataclasses on a node and holds their checked values.

    A change while running is logged.

    Args:
        node: owner of the parameters.
        configs: configuration dataclasses; their dotted names must not collide.
        running: whether the node is past its configuration, when only live options may change.
        apply: called with all names and values after a change while running; may raise SysidError to refuse. None
            where nothing may change.

    Attributes:
        stated: names of the options that were given a value at the start.

    Raises:
        ConfigError: an override is unknown to the suite, of a wrong type or out of range.
    """

    def __init__(
        self,
        node: Node,
        configs: Sequence[type[Any]],
        *,
        running: Callable[[], bool],
        apply: Callable[[NodeParameters], None] | None = None,
    ) -> None:
        self._configs = tuple(configs)
        self._options = {item.name: item for config in configs for item in options(config)}
        self._running = running
        self._apply = apply
        self._values: dict[str, Any] = {name: item.default for name, item in self._options.items()}
        given = self._overrides(node)
        self.stated = frozenset(given)
        self._values |= given
        for config in self._configs:
            self.build(config)
        for name, item in self._options.items():
            value = self._values[name]
            if isinstance(value, ByJoint):
                for joint, part in zip(value.names, value, strict=True):
                    node.declare_parameter(f"{name}.{joint}", part, ignore_override=True)
            else:
                _declare(node, item, value)
        self._log = node.get_logger()
        node.add_on_set_parameters_callback(self._on_set)

    def build(self, config: type[T]) -> T:
        """A configuration from the present values.

        Raises:
            ConfigError: the values contradict one another.
        """
        names = {item.name for item in options(config)}
        return from_flat(config, {name: value for name, value in self._values.items() if name in names})

    def _overrides(self, node: Node) -> dict[str, Any]:
        # rclpy has no public way to see what was set that nobody declares; to declare it all beforehand fails for
        # an empty list, which arrives without a type.
        given = gather_joints({name: item.value for name, item in node._parameter_overrides.items()}, self._options)
        # A parameter file may be for several nodes.
        others = SUITE - {name.split(".")[0] for name in self._options}
        for name in sorted(name for name in given if name.split(".")[0] not in others):
            if name not in self._options and name not in _RCLPY_NAMES and not name.startswith(_RCLPY_PREFIXES):
                hint = did_you_mean(name, self._options)
                raise ConfigError(f"unknown key '{name}'{hint}", source="parameters")
        mine = {name: value for name, value in given.items() if name in self._options}
        return {name: value if isinstance(value, ByJoint) else _as_written(value) for name, value in mine.items()}

    def _on_set(self, changes: list[Parameter]) -> SetParametersResult:
        if by_joint := [
            c.name for c in changes if c.name not in self._options and c.name.rpartition(".")[0] in self._options
        ]:
            return SetParametersResult(successful=False, reason=f"'{by_joint[0]}' may change only in a parameter file")
        mine = {change.name: _as_written(change.value) for change in changes if change.name in self._options}
        if not mine:
            return SetParametersResult(successful=True)
        running = self._running()
        for name in mine:
            if running and not (self._apply and self._options[name].live):
                return SetParametersResult(
                    successful=False, reason=f"'{name}' may change only while the node is unconfigured"
                )
        before = self._values
        self._values = before | mine
        try:
            for config in self._configs:
                self.build(config)
            if running and self._apply:
                self._apply(self)
        except SysidError as error:
            self._values = before
            return SetParametersResult(successful=False, reason=str(error))
        if running:
            self._log.info("changed: " + ", ".join(f"{name} = {value}" for name, value in mine.items()))
        return SetParametersResult(successful=True)


def descriptor(item: Option) -> ParameterDescriptor:
    """Description, unit, range and when a change is allowed, of one option."""
    text = f"{item.doc} [{item.unit}]" if item.unit else item.doc
    result = ParameterDescriptor(name=item.name, description=text, dynamic_typing=True)
    result.additional_constraints = "; ".join(
        part
        for part in (range_text(item).replace("`", ""), "" if item.live else "changes only while unconfigured")
        if part
    )
    low, high = item.minimum, item.maximum
    if low is None and high is None:
        return result
    if item.type is int:
        result.integer_range = [
            IntegerRange(
                from_value=-(2**63) if low is None else int(low), to_value=2**63 - 1 if high is None else int(high)
            )
        ]
    elif item.type is float:
        largest = sys.float_info.max
        result.floating_point_range = [
            FloatingPointRange(
                from_value=-largest if low is None else float(low), to_value=largest if high is None else float(high)
            )
        ]
    return result


def _declare(node: Node, item: Option, value: Any) -> None:
    # Dynamic typing lets an integer stand for a double, as YAML writers expect; the check is from_flat's.
    node.declare_parameter(item.name, _plain(value), descriptor(item), ignore_override=True)
    if isinstance(_plain(value), list) and not value:
        # rclpy takes an empty list for bytes
        node.set_parameters([Parameter(item.name, Parameter.Type.DOUBLE_ARRAY, [])])


def _as_written(value: Any) -> Any:
    """An array as a list, so that messages show what the user wrote; an empty list arrives without a type or value."""
    return value if isinstance(value, (bool, int, float, str)) else list(() if value is None else value)


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, int, float, str)):
        return value
    return [x if isinstance(x, str) else float(x) for x in value]
