"""ZeRO against data parallelism: the six figures of the report, for any workload and rack.

Every number comes from `planner.studies.rack.model.evaluate`, in one call per workload. Figures 3
and 4 compare workloads over the number of GPUs, 5 and 6 the two strategies over the columns of
PEs, 7 and 8 topologies over the number of GPUs.

Source: Samuthrsindh and Kerdphoksup, Modeling Rack-Scale Data and ZeRO Parallelisms, section IV.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.cost.chip.within_chip import chip_array
from planner.network.topology.kinds import LINES
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.evaluate import evaluate
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import rack_plans
from planner.studies.rack.model.workloads import Workload

FIGURES = (3, 4, 5, 6, 7, 8)
"""Figures of the report with results."""
SUMMARY_GPUS = 12
"""The report's largest rack, at which the ratios are stated."""
SEARCHED_GPUS = 4096
"""How far a rack that never waits for weights is followed, where hops have a formula in N."""
SEARCHED_SIZES = 256
"""The same where sizes have to be found for each N."""
TIES = 1e-12
"""Relative difference below which a fetch and computing take equally long."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroQuestion:
    """What is compared.

    Attributes:
        machine: Chips, links and topologies.
        workloads: The first is that of figures 5 to 8.
        assumptions: The bandwidth basis and what is hidden.
        gpus: Numbers of GPUs of figures 3, 4, 7 and 8.
        pes: PEs per GPU there.
        pe_columns: Columns of PEs of figures 5 and 6; column_gpus: GPUs there.
        figures: Which are asked for.
    """

    machine: Machine
    workloads: tuple[Workload, ...]
    assumptions: RackAssumptions
    gpus: tuple[int, ...]
    pes: int
    pe_columns: tuple[int, ...]
    column_gpus: int
    figures: tuple[int, ...] = FIGURES

    @property
    def rows(self) -> int:
        """Rows of the array of PEs."""
        return self.machine.chip.pe_rows or 1

    @property
    def clock_hz(self) -> float:
        """Cycles per second."""
        return float(np.max(chip_array(self.machine.chip, self.machine.precision).clock_hz))

    @property
    def sram_bytes(self) -> float:
        """SRAM, or L2 where a chip has no SRAM, of a GPU with `pes` PEs."""
        array = chip_array(self.machine.chip, self.machine.precision, pes=self.pes)
        return float(np.max(array.sram_bytes))

    @property
    def notes(self) -> tuple[str, ...]:
        """What was given and is not used."""
        return tuple(
            f"{name}: only its wiring counts here, not {one.ignored_words} of its links; set "
            "--bandwidth and --energy-per-hop of all links (planner rack topology uses the file's)"
            for name, one in self.machine.fixed.items()
            if one.ignored
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """ZeRO and data parallelism of one workload on one topology; (n,) each, NaN where no such rack.

    Attributes:
        workload, topology: Names.
        gpus, pes: Of each rack.
        zero_s, dp_s: Latency of a batch.
        fetch_s: Of the weights alone.
        zero_j, dp_j: Joules of all GPUs.
    """

    workload: str
    topology: str
    gpus: IntArray
    pes: IntArray
    zero_s: FloatArray
    dp_s: FloatArray
    fetch_s: FloatArray
    zero_j: FloatArray
    dp_j: FloatArray

    @property
    def latency_ratio(self) -> FloatArray:
        """ZeRO over data parallelism."""
        return self.zero_s / self.dp_s

    @property
    def energy_ratio(self) -> FloatArray:
        """ZeRO over data parallelism."""
        return self.zero_j / self.dp_j

    @property
    def bound(self) -> BoolArray:
        """Whether the network takes longer than computing."""
        return self.fetch_s > self.dp_s * (1 + TIES)


def compare(
    question: ZeroQuestion,
    workload: Workload,
    topology: str,
    gpus: IntArray | int,
    pes: IntArray | int,
) -> Comparison:
    """ZeRO and data parallelism on racks of GPUs of one topology.

    Args:
        question: Machine and assumptions; its topologies hold this one.
        workload: What is computed.
        topology: Its name.
        gpus, pes: (n,) or numbers; racks.
    """
    chips, each = np.broadcast_arrays(np.atleast_1d(gpus), np.atleast_1d(pes))
    there = np.array([question.machine.has_rack(topology, int(count)) for count in chips])
    columns = {name: np.full(len(chips), np.nan) for name in _MEASURED}
    if there.any():
        plans = rack_plans(
            dp=np.tile(chips[there], 2),
            pes=np.tile(each[there], 2),
            zero=np.repeat([True, False], int(there.sum())),
            topology=question.machine.topologies.index(topology),
        )
        cost = evaluate(workload, plans, question.machine, question.assumptions)
        zero, dp = np.flatnonzero(plans.zero), np.flatnonzero(~plans.zero)
        columns["zero_s"][there] = cost.latency_s[zero]
        columns["dp_s"][there] = cost.latency_s[dp]
        columns["fetch_s"][there] = cost.transfers["weight fetch"].latency_s[zero]
        columns["zero_j"][there] = cost.total_j[zero]
        columns["dp_j"][there] = cost.total_j[dp]
    return Comparison(
        workload=workload.name,
        topology=topology,
        gpus=chips.astype(np.int64),
        pes=each.astype(np.int64),
        **columns,
    )


_MEASURED = ("zero_s", "dp_s", "fetch_s", "zero_j", "dp_j")


@dataclass(frozen=True, slots=True, kw_only=True)
class ZeroAnswer:
    """What the figures and the summary are made of.

    Attributes:
        question: As asked.
        workloads: Each workload on the first topology, over GPUs: figures 3 and 4.
        columns: The first workload on the first topology, over columns of PEs: figures 5 and 6;
            None where neither is asked for.
        topologies: The first workload on each topology, over GPUs: figures 7 and 8.
        at_twelve: By topology, then workload, at `SUMMARY_GPUS`.
        last_hidden: By topology: GPUs up to which the fetch is hidden; None: never bound.
        searched: By topology: GPUs up to which that was looked for.
    """

    question: ZeroQuestion
    workloads: tuple[Comparison, ...]
    columns: Comparison | None
    topologies: tuple[Comparison, ...]
    at_twelve: dict[str, dict[str, Comparison]]
    last_hidden: dict[str, int | None]
    searched: dict[str, int]

    @property
    def plateau_s(self) -> float | None:
        """Latency that more columns of PEs do not lower (figure 6); None if none is met."""
        if self.columns is None or not self.columns.bound.any():
            return None
        return float(self.columns.zero_s[self.columns.bound][0])


def zero_study(question: ZeroQuestion) -> ZeroAnswer:
    """Evaluates everything that the figures show."""
    names, first = question.machine.topologies, question.workloads[0]
    gpus, pes = np.array(question.gpus), question.pes
    columns = question.rows * np.array(question.pe_columns)
    searched = {name: _searched(question.machine, name) for name in names}
    return ZeroAnswer(
        question=question,
        workloads=tuple(
            compare(question, workload, names[0], gpus, pes) for workload in question.workloads
        ),
        columns=compare(question, first, names[0], question.column_gpus, columns)
        if over_columns(question.figures)
        else None,
        topologies=tuple(compare(question, first, name, gpus, pes) for name in names),
        at_twelve={
            name: {
                workload.name: compare(question, workload, name, SUMMARY_GPUS, pes)
                for workload in question.workloads
            }
            for name in names
        },
        last_hidden={
            name: last_hidden(compare(question, first, name, np.arange(2, most + 1), pes))
            for name, most in searched.items()
        },
        searched=searched,
    )


def over_columns(figures: Sequence[int]) -> bool:
    """Whether some of the figures are over columns of PEs."""
    return not {5, 6}.isdisjoint(figures)


def _searched(machine: Machine, topology: str) -> int:
    """The largest number of GPUs that is looked at."""
    if topology in machine.fixed:
        return machine.fixed[topology].chips
    return SEARCHED_GPUS if topology in LINES else SEARCHED_SIZES


def last_hidden(over_gpus: Comparison) -> int | None:
    """GPUs of the last rack before the first that waits for weights; None where none waits.

    Args:
        over_gpus: Racks in ascending order from two GPUs on.
    """
    racks = ~np.isnan(over_gpus.dp_s)
    gpus, bound = over_gpus.gpus[racks], over_gpus.bound[racks]
    if not bound.any():
        return None
    first = int(np.argmax(bound))
    return int(gpus[first - 1]) if first else 1
