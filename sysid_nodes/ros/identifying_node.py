# SPDX-License-Identifier: Apache-2.0
"""A node that listens, identifies on a thread of its own, and tells what it found.

A new estimator's node derives from it and says what it listens to, what it publishes and how it saves.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Generic, Protocol, TypeVar

from online_sysid.srv import Save
from std_srvs.srv import Trigger

from sysid_nodes.exceptions import SysidError
from sysid_nodes.ros.managed_node import ManagedNode


class Live(Protocol):
    """An estimator that is fed live."""

    def clear(self) -> None:
        """Forgets the messages that wait."""
        ...

    def reset(self) -> None:
        """Starts over from the prior.

        Raises:
            SysidError: it is too busy to answer.
        """
        ...

    def stop(self) -> None:
        """Ends its thread."""
        ...


AnyLive = TypeVar("AnyLive", bound=Live)


class IdentifyingNode(ManagedNode, Generic[AnyLive]):
    """Everything but the estimator's own topics.

    Configure makes the estimator and what is published, activate subscribes, deactivate ends that and keeps what was
    found, cleanup forgets it. Services: ``~/reset`` (std_srvs/Trigger), ``~/save`` (online_sysid/Save).
    """

    _live: AnyLive | None = None

    # -- what each node gives

    @abstractmethod
    def _open(self) -> tuple[AnyLive, str]:
        """Makes the estimator, and its publishers with `publisher`; returns it and what it is, for the log.

        Raises:
            SysidError: what was configured cannot be.
        """

    @abstractmethod
    def _subscribe(self, live: AnyLive) -> str:
        """Fills `_streams`; returns what is listened to, for the log."""

    @abstractmethod
    def _write(self, live: AnyLive, path: str) -> tuple[str, str]:
        """Saves; returns the file and what state of knowledge it holds.

        Raises:
            SysidError, OSError, ValueError: it cannot.
        """

    # -- lifecycle

    def _make(self) -> str:
        live, subject = self._open()
        self._live = live
        self._taken.callback(live.stop)  # before the publishers go, which its thread uses
        self.serve("reset", self._reset)
        self._taken.callback(self.destroy_service, self.create_service(Save, "~/save", self._save))
        return subject

    def _begin(self) -> str:
        return self._subscribe(self._configured)

    def release(self) -> None:
        super().release()
        self._live = None

    @property
    def _configured(self) -> AnyLive:
        if self._live is None:  # a call that was under way when the node was cleaned up
            raise SysidError("not configured")
        return self._live

    def _unsubscribe(self) -> None:
        super()._unsubscribe()
        if self._live is not None:
            self._live.clear()

    def _complain(self, fault: str) -> None:
        """Logs a message's failure; on the estimator's thread."""
        if self.context.ok():
            self.get_logger().error(f"message not used: {fault}")

    # -- services

    def _reset(self, _: Trigger.Request, response: Trigger.Response) -> Trigger.Response:
        try:
            self._configured.reset()
        except SysidError as error:
            response.success, response.message = False, str(error)
            self._warn(f"not reset: {error}")
        else:
            response.success, response.message = True, "started over from the prior"
            self._say(f"reset: {response.message}")
        return response

    def _save(self, request: Save.Request, response: Save.Response) -> Save.Response:
        if not self._authority.allows(request, self.resolve_service_name("~/save")):
            response.success, response.message = False, f"not obeyed: {self._authority.text}"
            return response
        try:
            path, knowledge = self._write(self._configured, request.path)
        except (SysidError, OSError, ValueError) as error:
            response.success, response.message = False, str(error)
            self._warn(f"not saved: {error}")
        else:
            response.success, response.path, response.message = True, path, knowledge
            self._say(f"saved: {path} ({knowledge})")
        return response
