# SPDX-License-Identifier: Apache-2.0
"""Numbers and findings in words for people: outward rounded intervals, units, the verdict."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import Any

from sysid_nodes.results import Status
from sysid_nodes.results.identification import LEVEL, times_text

MINUS = "−"
DASH = "–"

_EARLY = 60.0  # a first result at a larger stamp [s] says that stamps do not count from the start of the run

Document = Mapping[str, Any]


def symbol(name: str) -> str:
    """A parameter's name as HTML: ``m*cx`` becomes m c with an index."""
    if name.startswith("m*c"):
        return f"<i>m</i>&#8201;<i>c</i><sub>{name[3:]}</sub>"
    return f"<i>{name[0]}</i><sub>{name[1:]}</sub>" if len(name) > 1 else f"<i>{name}</i>"


def unit_text(unit: str) -> str:
    """A unit as typeset text: ``kg m2`` becomes kg·m², and ``W/(N m)^2`` W/(N·m)²."""
    if unit == "1":
        return ""
    return ", ".join("·".join(part.split(" ")) for part in unit.split(", ")).replace("^2", "²").replace("2", "²")


_HARDLY_WIDER = 1.5
"""Width of a printed confidence interval over its own, at most: 0.1 to 2.4 is not to print as 0 to 3."""

_COLLAPSED = 1e-6
"""Width over the proven interval's below which a confidence interval is what was cut of one that lies beyond it."""

_NOTHING = 1e-16  # what rounding leaves of zero
_EXPONENT_FROM = 1e6


def number_text(value: float | None, digits: int = 4, *, zeros: bool = False) -> str:
    """A number with some significant digits, no fewer than before the point, and a true minus sign; a dash for none.

    Args:
        digits: significant digits.
        zeros: keep trailing zeros, for a column of numbers.
    """
    if value is None or math.isnan(value):
        return DASH
    value = 0.0 if abs(value) < _NOTHING else value
    digits = max(digits, len(f"{abs(value):.0f}")) if abs(value) < _EXPONENT_FROM else digits
    text = "∞" if math.isinf(value) else f"{abs(value):{'#' if zeros else ''}.{digits}g}".rstrip(".")
    return text if value >= 0.0 else MINUS + text


def origin(document: Document) -> float:
    """Stamp that the report counts its times from [s]: zero, unless the stamps began to count before the run."""
    first = next((float(step["t"]) for step in document["history"] if step["t"] is not None), 0.0)
    return float(math.floor(first)) if first > _EARLY else 0.0


def decimal_text(value: float | None, places: int, rounding: str = ROUND_HALF_EVEN) -> str:
    """A number with some decimal places, rounded as asked from its shortest decimal form (5.2 stays 5.2)."""
    if value is None or not math.isfinite(value):
        return DASH
    text = f"{Decimal(repr(float(value))).quantize(Decimal(1).scaleb(-places), rounding=rounding):f}"
    return text.replace("-", MINUS)


def likely_text(row: Mapping[str, Any], proven: IntervalText | None = None) -> IntervalText | None:
    """A parameter's estimate and confidence interval, rounded to what is known; None where it has none of its own.

    With as few digits as print it hardly wider, ends rounded outward, and not beyond the proven interval beside it. One
    that this interval excludes but for an end is none: statistics contradict what is stated.
    """
    low, high = row.get("likely_lower"), row.get("likely_upper")
    if row["nominal"] is None or low is None or high is None or (low, high) == (row["lower"], row["upper"]):
        return None
    if proven is not None and high - low < _COLLAPSED * (row["upper"] - row["lower"]):
        return None
    for digits in (1, 2, 3):
        text = IntervalText.of(row["nominal"], low, high, digits)
        inside = proven is None or (proven.ends[0] <= text.ends[0] and text.ends[1] <= proven.ends[1])
        if inside and text.ends[1] - text.ends[0] <= _HARDLY_WIDER * (high - low):
            break
    return text


