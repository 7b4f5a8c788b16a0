"""A disk that is full once the answer is known costs the files, not the answer."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest import mock

import pytest
from support.cases import each

from cli.command import Outcome, planner
from planner.base.errors import InputError
from planner.cli.writing import before_printing

JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80")
SMALL = (*JOB, "--chips", "8", "--axes", "dp")
PHASES = ("--chips", "8", "--axes", "dp", "--phases", "1e9", "--phases", "2e9")
FORMATS = Path(__file__).parents[1] / "formats"
PLAN, FRONT = FORMATS / "plan-1.yaml", f"{FORMATS / 'front-1.json'}:2"
LINE = "cannot be written (no space left on device)"


@contextmanager
def full_disk() -> Iterator[None]:
    """Inside of it empty files can be written, and no others."""
    real = os.fsync

    def synced(descriptor: int) -> None:
        if os.fstat(descriptor).st_size:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        real(descriptor)

    with mock.patch("os.fsync", synced):
        yield


def asked(folder: Path, *words: object) -> Outcome:
    """A command whose files, words that begin with a plus, go to a folder."""
    return planner(*(str(folder / str(word)[1:]) if str(word)[0] == "+" else word
                     for word in words))  # fmt: skip


@pytest.mark.parametrize("shown", ["--quiet", "--json", "--show=all"])
def test_the_answer_of_a_search_is_printed_all_the_same(shown: str, tmp_path: Path) -> None:
    files = ("-o", "+p.yaml", "--pareto", "+f.csv", "--pareto", "+f.json", "--plot", "+x.svg")
    (tmp_path / "f.csv").write_text("old", encoding="utf-8")
    with full_disk():
        found = asked(tmp_path, "solve", *SMALL, *files, shown)
    assert found.code == 2
    path = tmp_path / "p.yaml"
    assert found.mistakes == [f"{path}: {LINE}; none of the 4 files is written"]
    assert [file.name for file in tmp_path.iterdir()] == ["f.csv"]
    assert (tmp_path / "f.csv").read_text(encoding="utf-8") == "old"
    if shown == "--json":
        assert found.document["best"]["mesh"]["dp"] == 8
    else:
        assert "dp 8" in found.out
    assert str(path) not in found.out  # no command goes on from a file that is not there


@each("words", [
    ("evaluate", PLAN, "--plot", "+x.svg", "-o", "+p.yaml"),
    ("explain", PLAN, "--plot", "+x.svg"),
    ("compare", PLAN, FRONT, "--plot", "+x.svg"),
    ("solve", *SMALL, "--vary", "memory.bandwidth=1x,2x", "--plot", "+x.svg"),
    ("solve", *JOB, *PHASES, "-o", "+p.yaml"),
    ("rack", "topology", "ring:4", "--plot", "+x.svg", "--link-loads", "+l.csv"),
    ("collective", "synthesize", "--topology", "ring:4", "-o", "+s.json"),
])  # fmt: skip
def test_so_is_that_of_other_commands(words: tuple[object, ...], tmp_path: Path) -> None:
    with full_disk():
        found = asked(tmp_path, *words, "--json")
    assert found.code == 2
    assert isinstance(found.document, dict)
    (line,) = found.mistakes
    assert LINE in line
    assert not list(tmp_path.iterdir())


def test_a_path_that_is_wrong_from_the_start_is_refused_before(tmp_path: Path) -> None:
    for words in (("solve", *SMALL), ("evaluate", PLAN)):
        found = asked(tmp_path, *words, "-o", "+nowhere/p.yaml")
        assert (found.code, found.out) == (2, "")
        assert "nowhere/p.yaml: cannot be written" in found.err


def test_outside_of_a_command_it_is_raised_at_once() -> None:
    with pytest.raises(InputError, match="full"), before_printing():
        raise InputError("full")
