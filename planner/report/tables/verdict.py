"""What a check of a certificate found, for a terminal."""

from __future__ import annotations

from rich.console import RenderableType
from rich.text import Text

from planner.report.tables.tables import pairs, section, spaced
from planner.verification.checking import Verdict


def verdict_view(found: Verdict) -> RenderableType:
    """The claim, whether it holds, what was checked and what has to be believed."""
    outcome = "verified" if found.verified else "refused"
    rows = [("certified", found.claim), ("outcome", outcome)]
    if not found.verified:
        rows.append(("first fault", found.fault))
    parts: list[list[RenderableType]] = [[pairs(rows)]]
    if found.checked:
        checked = pairs([(name, f"{count:,}") for name, count in found.checked.items()])
        parts.append([section("Checked", checked)])
    parts.append([section("Trusted", *(Text(f"- {line}") for line in found.trusted))])
    return spaced(parts)
