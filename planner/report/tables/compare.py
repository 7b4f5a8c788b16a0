"""`planner compare` in a terminal: what differs, what it costs, what makes the difference."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import (
    is_change,
    plain,
    show_bytes,
    show_change,
    show_count,
    show_joules,
    show_percent,
    show_seconds,
    show_watt_hours,
    show_watts,
)
from planner.explanation.causes import CAUSES
from planner.explanation.comparison.answer import CompareResult, Cost, Pair, Waterfall
from planner.report.tables.explain import signed
from planner.report.tables.fitted import Fitted
from planner.report.tables.likely import interval_words
from planner.report.tables.tables import section
from planner.results.words import join_words, mesh_words


def chance_words(chance: float) -> str:
    """`1.53 %`; far too small ones are not spelled out."""
    return show_percent(chance) if is_change(chance) or chance == 0 else "under 0.01 %"


_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_SHOWS: dict[str, tuple[str, Callable[[float], str]]] = {
    "chips": ("chips", lambda v: f"{v:,.0f}"),
    "step_time_s": ("step time", show_seconds),
    "basis_time_s": ("time for these tokens", show_seconds),
    "tokens_per_s": ("tokens/s", show_count),
    "mfu": ("MFU", show_percent),
    "energy_per_step_j": ("energy per step", show_joules),
    "basis_energy_j": ("energy for these tokens", show_joules),
    "power_per_chip_w": ("power per chip", show_watts),
    "memory_per_chip_bytes": ("memory per chip", show_bytes),
    "out_of_memory_probability": ("chance of running out", chance_words),
    "run_days": ("run: days", plain),
    "run_ideal_days": ("run: days if nothing fails", plain),
    "run_energy_mwh": ("run: energy", lambda v: show_watt_hours(v * 1e6)),
    "run_cost": ("run: price", lambda v: plain(v, 4)),
    "run_electricity_cost": ("run: price of electricity", lambda v: plain(v, 4)),
    "run_co2_t": ("run: CO2 in t", lambda v: plain(v, 4)),
}
_ABSOLUTE = ("out_of_memory_probability", "mfu")
_FEW = 3
_DUST, _LITTLE = 1e-12, 1e-5
"""Shares of a step: what rounding leaves, and what is too little to be told in figures."""


def letter_of(number: int) -> str:
    """`A`, `B`, ..., `Z`, then numbers: how a plan is called in a table."""
    return _LETTERS[number] if number < len(_LETTERS) else f"#{number + 1}"


def compare_view(result: CompareResult) -> RenderableType:
    """Everything that `planner compare` prints."""
    letters = [letter_of(number) for number in range(len(result.sides))]
    plans = [
        (
            letter,
            side.name,
            f"{side.evaluated.question.job['model']} on {side.result.chips:,} x "
            f"{side.evaluated.question.job['chip']}",
            mesh_words(side.result.plan),
            "yes" if side.evaluated.fits else "does not fit",
        )
        for letter, side in zip(letters, result.sides, strict=True)
    ]
    head = ("", "plan", "job", "mesh", "fits")
    return Group(
        *(Text(words, style="bold") for words in headlines(result)),
        *(Text(f"Warning: {line}", style="red") for line in result.warnings),
        Text(),
        section("Plans", Fitted(head, plans, whole=("",))),
        Text(),
        *_differences(result, letters),
        section(_costs_title(result), _costs(result, letters)),
        Text(),
        *_waterfalls(result, letters),
        section("Can they be told apart?", _pairs(result, letters), *map(Text, _notes(result))),
    )


def headlines(result: CompareResult) -> list[str]:
    """One sentence about each plan but the first: by how much, and which parts make it."""
    names = {side.name: letter_of(n) for n, side in enumerate(result.sides)}
    first = result.sides[0].name
    tied = {pair.right: pair.tie for pair in result.pairs if pair.left == first}
    return [_headline(fall, names, tie=tied.get(fall.name)) for fall in result.waterfalls]


def _headline(fall: Waterfall, names: dict[str, str], *, tie: bool | None) -> str:
    change = fall.end_s / fall.start_s - 1
    who = f"{names[fall.name]} ({fall.name})"
    if not is_change(change):
        return f"{who} is as fast as A."
    word = "slower" if change > 0 else "faster"
    total = show_seconds(abs(fall.end_s - fall.start_s))
    parts = sorted(fall.parts.items(), key=lambda item: -abs(item[1]))
    told = [
        f"{CAUSES[name].partition(' (')[0]} {signed_seconds(seconds)}"
        for name, seconds in parts[:_FEW]
        if abs(seconds) >= 0.05 * max(abs(fall.end_s - fall.start_s), 1e-12)
    ]
    noise = ", within the noise" if tie else ""
    return f"{who} is {word} than A by {show_change(change)} ({total}){noise}: {join_words(told)}."


def signed_seconds(seconds: float) -> str:
    """`+12.3 ms`, `-1.2 s`, `0 s`."""
    if seconds == 0:
        return "0 s"
    return f"{'+' if seconds > 0 else '-'}{show_seconds(abs(seconds))}"


def _differences(result: CompareResult, letters: Sequence[str]) -> list[RenderableType]:
    if not result.differences:
        return [Text("The plans are the same."), Text()]
    rows = [(one.group, one.name.replace("_", " "), *one.values) for one in result.differences]
    return [section("What differs", Fitted(("", "field", *letters), rows, whole=("",))), Text()]


def _costs_title(result: CompareResult) -> str:
    if result.same_batch:
        return "What each costs (against A)"
    return f"What each costs (against A; times and energies for {result.basis_tokens:,.0f} tokens)"


def _costs(result: CompareResult, letters: Sequence[str]) -> RenderableType:
    rows = [_cost_row(cost) for cost in result.costs]
    return Fitted(("", *letters), rows)


def _cost_row(cost: Cost) -> tuple[str, ...]:
    name, show = _SHOWS[cost.name]
    cells = []
    for number, value in enumerate(cost.values):
        if value is None:
            cells.append("-")
            continue
        words = show(value)
        low, high = (ends[number] if ends else None for ends in (cost.low, cost.high))
        if low is not None and high is not None:
            words += f" (80 %: {interval_words(low, high, show)})"
        cells.append(words + (_against(cost, number, show) if number else ""))
    return (name, *cells)


def _against(cost: Cost, number: int, show: Callable[[float], str]) -> str:
    """` +12 %` against the first plan; of shares the difference in points."""
    relative, absolute = cost.relative[number], cost.absolute[number]
    if absolute is None or not is_change(absolute if relative is None else relative):
        return ""
    if cost.name in _ABSOLUTE or relative is None:
        if not is_change(absolute):
            return ""
        return f", {'+' if absolute > 0 else '-'}{plain(abs(absolute) * 100)} points"
    sign = "+" if absolute > 0 else "-"
    return f", {signed(relative)} ({sign}{show(abs(absolute))})"


def _waterfalls(result: CompareResult, letters: Sequence[str]) -> list[RenderableType]:
    """From the time of the first plan to that of each other one, part by part."""
    falls = result.waterfalls
    names = [
        name
        for name in result.sides[0].result.time_s
        if any(fall.parts.get(name) for fall in falls)
    ]
    rows = [
        ("A", *(show_seconds(fall.start_s) for fall in falls)),
        *((name.replace("_", " "), *(_change(fall, name) for fall in falls)) for name in names),
        ("in all", *(show_seconds(fall.end_s) for fall in falls)),
    ]
    header = ("part of the step", *(f"A to {letter}" for letter in letters[1:]))
    return [section("What makes the difference", Fitted(header, rows, right=header[1:])), Text()]


def _change(fall: Waterfall, name: str) -> str:
    """What a part takes more; what rounding leaves is nothing."""
    seconds = fall.parts.get(name, 0.0)
    if abs(seconds) <= _DUST * fall.start_s:
        return "0 s"
    return signed_seconds(seconds) if abs(seconds) >= _LITTLE * fall.start_s else "about 0 s"


def _pairs(result: CompareResult, letters: Sequence[str]) -> RenderableType:
    names = {side.name: letter for side, letter in zip(result.sides, letters, strict=True)}
    header = ("pair", "80 % intervals", "time", "tie below", "better in time, energy and memory")
    rows = [_pair_row(pair, names) for pair in result.pairs]
    return Fitted(header, rows)


def _pair_row(pair: Pair, names: dict[str, str]) -> tuple[str, ...]:
    overlap = {None: "none", True: "overlap", False: "apart"}[pair.overlap]
    tie = {None: "-", True: "tie", False: "differs"}[pair.tie]
    noise = "-" if pair.noise is None else show_percent(pair.noise - 1)
    better = names[pair.dominates] if pair.dominates else "neither"
    return (f"{names[pair.left]}, {names[pair.right]}", overlap, tie, noise, better)


def _notes(result: CompareResult) -> list[str]:
    """What the noise of the pairs rests on."""
    notes = []
    if any(pair.common and pair.noise for pair in result.pairs):
        notes.append(
            "Plans of one job on one machine and as many chips share most of their error, so they "
            "are told apart more finely than their intervals."
        )
    if any(pair.common and pair.noise == 1 for pair in result.pairs):
        notes.append("Those that differ in the clock alone share all of it: any difference counts.")
    if any(not pair.common and pair.noise for pair in result.pairs):
        notes.append(
            "Where job, machine or chips differ, errors are taken as independent: two times tie "
            "within the facing sides of both intervals, added as squares."
        )
    if all(pair.noise is None for pair in result.pairs):
        notes.append("Times that are bounds have no interval: none is told from another by noise.")
    return notes
