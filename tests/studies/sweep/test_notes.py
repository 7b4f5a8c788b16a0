"""Notes of what was read, in a store that somebody else may have made."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from models_db.hub.weights import MOST_HEADER_BYTES
from planner.answers.sweeping import answering
from planner.base.errors import InputError
from planner.base.files import LARGEST_FILE_BYTES
from planner.studies.sweep.question.study import study_of
from planner.studies.sweep.reads import Reads
from planner.studies.sweep.running.run import Run, run_study
from planner.studies.sweep.store import Store
from strict_yaml import contents
from studies.sweep.stand_in import Here, Questions, known

ANY = "0" * 64
FIELDS: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8,
                          "fix": {"tp": ["1"], "pp": ["1"]}, "clocks": False}  # fmt: skip
STUDY = study_of(FIELDS, cross={"seq_len": [2048]})


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a pipe that nobody writes to."""
    os.mkfifo(tmp_path / "pipe")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def ran() -> int:
    """How many questions a run solves."""
    solved = list[str]()

    def act(questions: Questions) -> str:
        solved.extend(key for key, _ in questions)
        return "finished"

    run_study(STUDY, Path("s.db"), Run(solve=known, workers=Here(act)))
    return len(solved)


def asked() -> int:
    """How many questions are read from the store, which is asked one."""
    with answering(Path("s.db")) as ask:
        ask(FIELDS)
        return ask.read


def note_instead(read: Any) -> None:
    """Writes into the one result what was read for it."""
    database = sqlite3.connect("s.db")
    (run,) = database.execute("SELECT run FROM result").fetchone()
    text = json.dumps({**json.loads(run), "read": read})
    database.execute("UPDATE result SET run = ?", (text,))
    database.commit()
    database.close()


@each("use", [ran, asked])
def test_other_notes_are_damage(use: Callable[[], int]) -> None:
    Path("s.db").unlink(missing_ok=True)
    use()
    for read in (5, None, [["a", ANY]], {"a": 5}, {"a": "x"}, {"/dev/zero": f"{'9' * 30}:{ANY}"}):
        note_instead(read)
        with pytest.raises(InputError, match=r"^s.db: is damaged \(a row is not as it was writ"):
            use()


@each(("use", "found"), [(ran, (1, 0)), (asked, (0, 1))])
def test_what_is_no_file_has_changed(use: Callable[[], int], found: tuple[int, int]) -> None:
    """A point is solved once more, then no more."""
    for name in ("/dev/zero", "pipe", "missing"):
        Path("s.db").unlink(missing_ok=True)
        use()
        note_instead({name: f"{10**12}:{ANY}", ".": ANY})
        assert (use(), use()) == found


@each("value", [
    5, None, "x", f"{ANY}0", f"{ANY}\n", ANY.replace("0", "A"), f"{ANY}, then {ANY}", f":{ANY}",
    f"-1:{ANY}", f"{'9' * 5000}:{ANY}", f"\u0661:{ANY}", "5:",
])  # fmt: skip
def test_no_such_note_is_written(value: object) -> None:
    assert not contents.is_note(value)


@each("name", ["/dev/zero", "pipe", ".", "missing", "\ud800", "a\0b", ""])
def test_what_is_no_file_is_not_opened(name: str) -> None:
    """A pipe waits for who writes, a device has no end."""
    for like in ("", ANY, f"{10**12}:{ANY}", f"{10**18 - 1}:{ANY}", f"5:{ANY}", f"0:{ANY}"):
        assert contents.note_of(name, like) == ""


def test_no_more_is_read_than_readers_take(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert max(LARGEST_FILE_BYTES, MOST_HEADER_BYTES + 8) < contents.MOST_BYTES
    monkeypatch.setattr(contents, "MOST_BYTES", 10)
    (here / "small").write_bytes(b"a" * 10)
    (here / "large").write_bytes(b"a" * 11)
    for name, like, length in (
        ("small", "", 10), ("small", f"10:{ANY}", 10), ("large", f"10:{ANY}", 10),
        ("large", f"0:{ANY}", 0),
    ):  # fmt: skip
        digest = hashlib.sha256(b"a" * length).hexdigest()
        assert contents.note_of(name, like) == (f"{length}:{digest}" if like else digest)
    for name, like in (("small", f"11:{ANY}"), ("large", ""), ("large", f"11:{ANY}")):
        assert contents.note_of(name, like) == ""


def test_another_part_of_a_file_is_asked_for_apart(here: Path) -> None:
    """A note that somebody else wrote says nothing about what a worker then reads."""
    (here / "a").write_bytes(b"abcdef")
    reads = Reads({})
    assert reads.changed([("a", f"3:{ANY}")]) == "a"
    assert not reads.changed(
        [("a", contents.note_of("a")), ("a", contents.note_of("a", f"3:{ANY}"))]
    )


def test_notes_that_were_written_are_read(here: Path) -> None:
    (here / "a").write_bytes(b"abc")
    for note in ("", contents.note_of("a"), contents.note_of("a", f"2:{ANY}")):
        ran()
        note_instead({"a" if note else "missing": note})
        assert ran() == 0
        with Store(Path("s.db")) as store:
            assert store.results() == 1
