"""Goodput of a whole training run, in words."""

from __future__ import annotations

from planner.base.units import (
    plain,
    plural,
    show_bytes,
    show_days,
    show_percent,
    show_seconds,
)
from planner.results.parts import RunGoodput, TrainingRun

ON_REQUEST = frozenset({
    "if nothing failed", "lost time", "failures", "chip-hours per failure", "checkpoints", "spares",
})  # fmt: skip
"""Rows that the one screen leaves out."""
_DAY_S = 86400.0


def days_words(run: TrainingRun) -> str:
    """`61 days (80 %: 57 to 66)`."""
    if run.days is None:
        return "hardly ever ends: failures come before the work between two checkpoints is done"
    time = show_days(run.days)
    if run.days_low is None:
        return time
    high = "no end" if run.days_high is None else _number(run.days_high, run.days)
    return f"{time} (80 %: {_number(run.days_low, run.days)} to {high})"


def _number(days: float, beside: float) -> str:
    """In days where the figure beside it is."""
    return plain(days) if beside >= 1 else show_seconds(days * _DAY_S)


def goodput_rows(run: TrainingRun) -> list[tuple[str, str]]:
    """How much of the time counts and what takes the rest, as (name, words)."""
    found = run.goodput
    if found is None:
        return _unknown_rows(run)
    every = f"every {show_seconds(found.checkpoint_every_s)}"
    goodput = show_percent(found.share)
    if found.chips_at_half is not None:
        goodput += f" (below 50 % above {plain(found.chips_at_half)} chips)"
    return [
        ("if nothing failed", show_days(run.ideal_days)),
        ("goodput", goodput),
        ("lost time", _lost_words(found)),
        ("failures", _failure_words(found)),
        ("chip-hours per failure", _rate_words(found)),
        ("checkpoint", f"{every} ({plural(found.checkpoint_steps, 'step')})"),
        ("checkpoints", _checkpoint_words(found)),
        ("spare nodes", _spare_words(found)),
        ("spares", _spares_words(found)),
    ]


def _unknown_rows(run: TrainingRun) -> list[tuple[str, str]]:
    if run.break_even_chip_hours is None:
        return []
    edge = plain(run.break_even_chip_hours)
    return [
        (
            "unknown",
            "goodput unknown: nobody published how often such chips fail (below 90 % where a "
            f"failure comes in less than {edge} chip-hours; --chip-hours-per-failure)",
        )
    ]


def _lost_words(found: RunGoodput) -> str:
    parts = (
        ("detection and restart", found.down),
        ("work done again", found.lost),
        ("checkpoints", found.stalls),
        ("slow chips", found.stragglers),
        ("waiting for spares", found.waits),
    )
    return ", ".join(f"{name} {show_percent(share)}" for name, share in parts if share)


def _failure_words(found: RunGoodput) -> str:
    each = f"one every {show_seconds(found.mtbf_s)} in the mean"
    return each if found.failures is None else f"{plain(found.failures)} expected, {each}"


def _rate_words(found: RunGoodput) -> str:
    words = plain(found.chip_hours_per_failure)
    if found.chip_hours_low < found.chip_hours_high:
        words += f" (80 %: {plain(found.chip_hours_low)} to {plain(found.chip_hours_high)}; "
        words += f"goodput {show_percent(found.low)} to {show_percent(found.high)})"
    return f"{words}, {found.rate}"


def _checkpoint_words(found: RunGoodput) -> str:
    words = f"{show_bytes(found.checkpoint_bytes)}, stops the job for "
    words += show_seconds(found.checkpoint_stall_s)
    if found.checkpoint_write_s:
        words += f", written in {show_seconds(found.checkpoint_write_s)} beside the work"
    return words


def _spare_words(found: RunGoodput) -> str:
    return f"{found.spares_wanted if found.spares is None else found.spares:,}"


def _spares_words(found: RunGoodput) -> str:
    chance = show_percent(found.spares_chance)
    return f"{found.spares_wanted:,} are enough at any time with a chance of {chance}"
