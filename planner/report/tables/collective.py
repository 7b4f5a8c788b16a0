"""The answers of `planner collective bounds` and `synthesize` as Rich tables for a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Group, RenderableType
from rich.text import Text

from planner.base.units import plain, plural, show_bytes, show_seconds
from planner.collectives.machines.large import SEARCH
from planner.collectives.machines.machine import Machine
from planner.collectives.questions.answers import (
    SYNTHESIZED,
    BoundsAnswer,
    FrontAnswer,
    gap_of,
    load_words,
    made,
)
from planner.collectives.questions.question import Question, size_words
from planner.collectives.runs.ranges import fastest_for
from planner.report.tables.tables import SplitTable, indented, section

if TYPE_CHECKING:
    from planner.collectives.questions.export import ExportAnswer

_NAMED = 12


def machine_words(machine: Machine) -> str:
    """`8 chips, 32 links one way, 48 lanes of 25 GB/s, 700 ns per message`."""
    network = machine.network
    low, high = float(machine.latency_s.min()), float(machine.latency_s.max())
    latency = show_seconds(high)
    if low < high:
        latency = f"{show_seconds(low)} to {show_seconds(high)}"
    rate = f"{plain(machine.lane_bytes_per_s / 1e9)} GB/s"
    lanes = f"{plural(len(network.links), 'link')} one way"
    shared = f", {plural(len(network.shared), 'shared port or trunk')}" if network.shared else ""
    shared = shared.replace("trunks", "trunk").replace("port or trunk", "ports or trunks")
    each = {network.lanes[0]} if len(set(network.lanes)) == 1 else set(network.lanes)
    wide = f"{min(each)}" if len(each) == 1 else f"{min(each)} to {max(each)}"
    return (
        f"{plural(network.nodes, 'chip')}, {lanes} of {wide} "
        f"lane{'s' * (max(each) > 1)}{shared}; {rate} per lane, {latency} per message"
    )


def title_words(question: Question) -> str:
    """`allgather on dgx-1`, with the root where there is one."""
    root = "" if question.root_name is None else f" of chip {question.root_name}"
    return f"{question.collective}{root} on {question.machine.label}"


def heading(question: Question) -> RenderableType:
    """What was asked, and of which machine."""
    machine = question.machine
    notes = [f"{note[0].upper()}{note[1:]}." for note in machine.notes]
    return Group(
        Text(title_words(question), style="bold"),
        indented([machine_words(machine)], by=0),
        *([indented(notes, by=0)] if notes else []),
    )


def bounds_view(answer: BoundsAnswer) -> RenderableType:
    """Everything that `planner collective bounds` prints."""
    names = answer.question.machine.names
    u, v = (names[node] for node in answer.farthest)
    steps = f"At least {plural(answer.least_steps, 'step')}: data goes from {u} to {v}."
    parts: list[RenderableType] = [heading(answer.question), Text(), indented([steps], by=0)]
    if answer.cut is not None:
        parts.append(indented([_cut_words(answer)], by=0))
    else:
        parts.append(
            indented([f"At least {load_words(answer.limit)} rounds per chunk: {answer.why}."], by=0)
        )
    if answer.by_steps:
        header = ("steps S", "rounds per chunk R / C", "exact", "by")
        rows = [
            (str(b.steps), load_words(b.load), "yes" if b.exact else "a bound", b.by)
            for b in answer.by_steps
        ]
        table = SplitTable(header, rows, by=("steps S",), right=header[:1])
        parts += [Text(), section("Least rounds per chunk, however many chunks", table)]
    if answer.cut is not None:
        parts += [Text(), indented([f"{answer.why[0].upper()}{answer.why[1:]}."], by=0)]
    return Group(*parts)


def _cut_words(answer: BoundsAnswer) -> str:
    """The cut, named."""
    cut, names = answer.cut, answer.question.machine.names
    assert cut is not None
    inside = [names[node] for node in cut.nodes]
    words = ", ".join(inside[:_NAMED]) + (
        f", ... ({len(inside)} of {len(names)} chips)" if len(inside) > _NAMED else ""
    )
    return (
        f"At least {load_words(cut.load)} rounds per chunk: {plural(cut.demand, 'chunk')} (of "
        f"C = 1) must leave chips {words} over {plural(cut.capacity, 'lane')}."
    )


def front_view(answer: FrontAnswer, saved: str | None = None) -> RenderableType:
    """Everything that `planner collective synthesize` prints."""
    parts: list[RenderableType] = [heading(answer.question), Text()]
    if answer.rows:
        parts += [section(_title(answer), _rows(answer)), Text()]
    ends = answer.front.ends
    lines = [f"{ends[0].upper()}{ends[1:]}."] if ends else []
    if answer.timed_s is not None:
        time_s, bound_s = answer.timed_s
        size = show_bytes(answer.question.size_bytes or 0.0)
        lines.append(
            f"{show_seconds(time_s)} for {size}, link by link; "
            + (
                "proved: none of these is faster."
                if answer.front.complete
                else f"what is faster takes at least {show_seconds(bound_s)}."
            )
        )
    elif answer.rows:
        if words := _heuristic_words(answer):
            lines.append(words)
        lines.append(_formula(answer.machine, answer.question.collective))
    lines.append(f"Found in {show_seconds(answer.front.seconds)}.")
    lines += [saved] if saved else []
    parts.append(indented(lines, by=0))
    return Group(*parts)


def _title(answer: FrontAnswer) -> str:
    question = answer.question
    if question.of_front:
        return "Schedules worth having: more steps, fewer rounds per chunk"
    return "Schedule"


def _rows(answer: FrontAnswer) -> RenderableType:
    """The schedules: what they have, what is proved."""
    alone = len(answer.rows) == 1 and not answer.front.complete
    alone = alone or not answer.question.of_front
    header = ["C", "S", "R", "R / C", "proved", "R at least", "R / C of S at least"]
    if not alone:
        header.append("fastest for" if answer.front.complete else "fastest of these for")
    several = {made(row.schedule) for row in answer.rows} != {SYNTHESIZED}
    methods = set(answer.row_methods) != {SEARCH}
    ranges = fastest_for(answer.machine, [row.schedule for row in answer.rows])
    rows = []
    for row, method, (low, high) in zip(answer.rows, answer.row_methods, ranges, strict=True):
        cells = [
            str(row.chunks), str(row.steps), str(row.rounds), load_words(row.load),
            "yes" if row.proved else "no", str(row.lower_bound), load_words(row.load_bound),
            *([] if alone else [_range_words(low, high)]),
        ]  # fmt: skip
        cells += [made(row.schedule)] if several else []
        rows.append([*cells, *([method, _gap_words(gap_of(row))] if methods else [])])
    header += ["made by"] if several else []
    header += ["method", "above the bound"] if methods else []
    return SplitTable(header, rows, by=("C", "S", "R"), right=header[:3])


def _gap_words(gap: float | None) -> str:
    """How far R / C is at most above the least there can be."""
    if gap is None:
        return "-"
    return f"at most {100 * gap:.1f} %" if gap > 0 else "0 %"


def _heuristic_words(answer: FrontAnswer) -> str:
    """What the rows that were not searched for are worth."""
    rows = [
        row
        for row, method in zip(answer.rows, answer.row_methods, strict=True)
        if method != SEARCH and not row.proved
    ]
    gaps = [gap for gap in map(gap_of, rows) if gap is not None]
    return (
        "In phases and along trees: heuristic, the best of them at most "
        f"{100 * min(gaps):.1f} % above the bound of R / C."
        if gaps
        else ""
    )


def _range_words(low: float | None, high: float | None) -> str:
    """`up to 52.5 KB`, `from 52.5 KB`, `all sizes`, or `none`."""
    if low is None or high is None:
        return "none"
    if low == 0:
        return "all sizes" if high == float("inf") else f"up to {show_bytes(high)}"
    if high == float("inf"):
        return f"from {show_bytes(low)}"
    return f"{show_bytes(low)} to {show_bytes(high)}"


def _formula(machine: Machine, collective: str) -> str:
    """What the rows cost, in words."""
    start = f"{show_seconds(machine.start_s)} + " if machine.start_s else ""
    rate = f"{plain(machine.lane_bytes_per_s / 1e9)} GB/s"
    most = "" if machine.uneven is None else "at most "
    latency = show_seconds(float(machine.latency_s.max()))
    if machine.latency_s.min() < machine.latency_s.max():
        latency = f"at most {latency}"
    return (
        f"C chunks in S steps of R rounds take {most}{start}S x {latency} + "
        f"(R / C) x L / ({rate}); L is {size_words(collective)}."
    )


def export_view(answer: ExportAnswer) -> RenderableType:
    """Everything that `planner collective export` prints."""
    schedule = answer.schedule
    lines = [
        f"{answer.name}: {plural(schedule.chunks, 'chunk')}, {plural(schedule.steps, 'step')}, "
        f"{plural(schedule.total_rounds, 'round')}, {plural(len(schedule.sends), 'send')}; "
        f"{answer.checked}."
    ]
    if answer.order:
        places = ", ".join(map(str, answer.order))
        lines.append(f"The GPUs that take the places of chips 0, 1, ...: {places}.")
    if answer.thread_blocks:
        lines.append(
            f"An algorithm of {plural(answer.thread_blocks, 'thread block')} per GPU at most, "
            f"{plural(answer.channels, 'channel')}, at most "
            f"{plural(answer.most_instructions, 'instruction')} each. Use it with "
            f"MSCCL_XML_FILES={answer.path} NCCL_ALGO=MSCCL,RING,TREE."
        )
    lines.append(f"Written to {answer.path}.")
    return Group(heading(answer.question), Text(), indented(lines, by=0))
