"""Between ROS messages and the suite's own data. Nothing is judged here; that is the pipeline's business."""

from __future__ import annotations

import math

from builtin_interfaces.msg import Time
from online_sysid.msg import ParameterBounds
from sensor_msgs.msg import JointState

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.results import Contradiction, IdentificationResult
from sysid_nodes.ros.session import Measurement, Subject

_NANOSECONDS = 1_000_000_000


def to_seconds(stamp: Time) -> float:
    """Stamp as seconds; the same expression as the bag reader's, so that live and replay agree to the last bit."""
    return float(stamp.sec + stamp.nanosec * 1e-9)


def to_stamp(seconds: float) -> Time:
    """Seconds as a stamp, rounded to nanoseconds; zero where there is none (not finite, or out of the type's range)."""
    if not math.isfinite(seconds) or not 0.0 <= seconds < 2**31:
        return Time()
    whole = math.floor(seconds)
    nanoseconds = round((seconds - whole) * _NANOSECONDS)
    return Time(sec=whole + nanoseconds // _NANOSECONDS, nanosec=nanoseconds % _NANOSECONDS)


def to_measurement(message: JointState) -> Measurement:
    """The fields of a JointState, names and arrays untouched."""
    return Measurement(
        message.name, to_seconds(message.header.stamp), message.position, message.velocity, message.effort
    )


def to_parameter_bounds(result: IdentificationResult, subject: Subject) -> ParameterBounds:
    """A result as a message; see the message for the meaning of every field."""
    message = ParameterBounds()
    message.header.stamp = to_stamp(result.t)
    message.header.frame_id = subject.frame
    message.robot, message.body, message.method = subject.robot, subject.body, subject.method
    message.status = int(result.status)
    message.message = sentence(result)
    message.names = list(PARAMETER_NAMES)
    message.nominal = result.nominal
    message.lower = result.lower
    message.upper = result.upper
    message.condition_number = float(result.excitation.condition_number)
    message.singular_values = [float(x) for x in result.excitation.singular_values]
    message.blind_directions = list(result.excitation.blind)
    message.window = int(result.window)
    message.samples_used = int(result.samples_used)
    message.samples_rejected = sum(result.samples_rejected.values())
    message.rejected_reasons = sorted(result.samples_rejected)
    message.rejected_counts = [result.samples_rejected[reason] for reason in message.rejected_reasons]
    message.solve_time = float(result.solve_time)
    if result.contradiction is not None:
        _fill_contradiction(message, result.contradiction)
    return message


def sentence(result: IdentificationResult) -> str:
    """The status in one sentence, with its cause where there is one."""
    if result.contradiction is None:
        return result.status.message
    return f"{result.status.message}: {result.contradiction.sentence()}"


def _fill_contradiction(message: ParameterBounds, found: Contradiction) -> None:
    message.contradiction_assumption = found.assumption
    message.contradiction_factor = float(found.factors.get(found.assumption, math.inf))
    message.contradiction_windows = [int(window) for window in found.windows]
    message.contradiction_start = [to_stamp(float(start)) for start, _ in found.times]
    message.contradiction_end = [to_stamp(float(end)) for _, end in found.times]
    message.payload_changed = bool(found.payload_changed)
    if found.payload_changed and found.change_time is not None:
        message.change_time = to_stamp(found.change_time)
