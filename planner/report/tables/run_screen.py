"""The whole training run on the one screen: what it comes to, its size, its money, warnings."""

from __future__ import annotations

from planner.base.units import plural, show_count, show_percent, show_seconds
from planner.report.tables.goodput import days_words, half_words, unfailing_share
from planner.report.tables.terminal import run_rows
from planner.results.parts import RunGoodput, TrainingRun

_GLUE = "\u00a0"
_SIZE = {
    "tokens": "{} tokens",
    "steps": "{} steps",
    "energy": "{}",
    "with the facility": "{} with the facility",
    "CO2": "{} of CO2",
}
_MONEY = {"price": "price {} of chip-hours", "electricity": "{} of electricity"}
"""How a figure stands in its line, in their order."""
_WARNINGS = ("no room", "no peers", "not shrunk")
_UNKNOWN = ("unknown", "half of the chips")


def run_lines(run: TrainingRun) -> list[str]:
    """`61 days (80 %: 57 to 66), 91 % goodput, checkpoint every 330 s, 20 spare nodes`, and on."""
    rows = dict(run_rows(run)) | {"tokens": show_count(run.tokens).replace(" ", _GLUE)}
    size = _said(rows, _SIZE)
    if run.goodput is None:
        first = [f"{days_words(run)} if nothing fails", *_slowed(run)]
    else:
        first = [days_words(run), *_kept(run.goodput)]
        size.insert(0, _failing(run.goodput))
    if "deadline" in rows:
        size.insert(0, rows["deadline"])
    unknown = [", ".join(rows[name] for name in _UNKNOWN if name in rows)]
    lines = [", ".join(first), *unknown, ", ".join(size), ", ".join(_said(rows, _MONEY))]
    lines += [words.partition(" (")[0] for words in run.prices]
    return [line for line in [*lines, *_warned(run, rows)] if line]


def _said(rows: dict[str, str], patterns: dict[str, str]) -> list[str]:
    return [words.format(rows[name]) for name, words in patterns.items() if name in rows]


def _kept(found: RunGoodput) -> list[str]:
    """What counts of the time, and what keeps the run going."""
    nodes = found.spares_wanted if found.spares is None else found.spares
    return [
        f"{show_percent(found.share)} goodput",
        f"checkpoint every {show_seconds(found.checkpoint_every_s)}",
        plural(nodes, "spare node"),
    ]


def _slowed(run: TrainingRun) -> list[str]:
    """What takes time where nobody knows how often chips fail."""
    taken = unfailing_share(run)
    return [] if taken is None else [f"slow chips and maintenance take {show_percent(taken)}"]


def _failing(found: RunGoodput) -> str:
    """`a failure every 3.09 h (the rate is that of llama-3)`."""
    rate = found.rate.partition(" (")[0]
    return f"a failure every {show_seconds(found.mtbf_s)} (the rate is {rate})"


def _warned(run: TrainingRun, rows: dict[str, str]) -> list[str]:
    lines = [rows[name] for name in _WARNINGS if name in rows]
    found = run.goodput
    if found is not None and found.chips_at_half is not None:
        lines.insert(0, f"goodput is below 50 % {half_words(found.chips_at_half)}")
    return [f"Warning: {line}." for line in lines]
