"""Stalls of one installation: what counts, whom they befell, one half predicted by the other."""

import math
from dataclasses import replace

import numpy as np
import pytest

from hardware_db import FrozenMap, load_calibration, load_cluster
from planner.evidence.runs.networks import beside_others
from planner.evidence.runs.profiles import profile_of
from planner.evidence.runs.reading import MeasuredRun, of_sources, read_runs
from planner.evidence.runs.stalls import Counts, has_stalled, is_expected, most_stall_s, stall_s
from planner.evidence.validation.predicting import predict

GROUP = "stall.huggingface"


def far() -> tuple[list[MeasuredRun], np.ndarray, np.ndarray]:
    """The installation's runs of the fit split on several nodes, measured and predicted seconds."""
    found, _ = predict(of_sources(read_runs(), ["nanotron*"]))
    keep = [
        row
        for row, one in enumerate(found.runs)
        if one.split == "fit" and one.run.plan.chips > one.run.cluster.node_chips
    ]
    return [found.runs[row] for row in keep], found.measured_s[keep], found.step_time_s[keep]


def test_one_half_of_the_runs_predicts_the_other() -> None:
    runs, measured, predicted = far()
    constants = load_calibration()
    one = slice(1, None, 2)
    values = dict(constants.values)
    for name, units in (("receive_s", "receives"), ("layer_s", "layers")):
        counts = np.array([getattr(Counts.of(each.run), units) for each in runs[one]])
        some = (counts > 0) & (measured[one] > 2.0 * predicted[one])
        added = (measured[one] - predicted[one])[some] / counts[some]
        values[f"{GROUP}.{name}"] = float(np.median(added))
        shipped = constants.value(f"{GROUP}.{name}")
        assert values[f"{GROUP}.{name}"] == pytest.approx(shipped, rel=0.1)
    fitted = replace(constants, values=FrozenMap(values))
    errors = []
    for each, seconds, own in zip(runs[::2], measured[::2], predicted[::2], strict=True):
        stall = most_stall_s(each.run, fitted)
        late = stall if has_stalled(each.run, float(own), stall) else 0.0
        errors.append(abs((own + late) / seconds - 1))
    assert len(errors) > 400
    assert np.mean(errors) < 0.12


def test_a_middle_stage_waits_for_two_messages() -> None:
    run = far()[0][0].run
    batch = run.job.global_batch

    def counts(pp: int) -> Counts:
        return Counts.of(replace(run, plan=replace(run.plan, dp=1, fsdp=1, micro_batch=1, pp=pp,
                                                   stages=None)))  # fmt: skip

    assert counts(1) == Counts(receives=0.0, layers=batch * run.job.model.layers)
    assert counts(2) == Counts(receives=batch, layers=0.0)
    assert counts(8) == Counts(receives=2 * batch + 5, layers=0.0)
    assert counts(8).seconds(0.5, 1.0) == batch + 2.5


def test_only_the_largest_and_the_widest_are_expected_to_stall() -> None:
    constants = load_calibration()
    for each in far()[0]:
        plan = each.run.plan
        wide = plan.tp >= 32
        assert is_expected(each.run, constants) == (plan.pp > 1 if wide else plan.chips >= 512)
        assert (stall_s(each.run, constants) > 0) == is_expected(each.run, constants)
    elsewhere = replace(each.run, profile=replace(each.run.profile, stalls=""))
    assert stall_s(elsewhere, constants) == most_stall_s(elsewhere, constants) == 0.0
    assert not has_stalled(elsewhere, math.inf, 0.0)


def test_stalls_are_of_a_source_not_of_a_framework() -> None:
    row = {"source": "my own runs", "hardware": "h100-sxm5-80", "framework": "nanotron"}
    assert profile_of(row).era == "nanotron"
    assert profile_of(row).stalls == profile_of(row).network == ""


def test_what_is_left_of_a_shared_network_is_what_nccl_reached() -> None:
    cluster, numbers = load_cluster("h100-sxm5-80"), load_calibration("nccl")
    left = numbers.value("efficiency.efa") / numbers.value("efficiency.infiniband")
    for level, before in zip(
        beside_others(cluster, "EFA 3200 Gb/s per node").levels, cluster.levels, strict=True
    ):
        share = left if level.kind == "scale-out" else 1.0
        assert level.oversubscription == pytest.approx(before.oversubscription / share)
    assert beside_others(cluster, "RoCE 1600 Gbps/node") == cluster
    assert beside_others(load_cluster("trainium1"), "EFA") == load_cluster("trainium1")
