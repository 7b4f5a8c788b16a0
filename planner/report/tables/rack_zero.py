"""The answer of `planner rack zero` as Rich tables: a table per figure, the basis, the readings."""

from __future__ import annotations

import math

import numpy as np
from rich.console import Group, RenderableType
from rich.text import Text

from hardware_db import Cluster
from planner.base.arrays import BoolArray, FloatArray
from planner.base.units import plain, plural, show_bytes, unit_for
from planner.report.tables.tables import SplitTable, indented, pairs, section, side_by_side
from planner.studies.rack.model.fetching import EQUATIONS
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.zero.figures import Comparison, ZeroAnswer
from planner.studies.rack.zero.json import TITLES, never_bound
from planner.studies.rack.zero.readings import Interval, basis_words, readings

_NONE = "-"
_LATE = "*"


def zero_view(answer: ZeroAnswer, cluster: Cluster) -> RenderableType:
    """Everything that `planner rack zero` prints."""
    question = answer.question
    found = [figure_table(answer, number) for number in question.figures]
    tables = [section(title, Text(where), table) for title, where, table in found]
    return Group(
        pairs(_inputs(answer, cluster)),
        Text(),
        side_by_side(tables),
        Text(),
        indented(
            [
                f"{_LATE} waits for the network: fetching takes longer than computing",
                *question.notes,
            ],
            by=0,
        ),
        Text(),
        section("Findings", pairs(_findings(answer))),
        Text(),
        section("Bandwidth basis", indented([_basis_words(answer), basis_words()])),
        Text(),
        section("Where the report's claims hold, by reading of its bandwidth T", _readings()),
        indented([_READ_WORDS]),
    )


_READ_WORDS = (
    "r = (L / T) / computing cycles on sixteen PEs. Claims: linear hides the fetch up to 6 GPUs "
    "and ring up to 8, fully connected always."
)


def _inputs(answer: ZeroAnswer, cluster: Cluster) -> list[tuple[str, str]]:
    question, machine = answer.question, answer.question.machine
    rate = machine.inner.bytes_per_s / question.clock_hz
    return [
        ("hardware", f"{cluster.name}: {question.pes:,} PEs per GPU in "
                     f"{plural(question.rows, 'row')}, "
                     f"{show_bytes(question.sram_bytes)} of "
                     f"{'SRAM' if machine.chip.sram_bytes else 'L2'}, {machine.precision}"),
        ("network", f"{plain(rate)} B per cycle ({question.assumptions.basis}), "
                    f"{machine.inner.j_per_byte:g} J per byte and hop" + _between(machine)),
        *([] if machine.chip.memory_j_per_byte == cluster.chip.memory_j_per_byte else
          [("memory", f"{machine.chip.memory_j_per_byte:g} J per byte")]),
        *(("workload", f"{work.name}: {work.title}; {work.weight_bytes:,.0f} B of weights, "
                       f"{work.macs_per_item:,} multiply-accumulates per item ({work.note})")
          for work in question.workloads),
    ]  # fmt: skip


def _between(machine: Machine) -> str:
    """Links between racks, where there are several."""
    far = machine.outer
    if far is None:
        return ""
    return (
        f"; between racks of {machine.rack_chips:,}: {show_bytes(far.bytes_per_s)}/s per GPU, "
        f"{far.j_per_byte:g} J per byte"
    )


def figure_table(answer: ZeroAnswer, number: int) -> tuple[str, str, SplitTable]:
    """Title, what it is of, and table of one figure."""
    title = f"Figure {number}: {TITLES[number]}"
    if number in (5, 6):
        return title, *_over_columns(answer, number)
    by_work = number in (3, 4)
    compared = answer.workloads if by_work else answer.topologies
    columns = [
        _percent(one.energy_ratio) if number in (3, 7) else _percent(one.latency_ratio, one.bound)
        for one in compared
    ]
    names = [one.workload if by_work else one.topology for one in compared]
    lines = [[str(n), *cells] for n, *cells in zip(answer.question.gpus, *columns, strict=True)]
    header = ["GPUs", *(f"{name} (%)" for name in names)]
    shared = compared[0].topology if by_work else compared[0].workload
    where = f"{shared}, {answer.question.pes:,} PEs; ZeRO as % of data parallelism"
    return title, where, SplitTable(header, lines, by=header[:1], right=header)


