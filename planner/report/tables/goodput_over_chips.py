"""The answer of `planner goodput` as a table over chips, for a terminal."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, show_percent, show_seconds
from planner.report.tables.goodput import half_words
from planner.report.tables.tables import SplitTable, indented, section
from planner.studies.run.answer import RunResult, RunRow

_NONE = "-"
_HEADER = ("chips", "nodes", "goodput", "80 %", "simulated", "off by", "fails every", "saves every",
           "checkpoints", "down", "done again", "slow chips", "waiting", "planned",
           "spares")  # fmt: skip
RATE = "chip-hours per failure"


def goodput_view(result: RunResult) -> RenderableType:
    """Everything that `planner goodput` prints."""
    rows = [_cells(result, row) for row in result.rows]
    there = [at for at in range(len(_HEADER)) if any(row[at] != _NONE for row in rows)]
    header = tuple(_HEADER[at] for at in there)
    cells = [tuple(row[at] for at in there) for row in rows]
    shown = SplitTable(header, cells, by=("chips",), right=header)
    return Group(
        section(title_of(result), shown),
        Text(),
        indented(note_lines(result), by=0),
    )


def title_of(result: RunResult) -> str:
    """What the run is taken to be, in a line."""
    meanwhile = "" if result.while_down else ", no failures meanwhile"
    return (
        f"Goodput at {rate_words(result)}; detection {show_seconds(result.detection_s)}, restart "
        f"{show_seconds(result.restart_s)}{meanwhile}"
    )


def rate_words(result: RunResult) -> str:
    """`50,700 chip-hours per failure, as given`."""
    words = f"{plain(result.chip_hours_per_failure)} {RATE}"
    if result.chip_hours_low < result.chip_hours_high:
        words += f" (80 %: {plain(result.chip_hours_low)} to {plain(result.chip_hours_high)})"
    return f"{words}, {result.rate}"


def note_lines(result: RunResult) -> list[str]:
    """What is to be known of the table."""
    chance = show_percent(result.spares_chance)
    lines = [f"Spares: nodes that are enough at any time with a chance of {chance}."]
    if result.spares is not None:
        lines.append(f"Waiting: with {result.spares:,} of them.")
    if result.chips_at_half is not None:
        lines.append(f"Warning: goodput is below 50 % {half_words(result.chips_at_half)}.")
    if result.law:
        lines.append(f"Simulated: {result.runs:,} runs, gaps between failures: {result.law}.")
        if any(row.simulated is None for row in result.rows):
            lines.append("Rows without a simulation: so little time counts that runs hardly end.")
    return lines


def _cells(result: RunResult, row: RunRow) -> list[str]:
    unsure = result.chip_hours_low < result.chip_hours_high
    return [
        f"{row.chips:,}",
        f"{row.nodes:,}",
        _percent(row.share),
        f"{_percent(row.low)} to {_percent(row.high)}" if unsure else _NONE,
        _NONE if row.simulated is None else _percent(row.simulated),
        _NONE if row.difference is None else f"{100 * row.difference:+.2f} %",
        show_seconds(row.mtbf_s),
        f"{row.checkpoint_every_s:,.4g} s",
        show_percent(row.stalls),
        show_percent(row.down),
        show_percent(row.lost),
        show_percent(row.stragglers) if row.stragglers else _NONE,
        _NONE if result.spares is None else show_percent(row.waits),
        show_percent(row.maintenance) if row.maintenance else _NONE,
        f"{row.spares_wanted:,}",
    ]


def _percent(share: float) -> str:
    """To a tenth of a per cent: differences of goodput count."""
    return f"{100 * share:.1f} %"
