"""Files that take the place of others: what was there is never lost, nor anybody's to read."""

import errno
import os
import shutil
import stat
import struct
from collections.abc import Callable
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.base.files import write_all, write_atomically, write_folder
from planner.base.replacement import Rights, new_file

FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _refused(number: int) -> Callable[..., None]:
    def call(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    return call


@pytest.fixture
def unlinked(monkeypatch: pytest.MonkeyPatch) -> None:
    """A system without hard links."""
    monkeypatch.setattr(os, "link", _refused(errno.EPERM))


@each("error", [FULL, KeyboardInterrupt(), SystemExit(143)])
@each("at", [0, 1])
@pytest.mark.usefixtures("unlinked")
def test_an_old_file_outlives_a_copy_that_fails(
    error: BaseException, at: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The half of a copy took its place."""
    old = {tmp_path / name: f"old {name}" * 1000 for name in ("a", "b", "c")}
    for path, text in old.items():
        path.write_text(text)
    copy, copied = shutil.copyfileobj, list[int]()

    def half(source: Any, target: Any) -> None:
        copied.append(1)
        if len(copied) > at:
            target.write(source.read(100))
            raise error
        copy(source, target)

    monkeypatch.setattr(shutil, "copyfileobj", half)
    with pytest.raises(InputError if error is FULL else type(error)) as caught:
        write_all(dict.fromkeys(old, "new"))
    if error is FULL:
        assert str(caught.value).endswith("; none of the 3 files is written")
    assert {path: path.read_text() for path in tmp_path.iterdir()} == old


@pytest.mark.usefixtures("unlinked")
def test_a_copy_of_a_private_file_is_private_from_its_first_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, seen = [tmp_path / "a", tmp_path / "b"], list[tuple[int, int]]()
    for path in old:
        path.write_text("secret")
        path.chmod(0o640)
    opened, copy = os.open, shutil.copyfileobj

    def noted(path: str, flags: int, mode: int = 0o777) -> int:
        descriptor = opened(path, flags, mode)
        seen.append((stat.S_IMODE(os.fstat(descriptor).st_mode), 0o600))
        return descriptor

    def copied(source: Any, target: Any) -> None:
        seen.append((stat.S_IMODE(os.fstat(target.fileno()).st_mode), 0o640))
        copy(source, target)

    monkeypatch.setattr(os, "open", noted)
    monkeypatch.setattr(shutil, "copyfileobj", copied)
    write_all(dict.fromkeys(old, "new"))
    made = seen[:6]  # two new files, and two copies that are opened and then filled
    assert len(made) == 6
    assert all(mode == wanted for mode, wanted in made)


@pytest.mark.usefixtures("unlinked")
def test_a_copy_that_comes_back_is_as_old_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Programs that look at times, as `make` does, would take it for another."""
    one, other, replace = tmp_path / "a", tmp_path / "b", os.replace
    for path in (one, other):
        path.write_text("old")
        os.utime(path, ns=(10**18, 10**18 + 123_456_789))

    def fail(source: str, target: str) -> None:
        if Path(target) == other and Path(source).read_text() == "new":
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="none of the 2 files is written"):
        write_all({one: "new", other: "new"})
    assert one.read_text() == "old"
    assert one.stat().st_mtime_ns == 10**18 + 123_456_789


def test_what_cannot_be_put_back_is_kept_and_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was removed with the other copies."""
    one, other, replace = tmp_path / "a", tmp_path / "b", os.replace
    one.write_text("old a")
    other.write_text("old b")

    def fail(source: str, target: str) -> None:
        if Path(target) == other or Path(source).read_text().startswith("old"):
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(InputError, match="a: cannot be put back") as caught:
        write_all({one: "new", other: "new"})
    kept = str(caught.value).splitlines()[0].rpartition("what it held is in ")[2]
    assert Path(kept).read_text() == "old a"
    assert other.read_text() == "old b"


def test_a_signal_while_files_are_put_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rest of them stayed new, and what they had held was removed."""
    files, replace, calls = [tmp_path / name for name in "abc"], os.replace, list[str]()
    for path in files:
        path.write_text("old")

    def fail(source: str, target: str) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(errno.EIO, "Input/output error")
        replace(source, target)
        if len(calls) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(KeyboardInterrupt):
        write_all(dict.fromkeys(files, "new"))
    assert {path: path.read_text() for path in tmp_path.iterdir()} == dict.fromkeys(files, "old")


def test_three_signals_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The third came while copies were removed that were to be put back yet."""
    files, at, calls = [tmp_path / name for name in "abc"], set[int](), list[str]()
    real = {name: getattr(os, name) for name in ("replace", "unlink", "link")}

    def then_signalled(name: str) -> Callable[..., Any]:
        def call(*given: Any) -> None:
            calls.append(name)
            number = len(calls)
            real[name](*given)
            if number in at:
                raise KeyboardInterrupt

        return call

    for name in real:
        monkeypatch.setattr(os, name, then_signalled(name))
    for moments in combinations(range(4, 16), 3):
        for path in files:
            path.write_text("old")
        at.clear(), calls.clear()
        at.update(moments)
        with suppress(KeyboardInterrupt):
            write_all(dict.fromkeys(files, "new"))
        assert len({path.read_text() for path in files}) == 1, moments
        assert len([*tmp_path.iterdir()]) == 3, moments


@each("there", [True, False])
def test_files_that_go_to_one_place_are_refused(there: bool, tmp_path: Path) -> None:
    """Through links: one was lost, and a temporary file stayed."""
    path, link = tmp_path / "a", tmp_path / "b"
    link.symlink_to(path)
    if there:
        path.write_text("old")
    with pytest.raises(InputError, match="another of the files goes to the same place"):
        write_all({path: "new", link: "newer"})
    assert path.exists() == there
    assert not there or path.read_text() == "old"
    assert len([*tmp_path.iterdir()]) == 1 + there


@pytest.mark.skipif(os.geteuid() != 0, reason="others may give no file away")
@each("stays", [True, False])
def test_a_list_of_who_may_read_is_kept(
    stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its mask became the bits of the group, which the list had kept out."""
    path, name = tmp_path / "x", "system.posix_acl_access"
    path.write_text("old")
    path.chmod(0o600)
    nobody = 2**32 - 1
    entries = ((1, 6, nobody), (2, 6, 65534), (4, 0, nobody), (16, 6, nobody), (32, 0, nobody))
    acl = struct.pack("<I", 2) + b"".join(struct.pack("<HHI", *one) for one in entries)
    try:
        os.setxattr(path, name, acl)
    except (OSError, AttributeError):
        pytest.skip("no such lists here")
    if not stays:
        monkeypatch.setattr(os, "setxattr", _refused(errno.ENOTSUP))
    write_atomically(path, "new")
    assert (name in os.listxattr(path)) == stays
    assert stat.S_IMODE(path.stat().st_mode) == (0o660 if stays else 0o600)


@pytest.mark.skipif(os.geteuid() != 0, reason="others may give no file away")
def test_owner_and_group_stay(tmp_path: Path) -> None:
    """They became those of root."""
    path, other = tmp_path / "x.txt", tmp_path / "y.txt"
    for one in (path, other):
        one.write_text("old")
        os.chown(one, 1000, 1001)
        one.chmod(0o640)
    write_atomically(path, "new")
    write_all({path: "newer", other: "newer"})
    for one in (path, other):
        found = one.stat()
        assert (found.st_uid, found.st_gid, stat.S_IMODE(found.st_mode)) == (1000, 1001, 0o640)


@each(("mode", "kept", "rest"), [
    (0o640, True, 0o640), (0o640, False, 0o600), (0o664, False, 0o644), (0o666, False, 0o666),
    (0o2770, False, 0o700), (0o4755, True, 0o755),
])  # fmt: skip
def test_who_gets_a_file_gets_no_more_than_before(
    mode: int, kept: bool, rest: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`kept`: whether the process may give the group; the owner it may not."""
    mine, asked = tmp_path.stat(), list[str]()
    like = os.stat_result((mode, 0, 0, 1, mine.st_uid + 1, mine.st_gid + 1, 0, 0, 0, 0))
    real, chmod = os.stat, os.chmod

    def given(_: object, owner: int, group: int) -> None:
        asked.append("owner")
        if owner != -1 or not kept:
            raise PermissionError
        assert group == mine.st_gid + 1

    def looked(file: Any, **named: Any) -> os.stat_result:
        found = real(file, **named)
        if not isinstance(file, int):
            return found
        group = mine.st_gid + (kept and len(asked) > 1)
        return os.stat_result((*found[:5], group, *found[6:10]))

    def changed(path: Any, to: int) -> None:
        asked.append("mode")
        chmod(path, to)

    path = tmp_path / "x"
    with monkeypatch.context() as patch:
        for name, call in (("chown", given), ("stat", looked), ("chmod", changed)):
            patch.setattr(os, name, call)
        with new_file(str(path), Rights(like, b"")):
            found = real(path).st_mode
    assert stat.S_IMODE(found) == rest
    assert asked[-1] == "mode"


def test_folders_that_were_made_go_where_a_file_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those above the last one stayed."""
    monkeypatch.setattr(os, "replace", _refused(errno.ENOSPC))
    folder = tmp_path / "there" / "n1" / "n2"
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="no space left"):
        write_folder(folder, {folder / "a": "new", folder / "n3" / "b": "new"})
    assert [*tmp_path.rglob("*")] == [tmp_path / "there"]
    monkeypatch.setattr(os, "replace", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
    with pytest.raises(KeyboardInterrupt):
        write_folder(folder, {folder / "a": "new"})
    assert [*tmp_path.rglob("*")] == [tmp_path / "there"]


def test_a_folder_is_on_the_disk_before_its_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own name was not, and a power cut could take it with all that is in it."""
    synced, fsync, folder = list[Path](), os.fsync, tmp_path / "n1" / "n2"

    def noted(descriptor: int) -> None:
        synced.append(Path(os.readlink(f"/proc/self/fd/{descriptor}")))
        fsync(descriptor)

    if not Path("/proc/self/fd").is_dir():
        pytest.skip("nothing names what a descriptor opens")
    monkeypatch.setattr(os, "fsync", noted)
    write_folder(folder, {folder / "a": "new"})
    assert synced[:2] == [tmp_path, folder.parent]
    assert synced[-1] == folder


@each("name", ["file/n1", "file", "x\0"])
def test_a_folder_that_cannot_be_made(name: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("old")
    folder = tmp_path / name
    with pytest.raises(InputError, match=r"^output: .*(cannot be made|is a file)"):
        write_folder(folder, {folder / "a": "new"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
