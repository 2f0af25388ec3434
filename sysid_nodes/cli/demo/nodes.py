# SPDX-License-Identifier: Apache-2.0
"""The demo's processes: started on a ROS domain of their own, listened to through a pipe, ended whatever happens."""

from __future__ import annotations

import contextlib
import ctypes
import importlib.util
import json
import os
import random
import select
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from sysid_nodes.exceptions import InputError, OverdueError, SysidError

_PORT_BASE, _PORTS_A_DOMAIN, _FIRST_UNICAST = 7400, 250, 10  # of DDS discovery, by the standard
_PARTICIPANTS = 8  # a domain is in use if one of its first participants' ports is
_DOMAINS = range(1, 102)  # their ports lie below Linux's ephemeral range
_ELSEWHERE = (  # each of these could lead discovery off this machine, or messages through shared memory
    "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER", "ROS_SUPER_CLIENT", "ROS_LOCALHOST_ONLY",
    "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE", "FASTDDS_BUILTIN_TRANSPORTS", "CYCLONEDDS_URI",
)  # fmt: skip
_PATIENCE = 10.0  # for a process to end by itself, or when it is killed [s]
_COMPLETING = 120.0  # longest wait for a bag that is complete [s]
_SET_PARENT_DEATH_SIGNAL = 1  # of prctl(2)
_RECORDER = "recorder"
_CHUNK = 65536


def require_ros() -> None:
    """Raises InputError where rclpy or this package's messages are missing."""
    for module, name in (("rclpy", "ROS 2 (rclpy)"), ("online_sysid", "this package's messages")):
        if importlib.util.find_spec(module) is None:
            raise InputError(f"the live demo needs {name}, not installed in this Python; 'make setup' brings it")


