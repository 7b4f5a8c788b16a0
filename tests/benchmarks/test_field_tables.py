"""What is made of the fields of the question is current: types for Python, the table of a page."""

import inspect
import runpy
from pathlib import Path
from typing import Any, Required, get_origin, get_type_hints

import planner
from planner.question.asked import BY_NAME, EXPORTED, FEASIBLE
from planner.question.asked.typed import (
    CommonFields,
    EvaluateFields,
    ExplainFields,
    ExportFields,
    FeasibleFields,
    SolveFields,
)

ROOT = Path(__file__).parents[2]
MADE: dict[str, Any] = runpy.run_path(str(ROOT / "benchmarks" / "fields.py"))
AGAIN = "make it again: python benchmarks/fields.py"


def test_the_types_are_those_of_the_fields() -> None:
    assert MADE["TYPED"].read_text(encoding="utf-8") == MADE["typed"](), AGAIN


def test_the_table_of_the_page_is_that_of_the_fields() -> None:
    page = MADE["PAGE"].read_text(encoding="utf-8")
    assert MADE["BEGIN"] in page
    assert MADE["with_table"](page) == page, AGAIN
    assert all(f"\n| `{name}` | " in page for name in BY_NAME)
    assert MADE["with_table"](page.replace("| `chips` |", "| `chip` |")) == page


def test_functions_take_the_fields_that_they_should() -> None:
    assert get_type_hints(SolveFields).keys() == BY_NAME.keys()
    kinds = get_type_hints(SolveFields, include_extras=True)
    assert [name for name, kind in kinds.items() if get_origin(kind) is Required] == ["model"]
    assert get_type_hints(EvaluateFields).keys() == BY_NAME.keys()
    assert get_type_hints(ExplainFields).keys() == BY_NAME.keys() - {"objective"}
    assert set(get_type_hints(FeasibleFields)) == set(FEASIBLE)
    assert set(get_type_hints(ExportFields)) == set(EXPORTED)
    assert get_type_hints(CommonFields).keys() == BY_NAME.keys() - {"model", "objective"}
    for function, record in (
        (planner.solve, "SolveFields"), (planner.evaluate, "EvaluateFields"),
        (planner.explain, "ExplainFields"), (planner.feasible, "FeasibleFields"),
        (planner.export_file, "ExportFields"),
    ):  # fmt: skip
        assert inspect.signature(function).parameters["fields"].annotation == f"Unpack[{record}]"