@dataclass(frozen=True)
class IntervalText:
    """An interval for display: the ends are rounded outward, so the printed interval is true as well."""

    nominal: str
    lower: str
    upper: str
    half_width: str

    @property
    def ends(self) -> tuple[float, float]:
        """As printed; infinite where there are none."""
        lower, upper = (end.replace(MINUS, "-").replace("∞", "inf") for end in (self.lower, self.upper))
        return (-math.inf if lower == DASH else float(lower)), (math.inf if upper == DASH else float(upper))

    @classmethod
    def of(cls, nominal: float | None, lower: float | None, upper: float | None, digits: int = 3) -> IntervalText:
        """Text with so many significant digits of the half-width."""
        if lower is None or upper is None:
            return cls(number_text(nominal), number_text(lower), number_text(upper), DASH)
        half = 0.5 * (upper - lower)
        size = half if half > 0.0 else max(abs(lower), 1e-9) * 1e-3
        places = min(max(digits - 1 - math.floor(math.log10(size)), 0), 12)
        return cls(
            decimal_text(nominal, places),
            decimal_text(lower, places, ROUND_FLOOR),
            decimal_text(upper, places, ROUND_CEILING),
            decimal_text(half, places, ROUND_CEILING),
        )


def prior_bounds(document: Document) -> tuple[list[float], list[float]] | None:
    """The prior's ends from the configuration, where it has them."""
    lower, upper = (document["config"].get(f"prior.{end}") for end in ("lower", "upper"))
    count = len(document["parameters"])
    if isinstance(lower, list) and isinstance(upper, list) and len(lower) == len(upper) == count:
        return lower, upper
    return None


def narrowing_factors(document: Document) -> list[float | None]:
    """How many times narrower than the prior each interval has become."""
    prior = prior_bounds(document)
    factors: list[float | None] = []
    for k, row in enumerate(document["parameters"]):
        if prior is None or row["lower"] is None or row["upper"] is None or row["upper"] <= row["lower"]:
            factors.append(None)
        else:
            factors.append((prior[1][k] - prior[0][k]) / (row["upper"] - row["lower"]))
    return factors


def missed_truths(document: Document) -> list[str]:
    """Parameters whose known truth lies outside its interval."""
    if document["truth"] is None:
        return []
    return [
        row["name"]
        for row, truth in zip(document["parameters"], document["truth"], strict=True)
        if row["lower"] is not None and row["upper"] is not None and not row["lower"] <= truth <= row["upper"]
    ]


@dataclass(frozen=True)
class Verdict:
    """The finding: a tone for the eye, a headline and some sentences."""

    tone: str
    label: str
    headline: str
    sentences: tuple[str, ...]


def verdict(document: Document) -> Verdict:
    """The finding in words, claiming no more than the status allows, with the evidence against the data."""
    found = _conclude(document)
    if document["calibration"] and document["status"] in (Status.PROVEN.name, Status.NOT_EXCITED.name):
        given = "The calibration's bound on the torque error is measured, not proven; the intervals rest on it."
        found = replace(found, label=f"{found.label}, given the calibration", sentences=(*found.sentences, given))
    doubts = tuple(f"Check the data before you rely on this: {finding}." for finding in document["findings"])
    return replace(found, sentences=(*found.sentences, *doubts))


