"""The answer of `planner rack zero` as one JSON object; its keys are in docs/json.md."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

import numpy as np

from hardware_db import Cluster
from planner.network.topology.fit import fitted
from planner.question.provenance import stamped
from planner.studies.rack.model.fetching import EQUATIONS, exact_latency_ratio, fixed
from planner.studies.rack.model.workloads import Workload
from planner.studies.rack.zero.figures import SUMMARY_GPUS, Comparison, ZeroAnswer, ZeroQuestion
from planner.studies.rack.zero.readings import Interval, Reading, basis_words, readings

WORKLOAD_KEYS = {"fc": "fully_connected", "conv": "convolution"}
"""The report's workloads by their long names; others keep their own."""


def key_of(name: str) -> str:
    """A topology or workload as a key: `fully_connected`."""
    return WORKLOAD_KEYS.get(name, name).replace("-", "_")


def numbers(values: Iterable[float]) -> list[float | None]:
    """Numbers with null for what is none."""
    return [None if math.isnan(value) else float(value) for value in values]


def to_dict(answer: ZeroAnswer, cluster: Cluster) -> dict[str, Any]:
    """One JSON-ready object.

    Args:
        answer: What was found.
        cluster: The record that was asked about.
    """
    question = answer.question
    document = {
        "last_hidden_gpus": {key_of(name): most for name, most in answer.last_hidden.items()},
        "last_hidden_workload": key_of(question.workloads[0].name),
        "last_hidden_searched_gpus": {key_of(name): n for name, n in answer.searched.items()},
        "never_bound": {key_of(name): words for name, words in never_bound(answer).items()},
        "latency_ratio_at_12": _at_twelve(answer, "latency_ratio"),
        "energy_ratio_at_12": _at_twelve(answer, "energy_ratio"),
        "latency_ratio_at_12_exact": _exact(answer),
        "plateau_cycles": None
        if answer.plateau_s is None
        else _cycles(answer.plateau_s, question.clock_hz),
        "figures": {str(number): figure(answer, number) for number in question.figures},
        "notes": list(question.notes),
        "readings": [_reading(reading) for reading in readings()],
        "inputs": _inputs(question, cluster),
        "basis": {
            "name": question.assumptions.basis,
            "cycles": EQUATIONS[question.assumptions.basis],
            "words": basis_words(),
        },
        "assumptions": asdict(question.assumptions),
        "sources": {
            f"{record.name}: {key}": source.title
            for record in (cluster, cluster.chip)
            for key, source in record.sources.items()
        },
    }
    return stamped(document)


def _cycles(seconds: float, clock_hz: float) -> float:
    """Cycles; rounding of seconds and back is undone where it is a whole number."""
    cycles = seconds * clock_hz
    if math.isnan(cycles):
        return cycles
    return float(round(cycles)) if math.isclose(cycles, round(cycles), rel_tol=1e-12) else cycles


def figure(answer: ZeroAnswer, number: int) -> dict[str, Any]:
    """The series of a figure of the report."""
    question, columns = answer.question, answer.columns
    clock = question.clock_hz
    if number in (5, 6):
        assert columns is not None
        series = [
            {
                "strategy": name,
                "workload": key_of(columns.workload),
                "topology": key_of(columns.topology),
                **(
                    {"energy_per_gpu_j": numbers(joules / columns.gpus)}
                    if number == 5
                    else {
                        "latency_s": numbers(seconds),
                        "latency_cycles": numbers([_cycles(x, clock) for x in seconds]),
                    }
                ),
            }
            for name, joules, seconds in (
                ("dp", columns.dp_j, columns.dp_s),
                ("zero", columns.zero_j, columns.zero_s),
            )
        ]
        return {
            "title": TITLES[number],
            "gpus": question.column_gpus,
            "pe_columns": list(question.pe_columns),
            "pes": [int(pes) for pes in columns.pes],
            "series": series,
        }
    compared = answer.workloads if number in (3, 4) else answer.topologies
    return {
        "title": TITLES[number],
        "gpus": list(question.gpus),
        "pes": question.pes,
        "series": [_over_gpus(one, number, clock) for one in compared],
    }


TITLES = {
    3: "Energy of ZeRO over data parallelism, by workload",
    4: "Latency of ZeRO over data parallelism, by workload",
    5: "Energy per GPU over columns of PEs",
    6: "Latency over columns of PEs",
    7: "Energy of ZeRO over data parallelism, by topology",
    8: "Latency of ZeRO over data parallelism, by topology",
}
"""Of the figures of the report."""


def _over_gpus(one: Comparison, number: int, clock: float) -> dict[str, Any]:
    common = {"workload": key_of(one.workload), "topology": key_of(one.topology)}
    if number in (3, 7):
        return common | {
            "energy_ratio": numbers(one.energy_ratio),
            "zero_energy_per_gpu_j": numbers(one.zero_j / one.gpus),
            "dp_energy_per_gpu_j": numbers(one.dp_j / one.gpus),
        }
    return common | {
        "latency_ratio": numbers(one.latency_ratio),
        "zero_latency_cycles": numbers([_cycles(x, clock) for x in one.zero_s]),
        "dp_latency_cycles": numbers([_cycles(x, clock) for x in one.dp_s]),
        "network_bound": [None if math.isnan(x) else bool(late)
                          for x, late in zip(one.dp_s, one.bound, strict=True)],
    }  # fmt: skip


