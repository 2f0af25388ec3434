# SPDX-License-Identifier: Apache-2.0
"""Atomic writing of files: a reader sees the old file or the new one, never a part of it."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sysid_nodes.exceptions import InputError


def write_atomically(path: Path, content: bytes | str) -> None:
    """Writes beside the target, flushes to disk and renames.

    Raises:
        InputError: the folder does not exist or cannot be written, or the path is of a folder or device.
    """
    if path.exists() and not path.is_file():
        raise InputError("exists and is not a file", source=str(path))
    data = content.encode("utf-8") if isinstance(content, str) else content
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"cannot write: {error.strerror or error}", source=str(path)) from None
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        # mkstemp makes private files; a result is as readable as any other file of the user.
        Path(name).chmod(0o666 & ~_umask())
        Path(name).replace(path)
    except BaseException as error:
        Path(name).unlink(missing_ok=True)
        if isinstance(error, OSError):
            raise InputError(f"cannot write: {error.strerror or error}", source=str(path)) from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
