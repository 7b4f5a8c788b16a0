"""Every item of every document is run once; its numbers, its page and its command are looked at."""

import re
import runpy
import shlex
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner
from typer.main import get_command

from planner.base.errors import InputError
from planner.cli.main import app
from planner.collectives.questions import shipped
from planner.report.charts.reproduce import pictures_of
from planner.report.pages.reproduce import reproduced_page
from planner.report.tables.reproduce import every_view
from planner.report.tables.tables import text_of
from planner.studies.reproduce import running
from planner.studies.reproduce.documents import Expected, documents
from planner.studies.reproduce.found import Reproduced


@pytest.fixture(scope="module")
def every() -> tuple[Reproduced, ...]:
    return running.reproduce_all()


def test_a_number_differs_where_a_reason_is_given_and_nowhere_else(
    every: tuple[Reproduced, ...],
) -> None:
    wrong = [
        (one.document.number, one.item.name, line.expected.key, line.expected.says, line.ours)
        for one in every
        for line in one.lines
        if line.agrees == bool(line.expected.why)
    ]
    assert wrong == []


def test_items_and_functions_and_their_numbers_are_the_same(every: tuple[Reproduced, ...]) -> None:
    for document in documents():
        assert list(running.runs_of(document)) == [item.name for item in document.items]
    for one in every:
        expected = [number.key for number in one.item.expected]
        assert sorted(one.found.values) == sorted(expected), one.item.name
        assert len(set(expected)) == len(expected)
    assert len({(one.document.number, one.item.name) for one in every}) == len(every)


def test_the_headline_numbers_are_there(every: tuple[Reproduced, ...]) -> None:
    """Some that the documents are known for, so that no entry goes lost."""
    by_name = {(one.document.number, one.item.name): one.found.values for one in every}
    assert by_name["003", "dp"] == {"one_axis": 2550, "all_axes": 850, "pod": 7_616_000}
    assert round(by_name["003", "mixed"]["tokens"]) == 99
    assert by_name["003", "two-pods"]["round"]
    assert not by_name["003", "two-pods"]["real"]
    assert by_name["002", "fig3"]["ratio_tried"] == pytest.approx(120.4, abs=0.1)
    assert by_name["000", "fig8"]["ring"] == 8
    assert by_name["001", "fig6a"]["x"] == 8.75


def test_the_page_has_every_item_and_every_picture(every: tuple[Reproduced, ...]) -> None:
    page = reproduced_page(every)
    drawn = 0
    for one in every:
        ident = f"d{one.document.number}-{one.item.name}"
        assert page.count(f'<section id="{ident}"') == 1, ident
        drawn += sum(len(picture.charts) for picture in pictures_of(one.found))
    assert page.count("<svg") == drawn > 35
    assert re.search(r"""(src|href)=["']https?:""", page) is None


def test_the_page_of_the_docs_is_current(every: tuple[Reproduced, ...]) -> None:
    root = Path(__file__).parents[3]
    page = runpy.run_path(str(root / "benchmarks" / "reproduce.py"))["page"](every)
    written = (root / "docs" / "reproduce.md").read_text(encoding="utf-8")
    assert written == page, (
        "write it again: python benchmarks/reproduce.py --write docs/reproduce.md"
    )
    assert len(written.splitlines()) <= 250


def test_panels_have_the_numbers_of_the_document(every: tuple[Reproduced, ...]) -> None:
    for one in every:
        for picture in pictures_of(one.found):
            for chart in picture.charts:
                assert re.match(r"(Figure (\d+[a-e]?|\(\w+\))|Animation)\W", chart.title), (
                    chart.title
                )


def test_what_is_printed_names_every_reason(every: tuple[Reproduced, ...]) -> None:
    text = " ".join(text_of(every_view(every)).split())
    for one in every:
        for line in one.lines:
            assert " ".join(line.expected.why.split()) in text
    assert re.search(r"\d+ numbers of \d+ items: \d+ agree, \d+ differ", text)


def test_every_command_can_be_parsed() -> None:
    for document in documents():
        for item in document.items:
            name, *arguments = shlex.split(item.command)
            command: Any = get_command(app)
            while hasattr(command, "commands"):
                name, *arguments = arguments
                command = command.commands[name]
            command.make_context(name, arguments).close()


def test_the_command_lists_runs_and_refuses(tmp_path: Path) -> None:
    assert [one["number"] for one in planner("reproduce", "--json").document["documents"]] == [
        "000", "001", "002", "003", "004",
    ]  # fmt: skip
    assert "47000-chips" in planner("reproduce", "chapter").out
    (one,) = planner("reproduce", "003", "x-opt", "--json").document["items"]
    first = one["values"][0]
    assert (first["document"], first["agrees"]) == (13.9, False)
    assert first["difference"] == pytest.approx(13.693 / 13.9 - 1, abs=1e-4)
    page = tmp_path / "page.html"
    assert "-1.49 %" in planner("reproduce", "003", "x-opt", "--html", page).out
    assert "<svg" not in page.read_text(encoding="utf-8")
    refused = {
        ("003", "q4"): "'q4' is not one of",
        ("005",): "document: '005' is not one of 000",
        ("003", "q3", "--all"): "all: runs every item",
        ("003", "--html", page): "html: nothing is run",
        ("003", "q3", "--html", tmp_path / "page.svg"): "a page ends in .html",
        ("003", "q3", "--resynthesize"): "reads no schedules",
        ("--resynthesize",): "nothing is run",
    }
    for arguments, words in refused.items():
        outcome = planner("reproduce", *arguments)
        assert outcome.code == 2
        assert words in outcome.mistakes[0]


def test_agreement_is_to_the_last_printed_digit() -> None:
    printed = Expected(key="x", what="x", says=7.6, to=0.1)
    assert [printed.agrees(ours) for ours in (7.55, 7.69, 7.71, 7.54)] == [True, True, False, False]
    every = [one for document in documents() for item in document.items for one in item.expected]
    numbers = [one for one in every if type(one.says) in (int, float) and one.low is one.high]
    assert len(numbers) > 60
    for one in numbers:
        assert one.agrees(one.says), one
        for wrong in (one.says - 0.51 * one.to - 1e-3, one.says + one.to + 1e-3):
            assert not one.agrees(wrong), one
    ranged = Expected(key="x", what="x", says="about 8", low=7, high=9)
    assert [ranged.agrees(ours) for ours in (6.9, 7, 9, 9.1)] == [False, True, True, False]
    assert Expected(key="x", what="x", says=True).agrees(True)
    assert not Expected(key="x", what="x", says=True).agrees(False)


def test_a_shipped_schedule_that_lies_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    one = shipped.shipped_fronts("dgx-1")[0]
    fields = {name: getattr(one, name) for name in one.__slots__}
    for change, words in (
        ({"rounds": 4}, "as listed"),
        ({"rounds_at_least": 4}, "below its own bound"),
        ({"collective": "alltoall"}, "as listed"),
    ):
        with pytest.raises(InputError, match=words):
            shipped.verified(shipped.Shipped(**{**fields, **change}))
    monkeypatch.setattr(shipped, "_exact", lambda *_: 2)
    with pytest.raises(InputError, match="are not proved: the exact bound is 2"):
        shipped.verified(one)
