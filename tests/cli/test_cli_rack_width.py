"""Tables of `planner rack` on narrow terminals: split, never cut."""

import re
from collections import Counter

import pytest
from rich.console import RenderableType
from support.cases import each

from cli.command import planner
from planner.report.tables import tables
from planner.report.tables.tables import SplitTable, text_of, width_of

_COMMANDS = {
    "topology": (
        "topology", "--chips", 64, "--bandwidth", "50GB/s", "--energy-per-hop", "20pJ/bit",
        "--link-price", 200, "--port-price", 300, "--latency", "1us", "--link-power", 5,
    ),
    "large topologies": (
        "topology", "torus:8x8x8", "fat-tree:k=12", "dragonfly:a=8,h=4,p=4",
        "--bandwidth", "50GB/s", "--link-price", 200, "--port-price", 300,
    ),
    "solve": ("solve", "--workload", "fc", "--gpus", "2-4"),
    "infeasible": ("solve", "--workload", "fc", "--gpus", "3-4", "--max-links", 1),
    "parallelism": ("parallelism",),
    "beyond": ("parallelism", "--beyond"),
    "zero": ("zero", "--gpus", "2-5", "--topology", "linear,ring,fully-connected,torus,hypercube",
             "--workload", "fc,conv,ffn,attention"),
}  # fmt: skip


def _figures(text: str) -> Counter[str]:
    """Words with a digit, as often as they are there."""
    return Counter(re.findall(r"\S*\d\S*", text))


@pytest.mark.parametrize("command", _COMMANDS)
def test_nothing_is_cut_on_a_narrow_terminal(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    views: list[RenderableType] = []
    monkeypatch.setattr(tables, "print_view", views.append)
    outcome = planner("rack", *_COMMANDS[command])
    assert (outcome.code, outcome.err) == (3 if command == "infeasible" else 0, "")
    (view,) = views
    wide = _figures(text_of(view, 1000))
    assert len(wide) > 10
    for width in (110, 80, 60):
        narrow = text_of(view, width)
        assert not wide - _figures(narrow), width
        assert max(map(len, narrow.splitlines())) <= width


def test_every_table_names_its_rows() -> None:
    view = SplitTable(
        ("name", "first", "second"), [("a", "1,234", "5,678"), ("b", "1", "2")],
        by=("name",), right=("first", "second"),
    )  # fmt: skip
    assert width_of(view) == len("name  first  second")
    assert text_of(view, 19) == "name  first  second\na     1,234   5,678\nb         1       2"
    assert text_of(view, 18).split("\n\n") == [
        "name  first\na     1,234\nb         1",
        "name  second\na      5,678\nb          2",
    ]


def test_columns_that_belong_together_stay_so() -> None:
    view = SplitTable(("n", "aa", "bb", "cc"), [("1", "2", "3", "4")], by=("n",),
                      right=("aa", "bb", "cc"), together=(("bb", "cc"),))  # fmt: skip
    assert [part.splitlines()[0] for part in text_of(view, 12).split("\n\n")] == [
        "n  aa", "n  bb  cc",
    ]  # fmt: skip


@each("width", [5, 7, 12])
def test_not_even_one_column_fits(width: int) -> None:
    """Then names are broken, and numbers where they alone are too wide; no letter is lost."""
    view = SplitTable(("topology", "links"), [("fully-connected", "123,456")], by=("topology",),
                      right=("links",))  # fmt: skip
    printed = text_of(view, width)
    assert sorted(re.sub(r"\s", "", printed)) == sorted("topologylinksfully-connected123,456")
