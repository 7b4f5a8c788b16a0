"""Modeling Rack-Scale Data and ZeRO Parallelisms (document 000): figures 3 to 8, two readings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.units import plain
from planner.network.topology.hops import average_hops
from planner.studies.rack.zero.figures import Comparison, ZeroAnswer, zero_study
from planner.studies.rack.zero.readings import readings
from planner.studies.rack.zero.request import zero_question
from planner.studies.reproduce.found import Found, Rows, Shown

MEMORY_ENERGY = "146pJ/B"
"""Of a byte of a GPU's memory, with which the fully connected layer approaches 500 %."""
_STRAIGHT = 0.999


@lru_cache(maxsize=8)
def _study(figure: int, **given: str) -> ZeroAnswer:
    """A figure as `planner rack zero` draws it."""
    return zero_study(zero_question(figure=str(figure), **given)[0])


def _shown(figure: int, words: str = "", **given: str) -> Shown:
    label = f"Figure {figure}" + (f" ({words})" if words else "")
    return Shown(answer=_study(figure, **given), labels=(label,))


def _at_12(answer: ZeroAnswer, topology: str, workload: str) -> Comparison:
    return answer.at_twelve[topology][workload]


def _straightness(values: FloatArray) -> float:
    """R2 of a straight line through equally spaced values."""
    return float(np.corrcoef(np.arange(len(values)), values)[0, 1] ** 2)


def traffic() -> Found:
    """Bytes that all GPUs send, in units of the layer."""
    question = _study(3).question
    one = _at_12(_study(3), "linear", "fc")
    sent = (one.zero_j - one.dp_j)[0] / question.machine.inner.j_per_byte  # bytes times hops
    layer = question.workloads[0].weight_bytes
    hops = float(average_hops("linear", np.array([12]))[0])
    return Found(values={"layers": float(sent / layer / hops)})


def figure_3() -> Found:
    """Energy over GPUs by workload, and what 500 % would take."""
    answer, tried = _study(3), _study(3, memory_energy=MEMORY_ENERGY)
    layer = _at_12(answer, "linear", "fc")
    share = float(layer.zero_j[0] / layer.dp_j[0] - 1)
    computing = float(layer.dp_j[0]) / 12
    weights = answer.question.workloads[0].weight_bytes
    memory = 162.5e-12 * (weights + 96 + 80)
    rows = (
        ("as recorded: 162.5 pJ per byte of memory", _percent(1 + share)),
        (f"{MEMORY_ENERGY[:3]} pJ per byte of memory", _percent(_energy(tried, "fc"))),
        ("nothing but memory takes energy in a GPU", _percent(1 + share * computing / memory)),
        ("every GPU fetches the whole layer, not 11/12 of it", _percent(1 + share * 12 / 11)),
    )
    straight = _straightness(answer.workloads[0].energy_ratio)
    return Found(
        values={
            "fc": 100 * (1 + share),
            "fc_tried": 100 * _energy(tried, "fc"),
            "conv": 100 * _energy(answer, "conv"),
            "linear": straight > _STRAIGHT,
        },
        tables=(
            Rows(
                title="The fully connected layer on 12 GPUs in a line",
                header=("assumption", "energy over data parallelism"),
                rows=rows,
            ),
        ),
        pictured=(_shown(3), _shown(3, f"memory {MEMORY_ENERGY}", memory_energy=MEMORY_ENERGY)),
    )


def _energy(answer: ZeroAnswer, workload: str) -> float:
    return float(_at_12(answer, "linear", workload).energy_ratio[0])


def _percent(share: float) -> str:
    return f"{plain(100 * share)} %"


def figure_4() -> Found:
    """Latency over GPUs by workload."""
    answer = _study(4)
    return Found(
        values={
            "hidden": answer.last_hidden["linear"] or 0,
            "fc": 100 * float(_at_12(answer, "linear", "fc").latency_ratio[0]),
            "conv": 100 * float(_at_12(answer, "linear", "conv").latency_ratio[0]),
        },
        pictured=(_shown(4),),
    )


def figure_5() -> Found:
    """Energy over columns of PEs."""
    columns = _study(5).columns
    assert columns is not None
    return Found(
        values={
            "spread": 100 * float(columns.zero_j.max() / columns.zero_j.min() - 1),
            "higher": bool(np.all(columns.zero_j > columns.dp_j)),
        },
        pictured=(_shown(5),),
    )


def figure_6() -> Found:
    """Latency over columns of PEs."""
    answer = _study(6)
    columns, clock = answer.columns, answer.question.clock_hz
    assert columns is not None
    assert answer.plateau_s is not None
    hidden = np.flatnonzero(~columns.bound)
    return Found(
        values={
            "hidden": answer.question.pe_columns[int(hidden[-1])],
            "plateau": answer.plateau_s * clock,
            "dp": bool(np.all(np.diff(columns.dp_s) <= 0) and columns.dp_s[-1] < columns.dp_s[0]),
        },
        pictured=(_shown(6),),
    )


def figure_7() -> Found:
    """Energy over GPUs by topology."""
    answer = _study(7)
    line, ring, full = (one.energy_ratio for one in answer.topologies)
    return Found(
        values={
            "order": bool(line[-1] > ring[-1] > full[-1]),
            "full": 100 * float(full[-1] / full[2] - 1),
            "ring": _straightness(ring[::2]) > _STRAIGHT,
        },
        pictured=(_shown(7),),
    )


def figure_8() -> Found:
    """Latency over GPUs by topology, with T of each GPU and with T of the network, as printed."""
    printed = {"basis": "network", "bandwidth": "256"}
    answer, other = _study(8), _study(8, **printed)
    header = ("reading of T", "linear stops at 6", "all claims hold", "linear at 12")
    rows = tuple(
        (f"{one.letter}: {one.basis}", _interval(one.linear), _interval(one.all_claims),
         f"{_percent(float(one.latency_at_12.low))} to {_percent(float(one.latency_at_12.high))}")
        for one in readings()
    )  # fmt: skip
    return Found(
        values={
            "linear": answer.last_hidden["linear"] or 0,
            "ring": answer.last_hidden["ring"] or 0,
            "full": answer.last_hidden["fully-connected"] is None,
            "linear_printed": other.last_hidden["linear"] or 0,
            "full_printed": other.last_hidden["fully-connected"] is None,
        },
        tables=(Rows(title="r = (L / T) / computing cycles", header=header, rows=rows),),
        pictured=(_shown(8), _shown(8, "T of the whole network, as printed", **printed)),
    )


def _interval(one: object) -> str:
    low, high = (float(getattr(one, name)) for name in ("low", "high"))
    return f"({plain(low)}, {plain(high)}]" if low < high else "none"


def pes_or_gpus() -> Found:
    """Twice the PEs against twice the GPUs, from four GPUs with sixteen PEs in a line."""
    joules = {
        name: float(_at(gpus, pes).zero_j[0])
        for name, gpus, pes in (("base", "4", "16"), ("pes", "4", "32"), ("gpus", "8", "16"))
    }
    return Found(
        values={
            "pes": 100 * (joules["pes"] / joules["base"] - 1),
            "gpus": joules["gpus"] / joules["base"] > 1.5,
        }
    )


def _at(gpus: str, pes: str) -> Comparison:
    return _study(3, gpus=gpus, pes=pes).workloads[0]


RUNS: Mapping[str, Callable[[], Found]] = {
    "traffic": traffic,
    "fig3": figure_3,
    "fig4": figure_4,
    "fig5": figure_5,
    "fig6": figure_6,
    "fig7": figure_7,
    "fig8": figure_8,
    "pes-or-gpus": pes_or_gpus,
}
