"""What a check of a certificate found, for a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.console import RenderableType
from rich.text import Text

from planner.report.tables.tables import pairs, section, spaced
from planner.verification.checking import Verdict


def verdict_view(found: Verdict) -> RenderableType:
    """The claim, whether it holds, what was checked and what has to be believed."""
    outcome = "verified" if found.verified else "refused"
    claimed = "certified" if found.verified else "claimed"
    rows = [(claimed, found.claim), ("asked", _words(found.question)), ("outcome", outcome)]
    if not found.verified:
        rows.append(("first fault", found.fault))
    parts: list[list[RenderableType]] = [[pairs(rows)]]
    if found.checked:
        checked = pairs([(name, f"{count:,}") for name, count in found.checked.items()])
        parts.append([section("Checked", checked)])
    parts.append([section("Trusted", *(Text(f"- {line}") for line in found.trusted))])
    return spaced(parts)


def _words(question: Mapping[str, Any]) -> str:
    """`model llama3-8b, hardware dgx-h100-ndr, chips 64, fix tp=8`."""
    return ", ".join(f"{name.replace('_', '-')} {_text(value)}" for name, value in question.items())


def _text(value: Any) -> str:
    if isinstance(value, Mapping):
        return " ".join(f"{name}={_text(inner)}" for name, inner in value.items())
    if isinstance(value, list | tuple):
        return ",".join(map(_text, value))
    return f"{value:,.15g}" if isinstance(value, float) else str(value)
