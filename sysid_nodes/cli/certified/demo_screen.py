# SPDX-License-Identifier: Apache-2.0
"""The arm's run on the terminal."""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN

from rich.console import Group
from rich.table import Table
from rich.text import Text

from sysid_nodes.cli.certified.demo_watch import Watch
from sysid_nodes.cli.demo.live_screen import LiveScreen
from sysid_nodes.data.bounds import PARAMETER_NAMES, PARAMETER_UNITS
from sysid_nodes.reports.wording import MINUS, decimal_text
from sysid_nodes.results import Status

_LEFT_OF_BAR = 56  # columns of everything but the bar
_BAR = (12, 40)  # columns, least and most
_STYLE = {
    Status.PROVEN: "green",
    Status.NOT_EXCITED: "yellow",
    Status.UNWEIGHED: "yellow",
    Status.INCONSISTENT: "bold red",
    Status.DOUBTFUL: "bold red",
}


class Screen(LiveScreen[Watch]):
    """The ten intervals, what the arm does, plans, torques, distances and errors."""

    def has_begun(self, watch: Watch) -> bool:
        return bool(watch.recorded)

    def drawing(self, watch: Watch, note: str) -> Group:
        return Group(self.table(watch), *self._lines(watch, note))

    def final(self, watch: Watch) -> Table:
        return self.table(watch)

    def line(self, watch: Watch) -> str:
        return plain_line(watch)

    def table(self, watch: Watch) -> Table:
        """The ten intervals, their ends rounded outward; after a contradiction the last ones, called withdrawn."""
        table = Table(box=None, pad_edge=False, header_style="bold", style="dim" if watch.contradicted else "")
        if watch.contradicted:
            table.title = Text("Withdrawn: the data contradict the stated assumptions", style="bold red")
        table.add_column("")
        table.add_column("unit")
        for heading in ("lower", "truth", "upper", "width"):
            table.add_column(heading, justify="right")
        table.add_column("within the prior")
        table.add_column("")
        columns = min(max(self.console.width - _LEFT_OF_BAR, _BAR[0]), _BAR[1])
        utf = self.console.encoding.lower().startswith("utf")
        for k, inside in enumerate(watch.inside):
            truth = float(watch.truth[k])
            table.add_row(
                PARAMETER_NAMES[k],
                PARAMETER_UNITS[k],
                _number(watch.bounds.lower[k], ROUND_FLOOR),
                _number(truth),
                _number(watch.bounds.upper[k], ROUND_CEILING),
                f"{100.0 * watch.width[k]:.1f} %",
                _bar(watch, k, columns, utf),
                Text("inside", style="green") if inside else Text("OUTSIDE", style="bold red"),
            )
        return table

    def _lines(self, watch: Watch, note: str) -> list[Text]:
        phase = Text(f"{watch.time:6.1f} s  ")
        phase.append(watch.phase, style="bold red" if watch.stopped else "bold")
        phase.append(f"  at {watch.real_time_factor:.2f} of real time" if watch.real_time_factor else "")
        status = Text("          ")
        status.append(watch.status.name, style=_STYLE.get(watch.status, ""))
        status.append(f"  {watch.contradicted or watch.status.message}")
        lines = [Text(), phase, status, *(Text(f"          {words}") for words in _motion(watch))]
        return [*lines, *([Text(note)] if note else [])]


def plain_line(watch: Watch) -> str:
    """State of the demo in a line."""
    if watch.contradicted:
        return f"{watch.time:5.1f} s  {watch.status.name:<12} no bounds are claimed: {watch.contradicted}"
    lower, upper = _number(watch.bounds.lower[0], ROUND_FLOOR), _number(watch.bounds.upper[0], ROUND_CEILING)
    return (
        f"{watch.time:5.1f} s  {watch.phase:<21}  mass {lower} .. {upper} kg (truth {_number(watch.truth[0])})"
        f"  widths {100.0 * watch.width.mean():.0f} % of the prior  {sum(watch.inside)}/10 truths inside"
        f"  plans {len(watch.plans)}  torque left {100.0 * watch.torque_now:.0f} %"
        f"  errors {100.0 * watch.tracking_share:.0f} % of proven  {watch.real_time_factor:.2f} of real time"
        + (f"  {len(watch.refused)} refused: {watch.refused[-1]}" if watch.refused else "")
    )


def _motion(watch: Watch) -> list[str]:
    """The state of plans, torques, distances and errors."""
    lines = [f"plans: {len(watch.plans)} certified, {len(watch.executed)} executed, {len(watch.refused)} refused"]
    if watch.refused:
        lines[0] += f" ({watch.refused[-1]})"
    if watch.plans:
        plan = watch.plans[-1]
        lines.append(
            f"the last one is certified to stay {100.0 * plan['obstacle_margin']:.1f} cm off obstacles and "
            f"{min(plan['torque_margin']):.2g} N m off torque limits,"
        )
        lines.append(f"nearest to a limit is {plan['binding']}")
    lines.append(
        f"torque left: {100.0 * watch.torque_now:.0f} % of the limit, least {100.0 * watch.torque_left:.0f} %; "
        f"tracking errors at most {100.0 * watch.tracking_share:.0f} % of what is proven"
    )
    distance, between = watch.clearance
    if between:
        lines.append(f"nearest to an obstacle so far: {100.0 * distance:.1f} cm ({between})")
    return lines


def _number(value: float, rounding: str = ROUND_HALF_EVEN) -> str:
    return decimal_text(float(value), 4, rounding).replace(MINUS, "-")


def _bar(watch: Watch, k: int, columns: int, utf: bool) -> Text:
    """The interval within the prior, and the truth in it."""
    blank, full, mark = ("·", "━", "┃") if utf else (".", "=", "|")
    low, width = float(watch.prior.lower[k]), 2.0 * float(watch.prior.half_width[k])

    def column(value: float) -> int:
        return min(max(int((value - low) / width * columns), 0), columns - 1)

    first, last, truth = (column(float(x[k])) for x in (watch.bounds.lower, watch.bounds.upper, watch.truth))
    text = Text()
    for i in range(columns):
        if i == truth:
            text.append(mark, style="bold yellow")
        else:
            text.append(full if first <= i <= last else blank, style="cyan" if first <= i <= last else "dim")
    return text
