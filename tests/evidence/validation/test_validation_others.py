"""Collectives, microbenchmarks and failed configurations against their definitions."""

from io import StringIO

import numpy as np
import pytest
from rich.console import Console, RenderableType

from hardware_db import load_chip
from planner.assumptions.assumptions import calibrated
from planner.evidence.csvfile import shipped
from planner.evidence.validation.answer import validate
from planner.evidence.validation.collective_systems import cluster_of, system_of
from planner.evidence.validation.collectives import (
    collective_scores,
    measured_collectives,
    predicted_s,
    seconds_of,
)
from planner.evidence.validation.microbench import benchmarks, matmul_flop_per_s
from planner.report.tables.validation import fitting, validation_view
from planner.report.tables.validation_tables import collective_table, nccl_table


def test_a_time_follows_from_the_printed_bandwidth() -> None:
    """Calls that print both agree with the definitions of nccl-tests."""
    checked = 0
    for line in shipped("collectives"):
        cells = line.cells
        if cells["time_us"] and cells["bytes"] and float(cells["busbw"] or 0) > 1:
            size = float(cells["bytes"])
            from_bandwidth = seconds_of({**cells, "time_us": ""}, size)
            assert from_bandwidth == pytest.approx(seconds_of(cells, size), rel=0.02), cells
            checked += 1
    assert checked > 80


def test_every_call_is_predicted_or_named() -> None:
    calls, left_out = measured_collectives()
    assert sum(len(row.size_bytes) for row in calls) + sum(left_out.values()) == 234
    assert all(system_of(name) is None for name in left_out)
    for row in calls:
        assert np.all(np.diff(row.predicted_s) >= 0), row.system
        assert np.all(row.predicted_s > 0)
    scores = collective_scores(calls)
    assert scores[-1].time.rows == sum(row.time.rows for row in scores[:-1])


def test_a_system_has_its_printed_network() -> None:
    aws = "AWS p4de.24xlarge A100-80GB (EFA 400 Gb/s/node)"
    assert {level.bandwidth_bytes_per_s for level in cluster_of(aws).levels[1:]} == {6.25e9}
    faster = aws.replace("400", "800")
    size = np.array([2.0**33])
    slow, fast = (predicted_s(name, "all_reduce", 16, size) for name in (aws, faster))
    assert 1.4 < slow[0] / fast[0] < 2  # a part of the time is inside the nodes
    assert cluster_of("2x HGX A100, 4x ConnectX-6 HDR200").levels[1].bandwidth_bytes_per_s == 12.5e9
    racks = "OCI BM.GPU.GB200-v3.4, 32 nodes across 2 NVL72 racks"
    assert cluster_of(racks).levels[0].domain_chips == 64


def test_an_all_reduce_of_large_messages_takes_twice_an_all_gather() -> None:
    size = np.array([2.0**34])
    aws = "AWS p5.48xlarge H100 (EFA 3200 Gb/s/node)"
    times = {name: predicted_s(aws, name, 16, size)[0] for name in ("all_reduce", "all_gather")}
    assert times["all_reduce"] / times["all_gather"] == pytest.approx(2, rel=0.02)


def test_microbenchmarks_are_those_of_the_cost_model() -> None:
    found = benchmarks()
    assert len(found) == 41
    a100 = calibrated(load_chip("a100-sxm4-80"), "megatron-core", "fp16")
    large = next(row for row in found if row.shape == (16384,) * 3 and row.chip == "a100-sxm4-80")
    assert large.predicted == matmul_flop_per_s(a100, 16384, 16384, 16384)
    assert large.error == large.predicted / large.measured - 1
    assert large.measured == 256.5e12
    streams = [row for row in found if row.unit == "B/s"]
    assert {row.predicted for row in streams if row.chip == "a100-sxm4-80"} == {
        a100.memory_bytes_per_s
    }


def test_tables_of_calls_say_their_constants_and_keep_medians_on_narrow_screens() -> None:
    answer = validate(what="collectives")
    whole = console_text(validation_view(answer), 80)
    assert "Plans take the constants of the training step" in whole
    assert "large: calls from 16.8 MB." in whole
    for found, words in (
        (collective_table(answer), "plans use them"),
        (nccl_table(answer), "NCCL"),
    ):
        assert words in found[0]
        assert len(found[0]) < 80
        text = console_text(fitting(found), 80)
        medians = {row[found[1].index("median %")] for row in found[2]}
        assert medians <= set(text.split())
        assert "median %" in text.splitlines()[0]


def console_text(view: RenderableType, width: int) -> str:
    screen = Console(width=width, file=StringIO())
    with screen.capture() as printed:
        screen.print(view)
    return printed.get()
