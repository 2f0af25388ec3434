# SPDX-License-Identifier: Apache-2.0
"""Runs one node until it is told to stop."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar

import rclpy
from rclpy.executors import Executor, ExternalShutdownException, SingleThreadedExecutor
from rclpy.node import Node

from sysid_nodes.exceptions import ConfigError, SysidError
from sysid_nodes.messages.transport import use_udp
from sysid_nodes.solvers.threads import use_one_blas_thread

AnyNode = TypeVar("AnyNode", bound=Node)

# How long a stop may go unnoticed [s].
_PATIENCE = 0.1


def make_executor() -> Executor:
    """The executor that loses nothing at 1 kHz and costs least.

    The events executor (Jazzy and newer) takes about a quarter of the processor time of the single-threaded one at
    that rate; the multi-threaded one loses messages.
    """
    try:
        from rclpy.experimental import EventsExecutor
    except ImportError:
        return SingleThreadedExecutor()
    return EventsExecutor()


def start(args: list[str] | None = None) -> None:
    """rclpy.init for an executable, over UDP: SIGINT shuts the context down, as SIGTERM does, and does no more.

    Python's own handler would raise KeyboardInterrupt as well, in the middle of whatever runs then, clean-up included.
    rclpy takes SIGINT from when the context is there, which lasts on a busy machine; one before shuts it down then.

    Raises:
        ConfigError: the arguments or a parameter file do not parse.
    """
    early: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: early.append(number))
    use_udp(os.environ)
    try:
        rclpy.init(args=args)
    except RuntimeError as error:  # rclpy's own errors derive from it and are not public
        raise ConfigError(" ".join(str(error).split())) from None
    if early:
        rclpy.try_shutdown()


@contextmanager
def until_shutdown() -> Iterator[None]:
    """Ends the block quietly when the context is shut down (SIGINT, SIGTERM), wherever in it that happens.

    A signal invalidates the context at once, and then whatever rclpy is asked to do next raises, each in its own way.
    """
    try:
        yield
    except (KeyboardInterrupt, ExternalShutdownException):
        pass
    except Exception:
        if rclpy.ok():
            raise


def check_running() -> None:
    """To be called now and then by a long computation under `until_shutdown`, which it ends when the context has.

    Raises:
        ExternalShutdownException: the context is shut down.
    """
    if not rclpy.ok():
        raise ExternalShutdownException


def spin(node: Node, stopped: Callable[[], bool]) -> None:
    """Serves the node until stopped() is true or the context is shut down."""
    executor = make_executor()
    executor.add_node(node)
    try:
        with until_shutdown():
            # EventsExecutor.spin() fires no timers in rclpy 7.1
            while rclpy.ok() and not stopped():
                executor.spin_once(_PATIENCE)
    finally:
        executor.shutdown()


class RobotNode(Protocol):
    """A node that stands in for hardware and lets time pass until it is told to stop."""

    def run(self, stopped: Callable[[], bool]) -> None: ...
    def destroy_node(self) -> None: ...


def run_robot(name: str, make: Callable[[], RobotNode], args: list[str] | None) -> int:
    """`run_node` for a simulated robot."""
    return run_node(name, make, lambda node: node.run(lambda: not rclpy.ok()), args)


def run_node(
    name: str,
    make: Callable[[], AnyNode],
    serve: Callable[[AnyNode], None],
    args: list[str] | None,
    *,
    failed: Callable[[AnyNode], bool] = lambda _: False,
    release: Callable[[AnyNode], None] = lambda _: None,
) -> int:
    """The life of an executable: starts ROS, makes a node, serves it until it ends, and gives everything back.

    Args:
        name: of the executable, for its one line on stderr.
        make: makes the node.
        serve: returns when the node is done or the context is shut down.
        args: command line; None for the process's own.
        failed: whether a node that was served never got to work.
        release: gives back what the node took besides its ROS entities.

    Returns:
        The exit status: 0, or 2 where the node could not start.
    """
    use_one_blas_thread()
    node: AnyNode | None = None
    try:
        start(args)
        try:
            with until_shutdown():
                node = make()
                serve(node)
        finally:
            if node is not None:
                release(node)
        return 2 if node is not None and failed(node) else 0
    except SysidError as error:
        sys.stderr.write(f"{name}: {error}\n")
        return 2
    finally:
        if node is not None:
            node.destroy_node()
        rclpy.try_shutdown()
