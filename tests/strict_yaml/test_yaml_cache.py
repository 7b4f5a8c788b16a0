"""Shipped files come from the cache where it fits, and are read anew where it does not."""

import json
import os
from pathlib import Path

import platformdirs
import pytest

from strict_yaml import reading
from strict_yaml.cache import load_shipped
from strict_yaml.errors import YamlError

CONTENT = b'a: [1, 2.5e-3, .inf, null, on]\nb: {c: "\\u00e9"}\n'
DATA = {"a": [1, 2.5e-3, float("inf"), None, "on"], "b": {"c": "é"}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the cache."""
    place = tmp_path / "cache"
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, **__: place)
    return place


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """Contents that were read as YAML."""
    seen: list[bytes] = []
    load = reading.load

    def noted(content: bytes, **limits: int) -> object:
        seen.append(content)
        return load(content, **limits)

    monkeypatch.setattr(reading, "load", noted)
    return seen


def test_the_second_time_nothing_is_parsed(folder: Path, reads: list[bytes]) -> None:
    assert load_shipped(CONTENT, "chips/x") == DATA
    assert load_shipped(CONTENT, "chips/x") == DATA
    assert len(reads) == 1
    assert [path.relative_to(folder) for path in folder.rglob("*") if path.is_file()] == [
        Path("chips/x.json")
    ]


def test_another_content_or_limit_is_read_anew_and_replaces(
    folder: Path, reads: list[bytes]
) -> None:
    load_shipped(CONTENT, "x")
    assert load_shipped(b"a: 2\n", "x") == {"a": 2}
    assert load_shipped(b"a: 2\n", "x", max_depth=3) == {"a": 2}
    assert len(reads) == 3
    assert len(list(folder.iterdir())) == 1


@pytest.mark.parametrize("damage", [
    lambda kept: b"", lambda kept: kept[:-1], lambda kept: kept.replace(b"0.0025", b"0.0035"),
    lambda kept: kept.partition(b"\n")[2], lambda kept: b"\xff" * 100,
    lambda kept: kept.partition(b"\n")[0] + b"\n{}",
])  # fmt: skip
def test_a_damaged_file_is_not_believed(folder: Path, reads: list[bytes], damage: object) -> None:
    load_shipped(CONTENT, "x")
    kept = folder / "x.json"
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))  # type: ignore[operator]
    assert load_shipped(CONTENT, "x") == DATA
    assert len(reads) == 2
    assert kept.read_bytes() == whole


def test_a_copy_for_another_file_is_not_believed(folder: Path, reads: list[bytes]) -> None:
    load_shipped(CONTENT, "x")
    os.replace(folder / "x.json", folder / "y.json")
    load_shipped(CONTENT, "y")
    assert len(reads) == 2


def test_where_nothing_can_be_written_yaml_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("x")
    for place in (file, file / "below", Path("/proc/none"), Path("relative")):
        monkeypatch.setattr(platformdirs, "user_cache_path", lambda *_, place=place, **__: place)
        assert load_shipped(CONTENT, "chips/x") == DATA
    assert not Path("relative").exists()


def test_a_write_that_fails_leaves_nothing_behind(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    assert load_shipped(CONTENT, "x") == DATA
    assert not list(folder.iterdir())


def test_mistakes_are_not_kept(folder: Path) -> None:
    for _ in range(2):
        with pytest.raises(YamlError, match="line 2: the key 'a' occurs twice"):
            load_shipped(b"a: 1\na: 2\n", "x")
    assert not folder.exists()


def test_what_is_kept_is_json(folder: Path) -> None:
    load_shipped(CONTENT, "x")
    assert json.loads((folder / "x.json").read_bytes().split(b"\n")[1]) == DATA
