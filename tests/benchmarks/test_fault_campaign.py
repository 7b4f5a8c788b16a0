"""What the campaign of faults sees: every command that writes, locks, folders, copies."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from support.campaigns import campaigns

Command = Callable[[Path], None]


def _tried(
    command: Command, monkeypatch: pytest.MonkeyPatch, *, links: bool = True
) -> tuple[Any, list[str]]:
    """How a stand-in for a command fares of which each call fails in turn, and what is told."""
    faults, told = campaigns("faults"), list[str]()

    def run(*words: object) -> Any:
        code, said = 0, ""
        try:
            command(Path(str(words[-1])))
        except OSError as error:
            code, said = 2, f"error: {error}\n"
        return campaigns("running").Outcome(
            words=tuple(map(str, words)), code=code, out="", err=said, cpu_s=0, more_bytes=0
        )

    monkeypatch.setattr(faults, "run", run)
    monkeypatch.setattr(faults, "FAULTS", faults.FAULTS[:1])
    with TemporaryDirectory() as folder:
        place = faults.Place(Path(folder))
        count = faults._of_command("x", ("-o", "OUT.csv"), place, told.append, links=links)
    return count, told


def _put(path: Path, content: bytes = b"new") -> None:
    """Writes a file whole, as files should be."""
    half = path.with_name(".planner-1")
    try:
        with half.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(half, path)
    finally:
        with suppress(OSError):
            os.unlink(half)
    _synced(path.parent)


def _synced(folder: Path) -> None:
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        with suppress(OSError):
            os.fsync(descriptor)
        os.close(descriptor)


def test_every_command_that_writes_is_tried() -> None:
    """Eleven were; most were missing, `check -o` among them."""
    writers, tried = campaigns("writers"), campaigns("faults").WRITES.values()
    for one in (*writers.COMMANDS, *writers.STORES):
        words = tuple(one.command.split())
        for flag in one.flags:
            assert any(line[: len(words)] == words and flag in line for line in tried), one


def test_names_of_inputs_are_those_of_the_folder(tmp_path: Path) -> None:
    place = campaigns("faults").Place(tmp_path)
    found = place.words(("job.yaml", "a=model.yaml,cluster.yaml=8", "front.json:1", "OUT/n1", "x"))
    assert found == [
        f"{tmp_path}/job.yaml", f"a={tmp_path}/model.yaml,{tmp_path}/cluster.yaml=8",
        f"{tmp_path}/front.json:1", f"{tmp_path}/out/new/n1", "x",
    ]  # fmt: skip


@pytest.mark.parametrize("tidy", [True, False])
def test_a_lock_that_stays_would_be_seen(monkeypatch: pytest.MonkeyPatch, *, tidy: bool) -> None:
    """No command that locks was tried. One whose own unlink fails is counted alone."""

    def command(path: Path) -> None:
        lock = path.with_name(f"{path.name}.lock")
        if not tidy:
            _locked(lock)
        try:
            if tidy:
                _locked(lock)
            _put(path)
        finally:
            with suppress(OSError):
                os.unlink(lock)

    count, told = _tried(command, monkeypatch)
    assert bool(told) is not tidy, told
    assert all("new.csv.lock is left" in line for line in told)
    assert count.left == 2  # of both: over nothing and over an old file


def _locked(lock: Path) -> None:
    with lock.open("w") as file:
        file.write("1")


@pytest.mark.parametrize("tidy", [True, False])
def test_folders_that_stay_would_be_seen(monkeypatch: pytest.MonkeyPatch, *, tidy: bool) -> None:
    """Files alone were looked at."""

    def command(path: Path) -> None:
        folder = path.parent / "n1"
        os.mkdir(folder)
        try:
            _synced(path.parent)
            _put(folder / "a.csv")
        except OSError:
            if tidy:
                with suppress(OSError):
                    os.rmdir(folder)
            raise

    _, told = _tried(command, monkeypatch)
    assert any("n1/ is new and n1/a.csv is not" in line for line in told) is not tidy, told
    assert tidy is (told == [])


def test_a_folder_that_a_cut_of_power_takes_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    def command(path: Path) -> None:
        os.mkdir(path.parent / "n1")
        _put(path.parent / "n1" / "a.csv")

    _, told = _tried(command, monkeypatch)
    assert "x: n1 is made, and its folder not kept by fsync" in told


@pytest.mark.parametrize("whole", [True, False])
def test_an_old_file_that_is_lost_without_links_would_be_seen(
    monkeypatch: pytest.MonkeyPatch, *, whole: bool
) -> None:
    """Links were never refused, so that nothing was ever copied."""

    def command(path: Path) -> None:
        copy = path.with_name(".planner-2")
        try:
            if path.exists():
                _copy(path, copy, whole=whole)
            _put(path)
        except OSError:
            if copy.exists():
                os.replace(copy, path)
            raise
        finally:
            with suppress(OSError):
                os.unlink(copy)

    _, told = _tried(command, monkeypatch, links=False)
    assert any("neither the old file nor the new one" in line for line in told) is not whole, told


def _copy(path: Path, copy: Path, *, whole: bool) -> None:
    """A second name, or a copy, of which the half may be left under its name."""
    try:
        os.link(path, copy)
    except OSError:
        if whole:
            _put(copy, path.read_bytes())
            return
        with copy.open("wb") as file:
            for byte in path.read_bytes():
                file.write(bytes([byte]))
