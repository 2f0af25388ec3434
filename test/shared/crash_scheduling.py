# SPDX-License-Identifier: Apache-2.0
"""Tests on several processes: a crash costs the one test that crashed, and the run ends.

pytest-xdist 3.8 begins again with the file that a crashed process had, the test that crashed included, and may give a
process nothing to do without noticing: it then waits for ever.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling


class CrashTolerantScheduling(LoadFileScheduling):  # type: ignore[misc]  # xdist's types are partial
    """A file of tests in one process, as xdist's own; what a crashed one had not begun goes to another."""

    def remove_node(self, node: Any) -> str | None:
        """Takes a process that ended out; the test that it was at, if any."""
        units = self.assigned_work.pop(node)
        crashed, *waiting = [name for unit in units.values() for name, done in unit.items() if not done] or [None]
        for file, unit in units.items():
            if left := dict.fromkeys((name for name in unit if name in waiting), False):
                self.workqueue[file] = left
        if crashed is not None:
            for other in self.nodes:
                self._reschedule(other)
        return crashed

    def _reschedule(self, node: Any) -> None:
        """Gives a process work: it begins a test only when it knows the next, or that there is none."""
        if node.shutting_down or node not in self.registered_collections:
            return
        while self.workqueue and self._pending_of(self.assigned_work[node]) <= 2:
            self._assign_work_unit(node)
        if not self.workqueue:
            node.shutdown()
