"""The lock beside a file: it waits, it names who holds it, and nobody that ended holds it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

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
