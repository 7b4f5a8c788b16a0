"""Files are written whole or not at all; what cannot be read says where and why."""

import errno
import os
import stat
import threading
from pathlib import Path

import pytest
from support.cases import each

from planner import InputError
from planner.base.files import (
    LARGEST_FILE_BYTES,
    being_written,
    check_writable,
    read_bytes,
    read_yaml,
    write_all,
    write_atomically,
)


def refused(path: Path) -> str:
    """The one line that an unreadable file gives."""
    with pytest.raises(InputError) as caught:
        read_yaml(path)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert len(text.splitlines()) == 1
    assert len(text) < 500
    return text.removeprefix(f"{path}: ")


def test_a_mapping_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.yaml"
    path.write_text("a: 1\nb: {c: [1, 2.5, x]}\n", encoding="utf-8")
    assert read_yaml(path) == {"a": 1, "b": {"c": [1, 2.5, "x"]}}


@each(("content", "words"), [
    (b"", "mapping"),
    (b"# only a comment\n", "mapping"),
    (b"- a\n- b\n", "mapping"),
    (b"llama2-13b\n", "mapping"),
    (b"a: 1\nb: 2\na: 3\n", "line 3.*'a'.*twice"),
    (b"a: {b: 1, b: 2}\n", "line 1.*'b'.*twice"),
    (b"a: 1\nb: [1,\n", "line 3"),
    (b"a: 'x\n", "line [12]"),
    (b"a: 1\n\tb: 2\n", "line 2"),
    (b"\xff\xfe\x00\x01", "not a text file"),
    (bytes(range(256)), "not"),
    (b"a: \x00\n", "not valid YAML"),
    (b"1: 2\n", "names must be text"),
    (b"null: 2\n", "names must be text"),
    (b"a: 1\n--- \nb: 2\n", "another document"),
    (b"!!python/object/apply:os.system ['true']\n", "line 1: YAML tags"),
    (b"[a, b]: 1\n", "line 1|names must be text"),
    (b"? {a: b}\n: 1\n", "line 1|names must be text"),
    (b"a: {[1, 2]: 3}\n", "line 1|names must be text"),
    (b"a: " + b"[" * 100_000, "line 1: nested deeper than 40 levels"),
    (b"a: " + b"9" * 10_000, "not valid YAML|digits"),
    (b"a: &x [*x]\n", "not valid YAML|recursive|alias"),
    (b"a: *nowhere\n", "line 1"),
])  # fmt: skip
def test_what_is_not_a_mapping_says_where_and_why(
    tmp_path: Path, content: bytes, words: str
) -> None:
    path = tmp_path / "bad.yaml"
    path.write_bytes(content)
    with pytest.raises(InputError, match=words):
        read_yaml(path)
    refused(path)


def test_nested_keys_that_are_not_text_are_not_silently_kept(tmp_path: Path) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text("fix: {tp: 1, yes: 2}\n", encoding="utf-8")
    assert read_yaml(path)["fix"] == {"tp": 1, "yes": 2}
    path.write_text("fix: {tp: 1, true: 2}\n", encoding="utf-8")
    assert "line 1: field names must be text, not true" in refused(path)


def test_a_missing_file_a_folder_and_a_device(tmp_path: Path) -> None:
    assert "cannot be read" in refused(tmp_path / "absent.yaml")
    assert "cannot be read" in refused(tmp_path)
    assert "cannot be read" in refused(tmp_path / "absent" / "x.yaml")
    assert "cannot be read" in refused(Path("x\0.yaml"))


