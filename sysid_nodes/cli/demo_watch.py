"""What the demo has heard so far, and what it makes of it. The truth is known here and nowhere in the identifier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from sysid_nodes.data import PARAMETER_NAMES
from sysid_nodes.data.bounds import Bounds
from sysid_nodes.results import Status

Array = npt.NDArray[np.float64]

_ARM, _IDENTIFIER = "simulated_arm: motion", "interval_identifier: identification"


class Watch:
    """The latest of everything the recorder tells.

    Args:
        prior: bounds before any data.
        truth: (10,) true parameters.
        duration: of the motion [s].
        tick: between two joint states [s].

    Attributes:
        bounds: the newest published bounds.
        status: what they are worth.
        window: id of the newest window that brought news; -1 for none.
        updates: messages with bounds.
        missed: parameters whose truth was outside a published interval at any time.
        contradicted: sentence of an INCONSISTENT status, or empty.
        recorded: joint states in the bag.
        solve_times: of every step that brought news [s].
    """

    def __init__(self, prior: Bounds, truth: Array, *, duration: float, tick: float) -> None:
        self.prior, self.truth, self.duration, self._tick = prior, truth, duration, tick
        self.bounds, self.status, self.window = prior, Status.WAITING, -1
        self.updates = self.recorded = 0
        self.missed: set[str] = set()
        self.contradicted = ""
        self.solve_times: list[float] = []
        self._heard: Mapping[str, Mapping[str, str]] = {}

    def take(self, line: Mapping[str, Any]) -> None:
        """Takes one line of the recorder's."""
        if "bounds" in line:
            self._take_bounds(line["bounds"])
        if "diagnostics" in line:
            self.recorded, self._heard = line["count"], line["diagnostics"]
        self.recorded = line.get("recorded", self.recorded)

    def _take_bounds(self, message: Mapping[str, Any]) -> None:
        self.status, self.window = Status(message["status"]), message["window"]
        self.updates += 1
        self.solve_times.append(message["solve_time"])
        if self.status is Status.INCONSISTENT:
            self.contradicted = message["message"]
            return
        self.bounds = Bounds(np.array(message["lower"]), np.array(message["upper"]))
        self.missed |= {name for name, inside in zip(PARAMETER_NAMES, self.inside, strict=True) if not inside}

    @property
    def inside(self) -> list[bool]:
        """Whether each truth lies in its newest interval."""
        return list((self.bounds.lower <= self.truth) & (self.truth <= self.bounds.upper))

    @property
    def width(self) -> Array:
        """(10,) share of the prior's width that is left."""
        return np.asarray(self.bounds.half_width / self.prior.half_width)

    @property
    def state(self) -> str:
        """Of the arm: empty until it is heard of, then waiting for listeners, moving or finished."""
        return self._heard.get(_ARM, {}).get("state", "")

    @property
    def published(self) -> int:
        return int(self._number(_ARM, "messages published"))

    @property
    def behind(self) -> float:
        """How much longer than its stamps the motion has taken [s]."""
        return self._number(_ARM, "behind real time [s]")

    @property
    def received(self) -> int:
        """Joint states that reached the identifier."""
        return int(self._number(_IDENTIFIER, "messages received"))

    @property
    def waiting(self) -> int:
        """Joint states that the identifier has yet to look at."""
        return int(self._number(_IDENTIFIER, "messages waiting"))

    @property
    def rejected(self) -> int:
        """Joint states that the identifier did not use."""
        return int(self._number(_IDENTIFIER, "samples rejected"))

    @property
    def overflowed(self) -> int:
        """Of these, what the identifier dropped because it could not keep up."""
        return int(self._number(_IDENTIFIER, "rejected: overload"))

    @property
    def rate(self) -> float:
        """Of the joint states at the identifier, by their stamps [Hz]."""
        return self._number(_IDENTIFIER, "rate [Hz]")

    @property
    def lag(self) -> float:
        """How far the identifier is behind the newest joint state [s]."""
        return self._number(_IDENTIFIER, "lag [s]")

    @property
    def elapsed(self) -> float:
        """Since the motion began, by the arm's clock [s]."""
        return self.recorded * self._tick

    @property
    def lost(self) -> int:
        """Joint states that were published and never reached the identifier; counted when the motion is over."""
        return max(0, self.published - self.received) if self.state == "finished" else 0

    @property
    def complete(self) -> bool:
        """The motion is over, and identifier and bag have all of it."""
        arrived = self.received >= self.published and self.recorded >= self.published
        return self.state == "finished" and arrived and self.waiting == 0

    def _number(self, component: str, key: str) -> float:
        return float(self._heard.get(component, {}).get(key, 0.0))
