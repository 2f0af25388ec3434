# SPDX-License-Identifier: Apache-2.0
"""The key by which nodes know one another: a file of 64 hexadecimal digits that its owner alone can read."""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass
from pathlib import Path

from sysid_nodes.data.config import option
from sysid_nodes.exceptions import ConfigError, InputError

SIZE = 32
"""Bytes of a key."""

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True)
class AuthorityConfig:
    """Who may command: whoever holds the key or, without one, whoever publishes."""

    key_file: str = option("", "file of the key, as `sysid key` makes it; empty: nothing is signed and all is obeyed")
    max_age: float = option(
        10.0,
        "largest age of a signature, by the clocks of both machines; what is latched is signed anew meanwhile",
        unit="s",
        minimum=0.1,
        maximum=3600.0,
    )


def read_key(path: str) -> bytes:
    """The key in a file.

    Raises:
        ConfigError: the file cannot be read, others than its owner may read or write it, or it holds no key.
    """
    try:
        with Path(path).open("rb") as stream:
            status = os.fstat(stream.fileno())
            content = stream.read(4 * SIZE)
    except OSError as error:
        raise ConfigError(error.strerror or str(error), source=path) from None
    if not stat.S_ISREG(status.st_mode) or status.st_mode & _OTHERS:
        raise ConfigError("a key is for its owner alone (chmod 600)", source=path)
    if status.st_uid not in (os.geteuid(), 0):
        raise ConfigError("the key belongs to another user", source=path)
    try:
        key = bytes.fromhex(content.decode("ascii"))
    except ValueError:
        key = b""
    if len(key) != SIZE:
        raise ConfigError(f"not a key of {2 * SIZE} hexadecimal digits", source=path)
    return key


def create_key(path: str) -> None:
    """Writes a new key from the system's random numbers into a file of mode 0600.

    Raises:
        InputError: the file exists or cannot be made.
    """
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InputError(f"no key written: {error.strerror or error}", source=path) from None
    with os.fdopen(handle, "w", encoding="ascii") as stream:
        stream.write(secrets.token_hex(SIZE) + "\n")