def _at_twelve(answer: ZeroAnswer, ratio: str) -> dict[str, dict[str, float | None]]:
    return {
        key_of(topology): {
            key_of(workload): numbers(getattr(one, ratio))[0] for workload, one in found.items()
        }
        for topology, found in answer.at_twelve.items()
    }


def _exact(answer: ZeroAnswer) -> dict[str, dict[str, str | None]]:
    """The ratios of latency as fractions, `143/72`; null where racks have two kinds of links."""
    question = answer.question
    workloads = {workload.name: workload for workload in question.workloads}
    rate = question.machine.inner.bytes_per_s / question.clock_hz

    def ratio(topology: str, one: Comparison, workload: Workload) -> str | None:
        if question.machine.outer is not None or math.isnan(one.dp_s[0]):
            return None
        cycles = _cycles(float(one.dp_s[0]), question.clock_hz)
        return str(
            exact_latency_ratio(
                question.machine.fixed.get(topology) or fixed(fitted(topology, SUMMARY_GPUS)),
                question.assumptions.basis,
                weight_bytes=workload.weight_bytes,
                rate=rate,
                cycles=cycles,
            )
        )

    return {
        key_of(topology): {
            key_of(name): ratio(topology, one, workloads[name]) for name, one in found.items()
        }
        for topology, found in answer.at_twelve.items()
    }


def weight_share(answer: ZeroAnswer) -> float:
    """The ratio r = (L / T) / computing cycles of the first workload on figure 8's PEs.

    NaN where no rack was looked at.
    """
    question, name = answer.question, answer.question.workloads[0].name
    compared = [*answer.topologies, *(found[name] for found in answer.at_twelve.values())]
    there = np.concatenate([one.dp_s[~np.isnan(one.dp_s)] for one in compared])
    if not there.size:
        return math.nan
    computing = float(there[0])
    return question.workloads[0].weight_bytes / question.machine.inner.bytes_per_s / computing


def never_bound(answer: ZeroAnswer) -> dict[str, str]:
    """Why racks of a topology never wait: a proof where there is one, else how far was looked."""
    question, r = answer.question, weight_share(answer)
    one_kind = question.assumptions.basis == "per_gpu" and question.machine.outer is None
    alike = one_kind and question.workloads[0].batch is None
    found = {}
    for name, most in answer.last_hidden.items():
        if most is not None:
            continue
        limit = _FETCH_LIMITS.get(name, math.inf)
        if alike and r * limit <= 1:
            hops, times = ("", "") if limit == 1 else (" h", f"{limit} ")
            found[name] = f"always: r (N - 1){hops} / N < {times}r = {r * limit:g} <= 1 for every N"
        else:
            found[name] = (
                f"on all racks up to {answer.searched[name]:,} GPUs; no larger one was looked at"
            )
    return found


_FETCH_LIMITS = {"fully-connected": 1, "star": 2, "switch": 2}
"""What (N - 1) h / N stays below for every N: h is 1, 2 (N - 1) / N and 2."""


def _reading(reading: Reading) -> dict[str, Any]:
    return {
        "letter": reading.letter,
        "basis": reading.basis,
        "linear_stops_at_6": _interval(reading.linear),
        "all_claims": _interval(reading.all_claims),
        "all_claims_on_even_counts": _interval(reading.even_counts),
        "linear_latency_ratio_at_12": _interval(reading.latency_at_12),
        "plateau_over_weight_cycles": float(reading.plateau_share),
    }


def _interval(found: Interval) -> list[float] | None:
    """[above, up to]; null where it is empty."""
    return None if found.is_empty else [float(found.low), float(found.high)]


def _inputs(question: ZeroQuestion, cluster: Cluster) -> dict[str, Any]:
    machine = question.machine
    return {
        "hardware": cluster.name,
        "chip": machine.chip.name,
        "precision": machine.precision,
        "clock_hz": question.clock_hz,
        "bytes_per_cycle_per_gpu": machine.inner.bytes_per_s / question.clock_hz,
        "energy_per_hop_j_per_byte": machine.inner.j_per_byte,
        "memory_energy_j_per_byte": machine.chip.memory_j_per_byte,
        "sram_bytes": question.sram_bytes,
        "pe_rows": question.rows,
        "pes": question.pes,
        "pe_columns": list(question.pe_columns),
        "column_gpus": question.column_gpus,
        "gpus": list(question.gpus),
        "topologies": list(machine.topologies),
        "workloads": [workload_fields(workload) for workload in question.workloads],
    }


def workload_fields(workload: Workload) -> dict[str, Any]:
    """A workload as JSON-ready data."""
    return {
        "name": key_of(workload.name),
        "title": workload.title,
        "note": workload.note,
        "batch": workload.batch,
        "word_bytes": workload.word_bytes,
        "weight_bytes": workload.weight_bytes,
        "macs_per_item": workload.macs_per_item,
        "einsums": [
            asdict(einsum) | {"inputs": list(einsum.inputs)} for einsum in workload.einsums
        ],
    }