def test_a_file_of_11_mib_is_refused_without_reading_it(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    with path.open("wb") as file:
        file.truncate(LARGEST_FILE_BYTES + 1)
    assert "larger than 10 MiB" in refused(path)


def test_a_pipe_is_read_as_a_shell_substitutes_it(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=lambda: path.write_text("a: 1\n", encoding="utf-8"))
    writer.start()
    assert read_yaml(path) == {"a": 1}
    writer.join()


@each("size", [10, 11])
def test_a_pipe_is_read_up_to_the_size_of_files(size: int) -> None:
    """How much it holds is not known before: what was more was left out without a word."""
    ours, theirs = os.pipe()
    os.write(theirs, b"x" * size)
    os.close(theirs)
    try:
        if size == 10:
            assert read_bytes(Path(f"/dev/fd/{ours}"), usual=10) == b"x" * 10
        else:
            with pytest.raises(InputError, match="larger than"):
                read_bytes(Path(f"/dev/fd/{ours}"), usual=10)
    finally:
        os.close(ours)


def test_text_is_written_and_replaced(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    write_atomically(path, "one\n")
    write_atomically(path, "zwei €\n")
    assert path.read_text(encoding="utf-8") == "zwei €\n"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]
    assert stat.S_IMODE(path.stat().st_mode) & 0o400


@each("name", ["absent/out.txt", "file/out.txt", "folder"])
def test_what_cannot_be_written_says_so(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("x", encoding="utf-8")
    (tmp_path / "folder").mkdir()
    with pytest.raises(InputError, match="cannot be written") as caught:
        write_atomically(tmp_path / name, "text")
    assert len(str(caught.value).splitlines()) == 1
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["file", "folder"]
    assert not list((tmp_path / "folder").iterdir())


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failure_half_way_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, "replace", fail)
    expected = InputError if isinstance(error, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        write_atomically(path, "new")
    assert path.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["out.txt"]


def test_the_mode_of_a_new_file_follows_the_umask(tmp_path: Path) -> None:
    before = os.umask(0o077)
    try:
        write_atomically(tmp_path / "private.txt", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "private.txt").stat().st_mode) == 0o600


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old", encoding="utf-8")
    link.symlink_to(target)
    write_atomically(link, "new")
    assert link.is_symlink()
    assert target.read_text(encoding="utf-8") == "new"


def test_what_is_not_a_regular_file_is_never_replaced(tmp_path: Path) -> None:
    """Or `-o /dev/stdout` and `-o /dev/null`, as root, would remove the device."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomically(pipe, "text\n")
    except InputError:
        written = ""
    else:
        written = os.read(reader, 100).decode()
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    assert written in ("", "text\n")
    assert [entry.name for entry in tmp_path.iterdir()] == ["pipe"]


def test_all_files_or_none(tmp_path: Path) -> None:
    good, bad = tmp_path / "a.txt", tmp_path / "absent" / "b.txt"
    with pytest.raises(InputError, match="cannot be written"):
        write_all({good: "a", bad: "b"})
    assert not list(tmp_path.iterdir())
    write_all({good: "a", tmp_path / "b.txt": "b"})
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["a.txt", "b.txt"]


@pytest.mark.parametrize("linked", [True, False])
def test_all_files_or_none_over_old_ones(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, linked: bool
) -> None:
    one, other, new = (tmp_path / name for name in ("a", "b", "c"))
    one.write_text("old")
    other.write_text("old")
    replace, links = os.replace, [one, other]

    def fail(source: str, target: str) -> None:
        if target == str(other) and Path(source).read_text() == "new":
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    def no_links(*_: object) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "replace", fail)
    if not linked:
        monkeypatch.setattr(os, "link", no_links)
    with pytest.raises(InputError, match="b: cannot be written"):
        write_all({new: "new", one: "new", other: "new"})
    assert [path.read_text() for path in links] == ["old", "old"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]


def test_what_is_renamed_is_on_the_disk_and_then_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[str, int]] = []
    fsync, replace = os.fsync, os.replace

    def synced(descriptor: int) -> None:
        found = os.fstat(descriptor)
        calls.append(("folder", 0) if stat.S_ISDIR(found.st_mode) else ("file", found.st_size))
        fsync(descriptor)

    def renamed(source: str, target: str) -> None:
        calls.append(("rename", Path(source).stat().st_size))
        replace(source, target)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    with being_written(tmp_path / "table.csv") as path:
        path.write_text("12345")
    assert calls[-3:] == [("file", 5), ("rename", 5), ("folder", 0)]
    calls.clear()
    write_all({tmp_path / "plan.yaml": "123"})
    assert calls == [("file", 3), ("rename", 3), ("folder", 0)]


def test_what_replaces_a_private_file_is_never_readable_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    modes: list[int] = []
    opened = os.open

    def noted(path: str, flags: int, mode: int = 0o777) -> int:
        descriptor = opened(path, flags, mode)
        modes.append(stat.S_IMODE(os.fstat(descriptor).st_mode))
        return descriptor

    path = tmp_path / "plan.yaml"
    path.write_text("old")
    path.chmod(0o600)
    monkeypatch.setattr(os, "open", noted)
    write_all({path: "new"})
    assert modes[0] == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "out.txt"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    write_atomically(path, "new")
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_what_could_not_be_written_is_found_before(tmp_path: Path) -> None:
    there = tmp_path / "there.txt"
    there.write_text("old", encoding="utf-8")
    check_writable(there, tmp_path / "new.txt")
    assert there.read_text(encoding="utf-8") == "old"
    assert [entry.name for entry in tmp_path.iterdir()] == ["there.txt"]
    with pytest.raises(InputError) as caught:
        check_writable(there, tmp_path, tmp_path / "absent" / "x", Path("x\0"))
    assert len(str(caught.value).split("\n")) == 3


def test_a_missing_file_suggests_the_one_that_was_meant(tmp_path: Path) -> None:
    (tmp_path / "job.yaml").write_text("a: 1\n", encoding="utf-8")
    assert refused(tmp_path / "jbo.yaml").endswith("did you mean 'job.yaml'?")


@each("content", ["a: !!bool x\n", "a: !!timestamp x\n", "a: !!int x\n"])
def test_a_value_with_a_tag(tmp_path: Path, content: str) -> None:
    path = tmp_path / "bad.yaml"
    path.write_text(content, encoding="utf-8")
    assert "line 1: YAML tags (!!" in refused(path)


def test_deep_nesting_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "deep.yaml"
    path.write_text(f"a: {'[' * 60}{']' * 60}\n", encoding="utf-8")
    assert "nested deeper than" in refused(path)
