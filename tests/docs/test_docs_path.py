"""The path of one question in docs/architecture.md: the functions that a solve enters, in order."""

from __future__ import annotations

import re
import sys
from types import FrameType

from cli.command import planner
from cli.remembering import anew

from docs.reading import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## The path of one question")[2].partition("\n## ")[0]
STEP = re.compile(r"^\| (\d+) \| `(\w+)` \| `([\w.]+)` \|", re.MULTILINE)
JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--seq-len", "2048")


def entered(*arguments: str, code: int = 0) -> list[str]:
    """The dotted names of the functions that a command enters, each at its first call."""
    names: dict[str, None] = {}

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call":
            names.setdefault(f"{frame.f_globals.get('__name__')}.{frame.f_code.co_qualname}")

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        with anew():
            outcome = planner(*arguments)
    finally:
        sys.setprofile(before)
    assert outcome.code == code, outcome.err
    return [*names]


def test_a_solve_passes_the_functions_of_the_page_in_their_order() -> None:
    steps = STEP.findall(SECTION)
    assert [int(number) for number, _, _ in steps] == [*range(1, len(steps) + 1)]
    assert len(steps) >= 10
    named = [name for _, _, name in steps]
    passed = entered("solve", *JOB)
    assert [name for name in passed if name in named] == named
    for _, room, name in steps:
        assert room in name.split(".")[:2]


def test_a_solve_without_a_plan_passes_what_the_page_says_instead() -> None:
    sentence = SECTION.partition("Where no plan fits")[2].partition("\n\n")[0]
    named = re.findall(r"`(planner\.[\w.]+)`", sentence)
    assert len(named) == 2
    passed = entered("solve", *JOB, "--max-memory", "1MB", code=3)
    assert [name for name in passed if name in named] == named
    replaced = re.findall(r"steps? (\d+)(?: to (\d+))?", sentence)
    left_out = {at for first, last in replaced for at in range(int(first), int(last or first) + 1)}
    steps = [(int(number), name) for number, _, name in STEP.findall(SECTION)]
    assert [number for number, name in steps if name not in passed] == sorted(left_out)
