# SPDX-License-Identifier: Apache-2.0
"""Many recordings at once: finding them, and when they were made."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sysid_nodes.exceptions import LogError
from sysid_nodes.logs.storage import open_storage, recordings_in


def find_recordings(places: Iterable[str]) -> list[Path]:
    """Recordings of files, folders (looked through to the bottom) and patterns such as `bags/*/walk_*`, each once.

    Raises:
        LogError: a place holds no recording, or does not exist.
    """
    found: dict[Path, None] = {}
    for place in places:
        if not place:  # a variable of a script that is not set: not the folder that it runs in
            raise LogError("no file or folder is named")
        matching = [Path(place)] if Path(place).exists() else _match(place)
        if not matching:
            raise LogError("no such file or folder, and no pattern that matches one", source=place)
        try:
            here = [path for match in matching for path in ([match] if match.is_file() else recordings_in(match))]
        except OSError as error:
            raise LogError(f"cannot be read: {error.strerror}", source=place) from None
        if not here:
            raise LogError("no recording in it", source=place)
        found |= dict.fromkeys(here)
    return list(found)


def unique_names(recordings: Iterable[Path]) -> list[str]:
    """A name a recording, fit for a folder: its own, with as many of the folders above it as tell it from others."""
    paths = [Path(recording).absolute() for recording in recordings]
    stems = [(*path.parts[1:-1], path.stem if path.is_file() else path.name) for path in paths]
    names = [stem[-1:] for stem in stems]
    while True:
        again = [k for k, name in enumerate(names) if names.count(name) > 1 and len(name) < len(stems[k])]
        if not again:
            break
        for k in again:
            names[k] = stems[k][-len(names[k]) - 1 :]
    words = ["-".join(name) for name in names]
    return [word if words.count(word) == 1 else f"{word}-{k}" for k, word in enumerate(words)]


def recorded_span(recording: Path) -> tuple[float, float]:
    """Log time of the first message [s since the epoch], and time from there to the last [s].

    Raises:
        LogError: the recording cannot be read.
    """
    start, end = open_storage(recording).span()
    return 1e-9 * start, 1e-9 * max(end - start, 0)


def _match(pattern: str) -> list[Path]:
    """Files and folders that match a pattern."""
    path = Path(pattern)
    return sorted(Path(path.anchor or ".").glob(str(path.relative_to(path.anchor))))
