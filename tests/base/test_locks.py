"""The lock beside a file: it waits, it names who holds it, and nobody that ended holds it."""

import fcntl
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.base.locks import held_by, holding

HOLDS = """
import sys, time
from pathlib import Path
from planner.base.locks import holding
with holding(Path(sys.argv[1]), 1.0, ""):
    print("holds", flush=True)
    time.sleep(60)
"""


def test_a_killed_process_holds_nobody_up(tmp_path: Path) -> None:
    path = tmp_path / "runs.csv"
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, str(path)], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "holds\n"
        assert held_by(path).startswith(f"process {other.pid} on host ")
        started = time.monotonic()
        with (
            pytest.raises(InputError, match=rf"holds it \(process {other.pid} .*; wait$"),
            holding(path, 0.1, "wait"),
        ):
            pass
        assert time.monotonic() - started < 1.0
        os.kill(other.pid, signal.SIGKILL)
        other.wait()
    assert (tmp_path / "runs.csv.lock").exists()
    with holding(path, 0.0, "") as held:
        assert held
    assert list(tmp_path.iterdir()) == []


def test_all_names_of_a_file_have_one_lock(tmp_path: Path) -> None:
    path, link = tmp_path / "runs.csv", tmp_path / "link.csv"
    path.touch()
    link.symlink_to(path)
    with (
        holding(path, 0.0, ""),
        pytest.raises(InputError, match="another run holds it"),
        holding(link, 0.0, ""),
    ):
        pass


def test_a_file_of_somebody_else_is_no_lock(tmp_path: Path) -> None:
    own = tmp_path / "runs.csv.lock"
    own.write_text("my notes")
    with (
        pytest.raises(InputError, match=r"runs\.csv\.lock: is no lock of planner; rename it"),
        holding(tmp_path / "runs.csv", 0.0, ""),
    ):
        pass
    assert own.read_text() == "my notes"


@contextmanager
def full_disk() -> Iterator[None]:
    """Inside of it files may be made, and nothing be written to them."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_said_and_leaves_no_lock(tmp_path: Path) -> None:
    """It was a defect of planner, and an empty lock stayed."""
    with (
        pytest.raises(InputError, match=r"runs\.csv: cannot be written \(file too large\)"),
        full_disk(),
        holding(tmp_path / "runs.csv", 0.0, ""),
    ):
        pass
    assert list(tmp_path.iterdir()) == []


@each("error", [KeyboardInterrupt(), SystemExit(143)])
@each("call", ["os.open", "os.fdopen", "fcntl.flock", "platform.node", "os.unlink"])
def test_a_signal_at_any_call_leaves_no_lock(
    call: str, error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It did before anybody was to remove one."""
    module = sys.modules[call.partition(".")[0]]
    real, came = getattr(module, call.partition(".")[2]), list[int]()

    def broken(*given: object, **named: object) -> object:
        found = real(*given, **named)
        came.append(1)
        if len(came) == 1:
            raise error
        return found

    monkeypatch.setattr(call, broken)
    with pytest.raises(type(error)), holding(tmp_path / "runs.csv", 0.0, ""):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_signal_takes_no_lock_from_who_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, slept = tmp_path / "runs.csv", list[float]()

    def interrupted(seconds: float) -> None:
        slept.append(seconds)
        raise KeyboardInterrupt

    with holding(path, 0.0, ""):
        monkeypatch.setattr(time, "sleep", interrupted)
        with pytest.raises(KeyboardInterrupt), holding(path, 9.0, ""):
            pass
        assert held_by(path).startswith(f"process {os.getpid()} on host {platform.node()}")
    assert len(slept) == 1
    assert list(tmp_path.iterdir()) == []


def test_what_a_full_disk_took_of_a_lock_is_still_one(tmp_path: Path) -> None:
    (tmp_path / "runs.csv.lock").write_text('{"pro')
    with holding(tmp_path / "runs.csv", 0.0, "") as held:
        assert held
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_in_the_place_of_a_lock_holds_nobody_up(tmp_path: Path) -> None:
    """Who asked waited for ever."""
    path, found = tmp_path / "runs.csv", list[str]()
    os.mkfifo(tmp_path / "runs.csv.lock")
    asking = threading.Thread(target=lambda: found.append(held_by(path)), daemon=True)
    asking.start()
    asking.join(5.0)
    assert found == [""]
    with (
        pytest.raises(InputError, match=r"runs\.csv\.lock: is no lock of planner; rename it"),
        holding(path, 0.0, ""),
    ):
        pass
    assert (tmp_path / "runs.csv.lock").is_fifo()


def test_a_lock_is_made_nowhere_else(tmp_path: Path) -> None:
    """Through a link a file was made, and left, where that leads."""
    (tmp_path / "runs.csv.lock").symlink_to(tmp_path / "elsewhere")
    with (
        pytest.raises(InputError, match="cannot be written"),
        holding(tmp_path / "runs.csv", 0.0, ""),
    ):
        pass
    assert not (tmp_path / "elsewhere").exists()


def test_who_lets_go_removes_no_lock_that_another_has_made(tmp_path: Path) -> None:
    """Somebody removed the file, as one of a run that was killed."""
    path, lock = tmp_path / "runs.csv", tmp_path / "runs.csv.lock"
    with ExitStack() as second:
        with holding(path, 0.0, ""):
            lock.unlink()
            second.enter_context(holding(path, 0.0, ""))
        assert held_by(path).startswith(f"process {os.getpid()} on host ")
    assert list(tmp_path.iterdir()) == []


def test_a_lock_that_goes_while_it_is_taken_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The one who held it removes it between opening and locking: nobody else would see it."""
    path, flock, calls = tmp_path / "runs.csv", fcntl.flock, list[int]()

    def later(file: object, how: int) -> None:
        calls.append(how)
        if len(calls) == 1:
            (tmp_path / "runs.csv.lock").unlink()
        flock(file, how)  # type: ignore[arg-type]

    monkeypatch.setattr(fcntl, "flock", later)
    with (
        holding(path, 0.0, ""),
        pytest.raises(InputError, match="another run holds it"),
        holding(path, 0.0, ""),
    ):
        pass


def test_a_lock_that_was_left_names_who_holds_it_now(tmp_path: Path) -> None:
    path, longer = tmp_path / "runs.csv", "node" * 50
    text = json.dumps({"process": 4711, "host": longer})
    (tmp_path / "runs.csv.lock").write_text(text)
    with holding(path, 0.0, ""):
        assert held_by(path) == f"process {os.getpid()} on host {platform.node()}"
