"""`planner compare old.json new.json` in a terminal: what moved, and why."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from planner.answers.changes.two_answers import Change, TwoAnswers
from planner.base.messages import shown
from planner.base.units import show_seconds
from planner.report.tables.explain import signed
from planner.report.tables.tables import section, table

_GROUPS = {
    "question": "asked", "default": "assumed", "job": "job", "version": "version", "plan": "plan",
    "counts": "searched", "answer": "answer",
}  # fmt: skip

_LONGEST = 100  # characters of a cell


def two_answers_view(result: TwoAnswers) -> RenderableType:
    """Everything that is printed."""
    return Group(*_blocks(result))


def _blocks(result: TwoAnswers) -> Iterator[RenderableType]:
    yield Text(_head(result))
    reasons = [(signed(one.change), one.words) for one in result.reasons]
    if reasons:
        yield section("Why", table(("change", "reason"), reasons, right=("change",)))
    if result.changes:
        rows = [_row(one) for one in result.changes]
        rows += [
            (_GROUPS[group], f"and {more:,} more", "", "")
            for group, more in result.changes_left_out.items()
        ]
        yield section("What differs", table(("of the", "what", "old", "new"), rows))
    if result.parts_s:
        parts = sorted(result.parts_s.items(), key=lambda one: -abs(one[1][1] - one[1][0]))
        rows = [
            (name.replace("_", " "), show_seconds(old), show_seconds(new), _signed_s(new - old))
            for name, (old, new) in parts
        ]
        header = ("part of the step", "old", "new", "difference")
        yield section("One plan by both models", table(header, rows, right=header[1:]))


def _head(result: TwoAnswers) -> str:
    objective = result.minimized
    values = [
        f"{name}: {'no plan' if value is None else objective.show(value)} ({status})"
        for name, value, status in zip(
            result.names, result.objectives, result.statuses, strict=True
        )
    ]
    if result.change is None:
        ending = ""
    elif not result.changes and not result.reasons:
        ending = "; the answers are the same"
    else:
        ending = f"; {objective.name} {signed(result.change)}"
    return f"{', '.join(values)}{ending}"


def _row(change: Change) -> tuple[str, str, str, str]:
    told = map(_mesh, (change.old, change.new)) if change.name == "mesh" else change.in_words
    name, old, new = (_clipped(words or "") for words in (change.name, *told))
    return _GROUPS[change.group], name, old, new


def _clipped(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


def _mesh(value: object) -> str:
    """`dp 2, tp 3`."""
    if not isinstance(value, dict):
        return "" if value is None else shown(value)
    return ", ".join(f"{name} {one}" for name, one in value.items() if one != 1) or "all 1"


def _signed_s(seconds: float) -> str:
    return f"{'+' if seconds > 0 else '-'}{show_seconds(abs(seconds))}"
