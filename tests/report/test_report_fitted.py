"""Tables on narrow screens: no number is cut, and no column goes missing unsaid."""

from collections import Counter

import pytest
from support.cases import each

from planner.evidence.validation.answer import Validation, validate
from planner.evidence.validation.measured_runs import Runs
from planner.report.tables import validation_tables
from planner.report.tables.fitted import Fitted
from planner.report.tables.tables import table, text_of
from planner.report.tables.validation import fitting, run_tables, validation_view

WIDTHS = (40, 60, 80, 100)


@pytest.fixture(scope="module")
def answer() -> Validation:
    return validate(sources=["simumax", "vtrain-multi"], site_factors=True)


@pytest.fixture(scope="module")
def runs(answer: Validation) -> Runs:
    assert answer.runs is not None
    return answer.runs


@each("width", WIDTHS)
def test_numbers_are_whole_and_columns_shown_or_named(width: int, runs: Runs) -> None:
    for found in run_tables(runs):
        title, header, rows = found
        said = text_of(fitting(found), width)
        assert max(map(len, said.splitlines())) <= width, title
        body, _, left_out = said.partition("Left out here: ")
        gone = " ".join(left_out.split()).partition(" (a wider")[0]
        for at, name in enumerate(header):
            shown = all(word in body for word in name.split() if len(word) <= 18)
            assert shown or name in gone, (title, name)
            if name in validation_tables.TEXT or name in gone:
                continue
            assert all(row[at] in body for row in rows), (title, name)


def test_targets_keep_their_figure_at_80_columns(runs: Runs) -> None:
    said = text_of(fitting(validation_tables.target_table(runs.targets)), 80)
    assert "Left out" not in said
    assert {"figure", "factors", "without", "regret"} <= set(said.split())


@each("width", range(12, 61))
def test_of_plain_tables_nothing_is_cut(width: int) -> None:
    """Names break before numbers; where these have no room beside one another they go below."""
    header = ("job of a fleet", "cluster", "money", "interval")
    rows = [("llama3-8b-german-law-continued", "frankfurt", "349,904", "22.55 s to 29.4")] * 2
    said = text_of(table(header, rows, right=header[2:], whole=header[:2]), width)
    assert max(map(len, said.splitlines())) <= width
    shown, whole = Counter(said), Counter("".join((*header, *rows[0], *rows[1])))
    assert all(shown[letter] >= whole[letter] for letter in whole if letter != " ")
    if width >= len(rows[0][3]) + 3:  # a letter of the name, and the gap
        assert all(said.count(one) == 2 for one in rows[0][2:])
    wide = text_of(table(header, rows, right=header[2:], whole=header[:2]), 110)
    assert len(wide.splitlines()) == 3


def test_names_fold_at_spaces_and_numbers_do_not() -> None:
    header = ("name", "interval", "power")
    rows = [["nodes and fabric of a cluster", "943 W to 1.08 kW", "1.08 kW"]]
    view = Fitted(header, rows, right=("interval", "power"))
    assert "name" in text_of(view, 60).splitlines()[0]
    lines = text_of(view, 36).splitlines()
    assert lines[1].split("  ")[0] in {"nodes", "nodes and"}
    assert lines[1].endswith("943 W to 1.08 kW  1.08 kW")
    assert "\nLeft out here: power" in text_of(view, 28)


def test_site_factors_are_said_before_the_figures(answer: Validation, runs: Runs) -> None:
    said = text_of(validation_view(answer))
    assert said.startswith("With site factors: ")
    titles = [title for title, _, _ in run_tables(runs)]
    with_them = titles.index("Step time with site factors, error in %")
    assert with_them < titles.index("Step time without site factors, error in %")
    assert validation_tables.row_table(runs)[0] == "Runs, predicted with site factors"