def environment(domain: int) -> dict[str, str]:
    """Variables for processes that talk to one another on this machine and to nobody else."""
    variables = {name: value for name, value in os.environ.items() if name not in _ELSEWHERE}
    variables |= {"ROS_DOMAIN_ID": str(domain), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST", "PYTHONUNBUFFERED": "1"}
    variables["SKIP_DEFAULT_XML"] = "1"  # Fast DDS reads a file in the working directory otherwise
    if variables.get("ROS_DISTRO") == "humble":
        variables["ROS_LOCALHOST_ONLY"] = "1"  # which newer releases replaced by the range
    prefixes = [variables.get("AMENT_PREFIX_PATH"), sys.prefix]
    variables["AMENT_PREFIX_PATH"] = os.pathsep.join(filter(None, prefixes))
    return variables


def free_domain() -> int:
    """A ROS domain that is not the user's and in which nobody on this machine takes part."""
    others = [domain for domain in _DOMAINS if str(domain) != os.environ.get("ROS_DOMAIN_ID")]
    random.shuffle(others)
    return next(filter(_is_free, others), others[0])


def _is_free(domain: int) -> bool:
    first = _PORT_BASE + _PORTS_A_DOMAIN * domain + _FIRST_UNICAST
    for port in range(first, first + 2 * _PARTICIPANTS):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.bind(("", port))
            except OSError:
                return False
    return True


def _end_with_parent() -> None:
    """In a child: has Linux interrupt it when its parent is gone, however that ended."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGINT)


def _kill(process: subprocess.Popen[bytes]) -> None:
    process.kill()
    with contextlib.suppress(subprocess.TimeoutExpired):  # not even that ends one that a driver holds in the kernel
        process.wait(_PATIENCE)
    _close(process)


def _close(process: subprocess.Popen[bytes]) -> None:
    """Closes the pipes to a process that has ended."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def parameter_rules(parameters: Mapping[str, Any]) -> list[str]:
    """Parameters as ROS takes them on a command line.

    Args:
        parameters: values by name, two underscores for a dot; a path is a string.

    Returns:
        `-p NAME:=VALUE` of each. ROS reads a value as YAML and none at all as an error, so that strings are quoted.
    """
    rules = []
    for key, value in parameters.items():
        said = json.dumps(str(value) if isinstance(value, Path) else value)
        rules += ["-p", f"{key.replace('__', '.')}:={said}"]
    return rules


class Nodes:
    """Context manager of child processes; on leaving, each has ended.

    Args:
        folder: gets what each process says, as NAME.log.
        domain: ROS domain.
    """

    def __init__(self, folder: Path, domain: int) -> None:
        self._folder = folder
        self._environment = environment(domain)
        self._processes: dict[str, subprocess.Popen[bytes]] = {}
        self._optional: set[str] = set()
        self._rest = b""

    def __enter__(self) -> Nodes:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            for process in self._processes.values():
                process.send_signal(signal.SIGINT)
            for process in self._processes.values():
                process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        finally:
            for process in self._processes.values():
                _kill(process)

    def node(self, name: str, module: str, config: Path | None = None, **parameters: Any) -> None:
        """Starts a node of this package.

        Args:
            name: of the process, in reports.
            module: of sysid_nodes.ros.nodes.
            config: parameter file.
            parameters: others; two underscores in a name are a dot.
        """
        arguments = ["--params-file", str(config)] if config is not None else []
        arguments += parameter_rules(parameters)
        self._start(name, [sys.executable, "-m", f"sysid_nodes.ros.nodes.{module}", "--ros-args", *arguments])

    def end(self, name: str) -> None:
        """Ends a process that is no longer needed."""
        process = self._processes.pop(name)
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            _kill(process)

    def recorder(self, bag: Path, *arguments: str, module: str = "sysid_nodes.ros.certified.recorder") -> None:
        """Starts a recorder, whose lines `read` returns."""
        self._start(_RECORDER, [sys.executable, "-m", module, str(bag), *arguments], talks=True)

    def rviz(self, view: Path, description: Path) -> None:
        """Starts RViz and what it needs to show a robot; that they end is no failure."""
        publisher = ["ros2", "run", "robot_state_publisher", "robot_state_publisher"]
        self._start("robot_state_publisher", [*publisher, "--ros-args", "--params-file", str(description)])
        self._start("rviz", ["rviz2", "-d", str(view)])
        self._optional |= {"robot_state_publisher", "rviz"}

    def read(self, timeout: float) -> Iterator[Mapping[str, Any]]:
        """Messages of the recorder, waiting for them up to timeout [s].

        Raises:
            SysidError: a process has ended.
        """
        pipe = self._processes[_RECORDER].stdout
        assert pipe is not None
        if select.select([pipe], [], [], timeout)[0] and (chunk := os.read(pipe.fileno(), _CHUNK)):
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)
            return
        self._check()

    def tell(self, command: str) -> None:
        """Writes a command to the recorder."""
        pipe = self._processes[_RECORDER].stdin
        assert pipe is not None
        pipe.write(command.encode() + b"\n")
        pipe.flush()

    def wait_for_recorder(self) -> None:
        """Waits until the bag is complete.

        Raises:
            OverdueError: that takes too long.
            SysidError: it could not be completed.
        """
        try:
            status = self._processes[_RECORDER].wait(_COMPLETING)
        except subprocess.TimeoutExpired:
            raise OverdueError(f"the recorder does not complete the bag within {_COMPLETING:g} s") from None
        if status:
            raise SysidError(self._describe_end(_RECORDER))
        _close(self._processes.pop(_RECORDER))

    def processor_time(self) -> dict[str, float]:
        """Time each process has spent computing so far [s]; empty where /proc does not tell."""
        spent = {}
        for name, process in self._processes.items():
            try:
                fields = Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
                spent[name] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            except (OSError, ValueError, IndexError):
                continue
        return spent

    def _start(self, name: str, command: list[str], *, talks: bool = False) -> None:
        pipe = subprocess.PIPE if talks else subprocess.DEVNULL
        with (self._folder / f"{name}.log").open("wb") as log:
            self._processes[name] = subprocess.Popen(
                command,
                env=self._environment,
                stdin=pipe,
                stdout=subprocess.PIPE if talks else log,
                stderr=log,
                preexec_fn=_end_with_parent,
            )

    def _check(self) -> None:
        for name, process in self._processes.items():
            if process.poll() is not None and name not in self._optional:
                raise SysidError(self._describe_end(name))

    def _describe_end(self, name: str) -> str:
        said = (self._folder / f"{name}.log").read_text(encoding="utf-8", errors="replace").strip().splitlines()
        status = self._processes[name].returncode
        return f"the {name} ended with status {status}" + (f": {said[-1].strip()}" if said else "")