def _over_columns(answer: ZeroAnswer, number: int) -> tuple[str, SplitTable]:
    """Figures 5 and 6: what they are of, and their lines."""
    one, clock = answer.columns, answer.question.clock_hz
    assert one is not None
    if number == 5:
        scale, unit = unit_for(float(np.max(one.zero_j / one.gpus)), "J")
        dp = _shown(one.dp_j / one.gpus / scale, ".4g", None)
        zero = _shown(one.zero_j / one.gpus / scale, ".4g", None)
    else:
        unit = "cycles"
        dp = _shown(one.dp_s * clock, ",.0f", None)
        zero = _shown(one.zero_s * clock, ",.0f", one.bound)
    header = ["PE columns", f"DP ({unit})", f"ZeRO ({unit})"]
    names = [f"{columns:,}" for columns in answer.question.pe_columns]
    where = f"{one.workload}, {answer.question.column_gpus} GPUs, {one.topology}"
    lines = list(zip(names, dp, zero, strict=True))
    return where, SplitTable(header, lines, by=header[:1], right=header)


def _percent(ratios: FloatArray, late: BoolArray | None = None) -> list[str]:
    return _shown(100 * ratios, ".1f", late)


def _shown(values: FloatArray, form: str, late: BoolArray | None) -> list[str]:
    marks = [_LATE if bound else " " for bound in late] if late is not None else [""] * len(values)
    return [
        _NONE if math.isnan(value) else f"{value:{form}}{mark}"
        for value, mark in zip(values, marks, strict=True)
    ]


def _findings(answer: ZeroAnswer) -> list[tuple[str, str]]:
    """Thresholds, the plateau, and the ratios at twelve GPUs."""
    clock = answer.question.clock_hz
    first = answer.question.workloads[0].name
    lines = [
        (f"{name}: {first} hides its fetch", _hides(answer, name)) for name in answer.last_hidden
    ]
    if answer.columns is not None:
        plateau = answer.plateau_s
        words = f"{plateau * clock:,.0f} cycles" if plateau is not None else "not reached"
        lines.append(("plateau over columns of PEs", words))
    for name, found in answer.at_twelve.items():
        there = [_at_twelve(one) for one in found.values() if not math.isnan(one.dp_s[0])]
        if there:
            lines.append((f"{name}: ZeRO at 12 GPUs", "; ".join(there)))
    return lines


def _hides(answer: ZeroAnswer, topology: str) -> str:
    """Up to how many GPUs."""
    most, only = answer.last_hidden[topology], answer.question.machine.fixed.get(topology)
    if only is not None:
        return f"{'yes' if most is None else 'no'}, on its {only.chips:,} GPUs"
    if most is None:
        return never_bound(answer)[topology]
    return f"up to {most:,} GPUs" if most > 1 else "never"


def _at_twelve(one: Comparison) -> str:
    latency, energy = one.latency_ratio[0], one.energy_ratio[0]
    return (
        f"{one.workload} {100 * latency:.1f} % of the latency, {100 * energy:.1f} % of the energy"
    )


def _basis_words(answer: ZeroAnswer) -> str:
    name = answer.question.assumptions.basis
    return f"{name}: cycles = {EQUATIONS[name]}, with B = (N - 1) L bytes."


def _readings() -> RenderableType:
    header = ("", "T belongs to", "linear stops at 6", "all claims", "on even counts alone",
              "linear at 12 GPUs (%)")  # fmt: skip
    lines = [
        (
            reading.letter,
            reading.basis,
            _interval(reading.linear),
            _interval(reading.all_claims),
            _interval(reading.even_counts),
            _interval(reading.latency_at_12, scale=100, form=".1f"),
        )
        for reading in readings()
    ]
    return SplitTable(header, lines, by=header[:2], right=header[2:])


def _interval(found: Interval, scale: float = 1, form: str = ".4f") -> str:
    """`(0.4500, 0.5000]`, or none where no r satisfies it."""
    if found.is_empty:
        return "none"
    return f"({scale * float(found.low):{form}}, {scale * float(found.high):{form}}]"
