"""Costs of a plan and of its stages in a terminal."""

import io
import re
from dataclasses import replace
from typing import Any

import pytest
from rich.console import Console

from planner.base.units import show_bytes, show_seconds
from planner.report.charts.breakdown import STATIC, breakdown_charts, wholes
from planner.report.tables.breakdown import breakdown_view, stage_view
from planner.results.result import EvaluateResult
from report.test_plan_pictures import facts_of, piped

__all__ = ["piped"]


def printed(view: Any, width: int) -> str:
    """What a view prints."""
    out = io.StringIO()
    Console(file=out, width=width, highlight=False).print(view)
    return out.getvalue()


@pytest.mark.parametrize("width", [40, 80, 110, 200])
def test_bars_in_a_terminal_are_as_long_as_their_parts(piped: EvaluateResult, width: int) -> None:
    text = printed(breakdown_view(piped.result), width)
    assert all(len(line) <= width for line in text.splitlines())
    assert "..." not in text
    drawn = {}
    for whole in wholes(piped.result):
        for name, value, _ in whole.ranked():
            if value <= 0:
                continue
            cells = rf"{name.replace('_', ' ')} +{re.escape(whole.show(value))} +[\d.]+ % *(#*)"
            found = re.search(cells, text + " ")
            assert found, name
            drawn[whole.title, name] = (len(found[1]), value / whole.ranked()[0][1])
    longest = max(bar for bar, _ in drawn.values())
    assert (longest == 0) is (width < 50)
    for bar, share in drawn.values():
        assert abs(bar - share * longest) <= 1.5


def test_stages_in_a_terminal(piped: EvaluateResult) -> None:
    facts = facts_of(piped)
    for width in (80, 110):
        text = "".join(printed(part, width) for part in stage_view(facts))
        assert all(len(line) <= width for line in text.splitlines())
        for stage in facts.stages:
            assert show_bytes(stage.total_bytes) in text
            assert show_seconds(stage.backward_s) in text
        assert text.count("|") == len(facts.stages) + 1, "the limit is a line"
    alone = replace(facts, stages=facts.stages[:1])
    assert stage_view(alone) == []


def test_equal_stages_share_a_line_and_many_are_cut(piped: EvaluateResult) -> None:
    facts = facts_of(piped)
    equal = tuple(replace(facts.stages[1], index=index) for index in range(8))
    text = "".join(printed(part, 80) for part in stage_view(replace(facts, stages=equal)))
    assert re.search(r"^0-7 ", text, re.MULTILINE)
    many = tuple(
        replace(facts.stages[1], index=index, total_bytes=1e9 * (index + 1)) for index in range(40)
    )
    text = "".join(printed(part, 80) for part in stage_view(replace(facts, stages=many)))
    assert "28 more" in text
    assert re.search(r"^39 ", text, re.MULTILINE)
    over = tuple(replace(stage, total_bytes=2e12) for stage in facts.stages)
    text = "".join(printed(part, 110) for part in stage_view(replace(facts, stages=over)))
    assert "#>" in text, "what does not fit goes beyond the limit"


def test_static_energy_says_that_switches_are_in_it(piped: EvaluateResult) -> None:
    _, energy, _ = breakdown_charts([("plan", piped.result)])
    assert energy.notes == (STATIC,)
    assert STATIC in printed(breakdown_view(piped.result), 200)
    without = replace(piped.result, energy_j={**piped.result.energy_j, "static": 0.0})
    assert STATIC not in printed(breakdown_view(without), 200)