def _conclude(document: Document) -> Verdict:
    status = Status[document["status"]]
    mass = document["parameters"][0]
    text = IntervalText.of(mass["nominal"], mass["lower"], mass["upper"], digits=2)
    between = f"between {text.lower} and {text.upper} kg"
    subject = "payload's mass" if document["target"] == "payload" else "mass"
    likely = likely_text(mass, text)
    proven = f"lies {between}"
    if likely is not None:
        ends = f"{likely.lower} to {likely.upper} with {100 * LEVEL:g} % confidence"
        proven = f"is {likely.nominal} kg ({ends}), proven {between}"
    if status is Status.INCONSISTENT:
        changed = document["contradiction"] is not None and document["contradiction"]["payload_changed"]
        headline = (
            "The payload changed, or else the robot did" if changed else "The data contradict the stated assumptions"
        )
        return Verdict("bad", "Contradiction", headline, _clash(document))
    if status is Status.WAITING:
        headline = "Nothing was learnt: no window of data was complete"
        return Verdict("wait", "No data", headline, ("The intervals below are the prior's.",))
    if status is Status.UNWEIGHED:
        windows, duration = document["config"]["weigh_first"], document["config"]["window.duration"]
        headline = (
            f"Nothing is claimed: it takes {windows} windows of {duration:g} s, {windows * duration:g} s of usable "
            "data, to weigh the data against the calibration"
        )
        return Verdict("wait", "Not weighed", headline, ("The intervals below are the prior's; record longer.",))
    if status is Status.ESTIMATED:
        if mass["lower"] is None:
            headline = f"The {subject} is estimated at {number_text(mass['nominal'], 3)} kg, nothing said of its error"
            first = "The first-order sensitivity analysis is singular at this estimate and gives no intervals."
            return Verdict("wait", "Estimated", headline, (first,))
        first = "A first-order sensitivity analysis gives these intervals; they are not proven."
        headline = f"The {subject} is estimated {between}"
        if likely is not None:
            first = "The calibration is a posterior, probable but not proven; so are these intervals."
            headline = f"The {subject} is {likely.nominal} kg ({ends}), estimated {between}"
        return Verdict("wait", "Estimated", headline, (first, *_truth(document)))
    if status is Status.DOUBTFUL:
        headline = f"The {subject} seems to lie {between}, which is not to be relied on"
        return Verdict("bad", "Doubtful", headline, (sentence(status.message), *_truth(document)))
    if status is Status.NOT_EXCITED:
        blind = document["excitation"]["blind"]
        first = f"The motion says nothing about {summary(blind)}; only the prior bounds it there." if blind else ""
        sentences = (first, *_progress(document), *_truth(document))
        return Verdict("wait", "Proven, not excited", f"The {subject} {proven}", tuple(filter(None, sentences)))
    return Verdict("good", "Proven", f"The {subject} {proven}", (*_progress(document), *_truth(document)))


def sentence(text: str) -> str:
    """A message as a sentence of its own."""
    return text[:1].upper() + text[1:] + "."


def listing(words: Sequence[str]) -> str:
    """Words as an enumeration: a, b and c."""
    return words[0] if len(words) == 1 else ", ".join(words[:-1]) + " and " + words[-1] if words else "nothing"


def summary(items: Sequence[str], most: int = 3) -> str:
    """The first few items, and how many more there are."""
    return listing(items) if len(items) <= most else f"{', '.join(items[:most])} and {len(items) - most} more"


def _clash(document: Document) -> tuple[str, ...]:
    closing = "No bounds are claimed; the ones published earlier rested on the same assumptions and are withdrawn."
    found = document["contradiction"]
    if found is None:
        return (closing,)
    zero = origin(document)
    if found["payload_changed"] and found["change_time"] is not None:
        closing = "No bounds are claimed. Reset the identifier to weigh the new payload."
        when = f"{found['change_time'] - zero:.3f} s"
        return (f"Before and after about {when} the data fit two different bodies.", closing)
    times = [time - zero for row in found["times"] for time in row if time is not None]
    between = f"between {min(times):.3f} s and {max(times):.3f} s " if times else ""
    factor = found["factors"].get(found["assumption"])
    grow = f"; it would have to be {times_text(factor)} times as large" if factor is not None else ""
    return (f"Windows {between}contradict the {words(found['assumption'])}{grow}.", closing)


def words(name: str) -> str:
    """An identifier as words."""
    return name.replace("_", " ")


def _progress(document: Document) -> tuple[str, ...]:
    factors = [f for f in narrowing_factors(document) if f is not None and f > 0.0]
    if not factors:
        return ()
    mean = math.exp(sum(map(math.log, factors)) / len(factors))
    return (f"The ten intervals are {mean:.3g} times as narrow as the prior's (geometric mean).",)


def _truth(document: Document) -> tuple[str, ...]:
    if document["truth"] is None:
        return ()
    if names := missed_truths(document):
        return (f"The known truth lies outside the interval of {listing(names)}.",)
    return ("The known truth lies inside all ten intervals.",)
