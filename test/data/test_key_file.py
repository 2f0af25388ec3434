# SPDX-License-Identifier: Apache-2.0
from pathlib import Path

import pytest

from sysid_nodes.data.key_file import SIZE, create_key, read_key
from sysid_nodes.exceptions import ConfigError, InputError


def test_a_new_key_is_read_back_and_its_owner_alone_may(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    create_key(str(one))
    create_key(str(two))
    assert one.stat().st_mode & 0o777 == 0o600
    assert len(read_key(str(one))) == SIZE
    assert read_key(str(one)) != read_key(str(two))


def test_no_file_is_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("something else")
    with pytest.raises(InputError, match="File exists"):
        create_key(str(path))
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="no key written"):
        create_key(str(tmp_path / "link"))


@pytest.mark.parametrize("mode", [0o640, 0o620, 0o604, 0o610])
def test_a_key_that_others_can_touch_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "key"
    create_key(str(path))
    path.chmod(mode)
    with pytest.raises(ConfigError, match="its owner alone"):
        read_key(str(path))


@pytest.mark.parametrize("text", ["", "00" * (SIZE - 1), "00" * (SIZE + 1), "x" * 2 * SIZE, "é" * SIZE])
def test_what_is_no_key_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match="not a key of 64 hexadecimal digits"):
        read_key(str(path))


def test_a_missing_key_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_key(str(tmp_path / "none"))
