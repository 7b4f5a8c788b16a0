"""Figures of the report on energy and latency: their axes, and what the text says of each."""

from __future__ import annotations

import numpy as np
import pytest

from hardware_db import Cluster, load_cluster
from planner.studies.rack.model.machine import machine_of
from planner.studies.rack.model.workloads import attention
from planner.studies.rack.parallelism.figures import FIGURES, GPUS, figures
from planner.studies.rack.parallelism.setting import Setting
from studies.rack.test_report_parallelism import WEIGHTS, X, cost_of


def _cluster() -> Cluster:
    return load_cluster("c2c-ndr400-rack")


def test_every_figure_has_its_axes() -> None:
    """GPU counts and block sizes of the report; pipelines on multiples of six."""
    drawn = {figure.number: figure for figure in figures(Setting(cluster=_cluster()))}
    assert tuple(drawn) == FIGURES == tuple(range(2, 14))
    for number in (2, 3, 4, 10, 11, 12, 13):
        assert sorted({p.gpus for p in drawn[number].series}) == [4, 6, 8, 10, 16, 32]
    piped = [p for p in drawn[5].series if p.strategy == "pp+tp"]
    assert [(p.gpus, p.plan["pp"], p.plan["tp"]) for p in piped] == [
        (12, 6, 2), (24, 6, 4), (48, 6, 8),
    ]  # fmt: skip
    for number in (7, 8, 9):
        assert {p.gpus for p in drawn[number].series} == {4}
        assert sorted({p.block_size for p in drawn[number].series}) == [64, 128, 256, 512, 1024]
    assert [p.strategy for p in drawn[6].series] == ["dp", "tp", "pp+tp"]


def test_figure_6_reads_of_gpu_memory() -> None:
    """TP reads more of the GPUs' memory than DP, DP more of main memory: a replica each."""
    data, tensor, _ = figures(Setting(cluster=_cluster()), (6,))[0].series
    assert tensor.energy_j["gpu_memory_read"] > 2 * data.energy_j["gpu_memory_read"]
    chip = _cluster().chip
    read = {"dp": 16 * WEIGHTS + X, "tp": WEIGHTS + X}
    for point in (data, tensor):
        exact = 2 * read[point.strategy] * chip.host_memory_j_per_byte
        assert point.energy_j["main_memory_read"] == pytest.approx(exact, rel=1e-12)
        written = 2 * X * chip.host_memory_j_per_byte
        assert point.energy_j["main_memory_write"] == pytest.approx(written, rel=1e-12)


def test_figures_5_and_7_pipelines_take_longer_and_keep_falling() -> None:
    five, seven = figures(Setting(cluster=_cluster()), (5, 7))
    for figure, swept in ((five, "gpus"), (seven, "block_size")):
        times = {
            s: [p.latency_s for p in figure.series if p.strategy == s] for s in ("pp+tp", "tp")
        }
        assert all(a > b for a, b in zip(times["pp+tp"], times["tp"], strict=True)), swept
        assert times["pp+tp"] == sorted(times["pp+tp"], reverse=True)


def test_figure_12_idle_ranks_take_no_energy_of_computing() -> None:
    """32 ranks share 16 sequences: as many multiply-accumulates as 16 ranks."""
    series = figures(Setting(cluster=_cluster()), (12,))[0].series
    macs = sum(einsum.macs for einsum in attention().einsums) * 16
    for point in series:
        exact = macs * _cluster().chip.mac_j["bf16"]
        assert point.energy_j["compute"] == pytest.approx(exact, rel=1e-9)


def test_parts_of_energy_add_up() -> None:
    """Reads and writes by memory are the parts of `energy_j`, split."""
    for strategy in ("dp", "tp", "pp+tp"):
        cost = cost_of(strategy, GPUS, machine_of(_cluster()))
        np.testing.assert_allclose(sum(cost.access_j.values()), cost.total_j, rtol=1e-12)
        for level in ("dram", "sram", "registers", "main memory"):
            both = cost.access_j[f"{level} read"] + cost.access_j[f"{level} write"]
            np.testing.assert_allclose(both, cost.energy_j[level], rtol=1e-12)
