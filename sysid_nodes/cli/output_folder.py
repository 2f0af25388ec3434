# SPDX-License-Identifier: Apache-2.0
"""A folder of results that appears complete or not at all, and never buries a stranger's files."""

from __future__ import annotations

import glob
import json
import os
import shutil
import tempfile
from pathlib import Path
from types import TracebackType

from sysid_nodes.exceptions import FULL, InputError
from sysid_nodes.reports.files import RESULT_NAME


class OutputFolder:
    """Context manager: write into ``staging``; on leaving without an error everything moves to its place.

    Errors name the path that was asked for, not the staging folder.

    An existing folder is accepted when it is empty or holds a result of an earlier run, whose files are then
    replaced one by one; other files in it stay.

    Args:
        path: the folder to make.
        document: name of the file that shows an existing folder to be of an earlier run.

    Raises:
        InputError: the path is a file or a folder with other content, or cannot be written.
    """

    def __init__(self, path: Path, document: str = RESULT_NAME) -> None:
        self.path, self._document = path, document
        _check(path, document)

    def __enter__(self) -> Path:
        """The folder to write into, on the file system of the target."""
        place = self.path.absolute().parent
        while not place.is_dir():
            place = place.parent
        try:
            _clear_stale(place, self.path.name)
            self._staging = Path(tempfile.mkdtemp(prefix=f".{self.path.name}.{os.getpid()}-", dir=place))
        except OSError as error:
            raise InputError(f"cannot write: {error.strerror}", source=str(self.path)) from None
        return self._staging

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._publish()
        except OSError as failure:
            raise InputError(f"cannot write: {failure.strerror}", source=str(self.path)) from None
        finally:
            shutil.rmtree(self._staging, ignore_errors=True)
        if isinstance(error, OSError) and error.errno in FULL:
            raise InputError(f"cannot write: {error.strerror}", source=str(self.path)) from None
        if isinstance(error, InputError) and Path(error.source).is_relative_to(self._staging):
            told = self.path / Path(error.source).relative_to(self._staging)
            raise InputError(str(error).removeprefix(f"{error.source}: "), source=str(told)) from None

    def _publish(self) -> None:
        self.path.mkdir(parents=True, exist_ok=True)
        # The document goes last: where it is new, all that belongs to it is.
        for item in sorted(self._staging.iterdir(), key=lambda item: item.name == self._document):
            target = self.path / item.name
            if target.is_dir() and not target.is_symlink():
                target.rename(self._staging / f"{item.name}.replaced")
            item.replace(target)


def _clear_stale(place: Path, name: str) -> None:
    """Removes what a run that was killed left half-written: staging folders whose process is gone."""
    for folder in place.glob(f".{glob.escape(name)}.*-*"):
        process = folder.name.removeprefix(f".{name}.").partition("-")[0]
        if process.isdigit() and folder.is_dir() and not _is_running(int(process)):
            shutil.rmtree(folder, ignore_errors=True)


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except PermissionError:
        return True
    return True


def _check(path: Path, document: str) -> None:
    if path.exists() and not path.is_dir():
        raise InputError("exists and is not a folder", source=str(path))
    above = next(folder for folder in path.absolute().parents if folder.exists())
    if not above.is_dir():
        raise InputError(f"cannot be made: {above} is not a folder", source=str(path))
    try:
        if path.is_dir() and any(path.iterdir()) and not _is_ours(path / document):
            raise InputError(f"the folder is not empty and holds no earlier {document}", source=str(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", source=str(path)) from None


def _is_ours(file: Path) -> bool:
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(document, dict) and {"schema", "pipeline"} <= set(document)
