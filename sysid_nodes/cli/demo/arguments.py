# SPDX-License-Identifier: Apache-2.0
"""The command line of the demos."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

from sysid_nodes.exceptions import InputError

HEAVIEST = 3.6
"""The room that is certified for the load is that of an eight-pound dumbbell [kg]."""

ROBOTS = ("kinova", "go2", "g1", "actuators", "spi", "fourbar")

_OF_SOME = {
    "payload": ("kinova", "go2", "g1", "spi"),
    "identify": ("kinova",),
    "delay": ("kinova",),
    "speed": ("kinova",),
    "motion_time": ("go2", "g1", "actuators", "fourbar"),
    "change": ("actuators",),
    "policy": ("spi",),
}
"""Arguments that not every demo has, and which have them."""

CHANGES = ("none", "friction", "gain", "delay")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of all demos."""
    parser.add_argument(
        "robot",
        choices=ROBOTS,
        help="which demo, see below",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("demo_output"),
        metavar="DIR",
        help="folder for the results; default: %(default)s",
    )
    parser.add_argument(
        "--seed", type=_count, metavar="N", help="seed of the random numbers; default: a new one each time"
    )
    parser.add_argument(
        "--payload",
        type=_within(0.1, HEAVIEST),
        metavar="KG",
        help="mass of the load; default: drawn, for kinova from 1.8 to 3.6 kg",
    )
    _add_of_some(parser)
    parser.add_argument("--domain-id", type=_domain, metavar="N", help="ROS_DOMAIN_ID to use; default: a free one")
    parser.add_argument("--rviz", action="store_true", help="show the robot in RViz (needs a ROS install that has it)")


def _add_of_some(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--identify",
        type=_within(1.0, 60.0),
        default=7.5,
        metavar="S",
        help="kinova: longest time to identify before the load is carried [s]; default: %(default)g",
    )
    parser.add_argument(
        "--delay",
        type=_within(0.0, 10.0),
        default=0.0,
        metavar="MS",
        help="kinova: how late torques act behind the joint states that they answer [ms]; default: %(default)g",
    )
    parser.add_argument(
        "--speed",
        type=_within(0.05, 1.0),
        metavar="X",
        help="kinova: seconds of the robot in one of the machine's, at most; default: such that the planner keeps up on"
        " this many cores, 1 on four",
    )
    parser.add_argument(
        "--motion-time",
        type=_within(1.0, 60.0),
        metavar="S",
        help="go2, g1: how long it moves [s]; default: its whole programme, 10 and 15 s; actuators: until the change; "
        "fourbar: 12 s",
    )
    parser.add_argument(
        "--change",
        choices=CHANGES,
        default="friction",
        help="actuators: what changes at one of the drives on the way; default: %(default)s",
    )
    parser.add_argument(
        "--policy",
        type=Path,
        metavar="FILE",
        help="spi: trained policy (ONNX) that obeys commands; default: a scripted one",
    )


def refuse_others_options(args: argparse.Namespace) -> None:
    """Raises InputError where an argument is given that this robot's demo would pass over."""
    for name in _given(args):
        robots = _OF_SOME.get(name, ROBOTS)
        if args.robot not in robots:
            raise InputError(f"the demo of {args.robot} has none; of {', '.join(robots)} only", source=_option(name))


def given_options(args: argparse.Namespace) -> list[str]:
    """Words of those arguments that are not as they are by default, but for the robot, its seed and the folder."""
    words = []
    for name in _given(args):
        value = getattr(args, name)
        if name not in ("seed", "out"):
            words += [_option(name), *([] if value is True else [str(value)])]
    return words


def _given(args: argparse.Namespace) -> list[str]:
    """Names of the arguments that are not as they are by default, but for the robot."""
    parser = argparse.ArgumentParser()
    add_arguments(parser)
    defaults = vars(parser.parse_args([args.robot]))
    return [name for name, default in defaults.items() if getattr(args, name) != default]


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _count(text: str) -> int:
    if not text.isdigit():
        raise argparse.ArgumentTypeError(f"expected a whole number from 0 on, got '{text}'")
    return int(text)


def _domain(text: str) -> int:
    if not text.isdigit() or int(text) > 232:
        raise argparse.ArgumentTypeError(f"expected 0 to 232, got '{text}'")
    return int(text)


def _within(low: float, high: float) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = float("nan")
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"expected a number from {low:g} to {high:g}, got '{text}'")
        return value

    return number
