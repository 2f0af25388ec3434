# SPDX-License-Identifier: Apache-2.0
"""Comparison of what a live node published into a recording, window by window, with a replay of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sysid_nodes.logs.reader import read_messages, read_topics


@dataclass(frozen=True)
class Comparison:
    """Windows by number.

    Attributes:
        published: that the live node published.
        compared: that the replay has too.
        equal: of those, that say the same.
        noun: what is compared, in the plural.
    """

    published: int
    compared: int
    equal: int
    noun: str

    @property
    def same(self) -> bool:
        """Whether something was published and the replay says the same of all of it."""
        return self.equal == self.compared == self.published > 0

    @property
    def sentence(self) -> str:
        """The finding."""
        if not self.published:
            return f"The live node published no {self.noun}."
        if not self.compared:
            return "Live node and replay have no window in common."
        if self.same:
            return (
                f"Replayed from the recording, the {self.noun} of all {self.equal} windows are the live node's to the "
                "last bit."
            )
        return (
            f"Replayed from the recording, the {self.noun} equal the live node's after {self.equal} of its "
            f"{self.published} windows only."
        )

    def fields(self) -> dict[str, Any]:
        """As plain values."""
        counts = {"published": self.published, "compared": self.compared, "equal": self.equal}
        return {**counts, "sentence": self.sentence}


def compare_published(bag: Path, topic: str, kind: str, replayed: Mapping[int, str], noun: str) -> Comparison:
    """Compares the ids of messages with a `window` and an `id`.

    Args:
        kind: type of its messages.
        replayed: ids by window.
        noun: what is compared, in the plural.

    Raises:
        LogError: the recording cannot be read.
    """
    published = {}
    if any(found.name == topic and found.count for found in read_topics(bag)):
        for _, message in read_messages(bag, topic, kind):
            if message.window >= 0:
                published[int(message.window)] = str(message.id)
    both = set(published) & set(replayed)
    return Comparison(len(published), len(both), sum(published[k] == replayed[k] for k in both), noun)
