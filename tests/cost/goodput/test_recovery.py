"""Recovery from peers, shrinking and failure domains against simulated runs."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cases import each

from hardware_db import load_cluster
from planner.base.errors import InputError
from planner.cost.goodput.domains import domain_of
from planner.cost.goodput.goodput import Pace, Upkeep, goodput
from planner.cost.goodput.peers import PeerCopies, best_rhythm, shares_of
from planner.cost.goodput.segments import Checkpointing, Interruptions, shares
from planner.cost.goodput.shrinking import Sizes, shrinking
from planner.evidence.goodput.gaps import exponential
from planner.evidence.goodput.recovery import (
    PeersRun,
    ShrinkingRun,
    peers_played,
    shrinking_played,
)
from planner.evidence.goodput.simulation import Run, simulate

THETA_S = 50_700 * 3600.0
UPKEEP = Upkeep(
    detection_s=120.0, restart_s=600.0, spares=None, straggler_loss=0.0, node_share=0.5,
    repair_s=72 * 3600.0,
)  # fmt: skip


@each(("mtbf", "covered", "store_write", "copies", "while_down"), [
    (11_140.0, 0.77, 620.0, 8, True), (11_140.0, 0.77, 620.0, 8, False),
    (1825.0, 0.9, 640.0, 12, True), (11_140.0, 1.0, 2000.0, 30, True),
    (11_140.0, 0.02, 90.0, 1, True),
])  # fmt: skip
def test_recovery_from_peers_is_that_of_a_simulated_run(
    mtbf: float, covered: float, store_write: float, copies: int, while_down: bool
) -> None:
    job = PeersRun(
        mtbf_s=mtbf, covered=covered, work_s=70.0, stall_s=2.0, write_s=25.0,
        store_write_s=store_write, copies=copies, near_s=400.0, far_s=720.0, while_down=while_down,
    )  # fmt: skip
    down = Interruptions(mtbf_s=mtbf, detection_s=0.0, restart_s=720.0, while_down=while_down)
    peers = PeerCopies(covered=covered, stall_s=2.0, write_s=25.0, restart_s=400.0)
    late = min((store_write - 25.0) / 72.0, copies)
    known = shares_of(np.array(70.0), np.array(float(copies)), np.array(late), down, peers)
    found = peers_played(job, 40_000, seed=27)
    assert found.work == pytest.approx(float(known.work), rel=0.01)
    assert found.stalls == pytest.approx(float(known.stalls), rel=0.01)
    assert found.down == pytest.approx(float(known.down), rel=0.01)


@each("while_down", [True, False])
def test_peers_that_cover_nothing_leave_the_form_of_the_store(while_down: bool) -> None:
    down = Interruptions(mtbf_s=3000.0, detection_s=60.0, restart_s=300.0, while_down=while_down)
    peers = PeerCopies(covered=0.0, stall_s=4.0, write_s=10.0, restart_s=100.0)
    work, write = np.array([300.0, 900.0]), 200.0
    found = shares_of(work, np.ones(2), (write - 10.0) / (work + 4.0), down, peers)
    alone = shares(work, down, Checkpointing(stall_s=4.0, write_s=write))
    for name in ("work", "stalls", "down", "lost", "failures_per_s"):
        assert getattr(found, name) == pytest.approx(getattr(alone, name), rel=1e-9)


def test_no_other_rhythm_is_better() -> None:
    mtbfs, writes, nears = [2e3, 3e4, 3e4], [500.0, 4e3, 60.0], [5.0, 50.0, 50.0]
    down = Interruptions(mtbf_s=np.array(mtbfs), detection_s=60.0, restart_s=600.0)
    saved = Checkpointing(stall_s=3.0, write_s=np.array(writes))
    peers = PeerCopies(covered=0.8, stall_s=3.0, write_s=np.array(nears), restart_s=300.0)
    paces = [2.5, 7.0, 7.0]
    best = best_rhythm(np.array(paces), down, saved, peers)
    assert (best.steps == np.rint(best.steps)).all()
    steps = np.arange(1.0, 2000.0)
    assert best.copies[2] == 1
    for at, step, mtbf, write, near in zip(range(3), paces, mtbfs, writes, nears, strict=True):
        work = steps[steps * step >= near] * step
        copies = np.ceil(write / work)
        late = np.minimum((write - near) / (work + 3.0), copies)
        one = replace(down, mtbf_s=mtbf)
        here = replace(peers, write_s=near)
        every = shares_of(work, copies, late, one, here).work
        chosen = int(np.argmin(np.abs(work - best.steps[at] * step)))
        assert best.copies[at] == copies[chosen]
        assert best.shares.work[at] == pytest.approx(every[chosen], rel=1e-12)
        assert best.shares.work[at] >= every.max() * (1 - 1e-3)


@each(("chips", "ranks", "lost", "spares", "allowed", "while_down"), [
    (16_384, 128, 1, 0, None, True), (16_384, 32, 1, 0, (32, 16, 8, 4), True),
    (2048, 32, 2, 4, None, True), (65_536, 64, 1, 3, (64, 48, 32, 16), False),
])  # fmt: skip
def test_shrinking_is_that_of_a_simulated_run(
    chips: int, ranks: int, lost: int, spares: int, allowed: tuple[int, ...] | None,
    while_down: bool,
) -> None:  # fmt: skip
    sizes = np.array(
        [
            max(one for one in allowed or range(1, ranks + 1) if one <= ranks - lost * away)
            for away in range((ranks - min(allowed or (1,))) // lost + 1)
        ],
        dtype=np.float64,
    )
    run = Sizes(chips=chips * sizes / ranks, step_time_s=2.0 * ranks / sizes)
    saved = Checkpointing(stall_s=5.0, write_s=30.0)
    pace = Pace(chips=chips, step_time_s=2.0, steps=1e9, saved=saved)
    upkeep = replace(UPKEEP, while_down=while_down)
    known = shrinking(THETA_S, pace, replace(upkeep, spares=spares), run)
    slowed = replace(upkeep, spares=spares, straggler_loss=0.1, maintenance=0.05)
    slow = shrinking(THETA_S, pace, slowed, run)
    for shares_found in (known, slow):
        every = float(shares_found.work) + sum(shares_found.parts().values())
        assert every == pytest.approx(1.0, rel=1e-9)
    assert float(slow.stragglers / slow.work) == pytest.approx(1 / 9, rel=1e-9)
    alone = goodput(THETA_S, replace(pace, chips=run.chips, step_time_s=run.step_time_s), upkeep)
    assert known.steps_between == alone.steps_between[0] != alone.steps_between[-1]
    assert known.store_every == alone.store_every[0]
    found = shrinking_played(
        ShrinkingRun(
            theta_s=THETA_S, chips=tuple(run.chips), step_s=tuple(run.step_time_s),
            work_s=tuple(alone.steps_between * run.step_time_s), stall_s=5.0, write_s=30.0,
            down_s=720.0, restart_s=600.0, node_share=0.5, repair_s=72 * 3600.0, spares=spares,
            while_down=while_down,
        ),
        40_000,
        seed=27,
    )  # fmt: skip
    assert float(known.work) == pytest.approx(found, rel=0.01)


def test_a_job_without_smaller_sizes_waits_as_one_without_spares() -> None:
    saved = Checkpointing(stall_s=5.0, write_s=0.0)
    pace = Pace(chips=1024, step_time_s=1.0, steps=1e9, saved=saved)
    one = Sizes(chips=np.array([1024.0]), step_time_s=np.array([1.0]))
    upkeep = replace(UPKEEP, spares=3)
    waits = goodput(THETA_S, pace, upkeep)
    assert float(shrinking(THETA_S, pace, upkeep, one).waits) == pytest.approx(float(waits.waits))
    domains = replace(UPKEEP, spares=54, domain_nodes=18)
    assert shrinking(THETA_S, pace, domains, one).waits == pytest.approx(float(waits.waits))


@each(("chips", "repair_h", "while_down"), [(16_384, 72, True), (16_384, 77, False)])
def test_spares_of_whole_domains_are_those_of_simulated_runs(
    chips: int, repair_h: int, while_down: bool
) -> None:
    """A failure pulls 9 nodes: 117 spares are 13 domains."""
    saved = Checkpointing(stall_s=5.0, write_s=0.0)
    pace = Pace(chips=chips, step_time_s=1.0, steps=1e9, saved=saved)
    upkeep = replace(UPKEEP, spares=117, domain_nodes=9, repair_s=repair_h * 3600.0,
                     while_down=while_down)  # fmt: skip
    known = goodput(THETA_S, pace, upkeep)
    assert 0.05 < float(known.waits) < 0.2
    work = float(known.steps_between)
    mtbf = THETA_S / chips
    run = Run(total_s=round(2000 * mtbf / work) * work, work_s=work, stall_s=5.0, write_s=0.0,
              down_s=720.0, gaps=exponential(mtbf), spares=117, broken_share=0.5,
              broken_at_once=9, repair_s=upkeep.repair_s, while_down=while_down)  # fmt: skip
    found = run.total_s / float(simulate(run, 40, seed=27).wall_s.mean())
    assert float(known.work) == pytest.approx(found, rel=0.01)


def test_planned_maintenance_takes_its_share_of_all() -> None:
    saved = Checkpointing(stall_s=5.0, write_s=0.0)
    pace = Pace(chips=16_384, step_time_s=1.0, steps=1e9, saved=saved)
    few = replace(UPKEEP, spares=12)
    never, some = (goodput(THETA_S, pace, replace(few, maintenance=m)) for m in (0.0, 0.02))
    for name in ("work", "waits", "down", "failures_per_s"):
        assert float(getattr(some, name)) == pytest.approx(0.98 * float(getattr(never, name)))
    assert float(some.maintenance) == 0.02
    up = goodput(THETA_S, pace, UPKEEP).failures_per_s * (1.0 - never.waits)
    assert float(never.failures_per_s) == pytest.approx(float(up)), "none while it waits"
    assert float(some.work) + sum(some.parts().values()) == pytest.approx(1.0)


@each(("cluster", "name", "chips", "found"), [
    ("dgx-h100-ndr", "node", 512, (8, 1, True)), ("dgx-h100-ndr", "rail", 512, (256, 32, True)),
    ("dgx-h100-ndr", "core", 512, (512, 64, False)), ("dgx-h100-ndr", "node", 4, (4, 1, False)),
    ("gb200-nvl72", "rack", 576, (72, 18, True)), ("gb200-nvl72", "nvlink", 72, (72, 18, False)),
    ("trn2", "rack", 256, (64, 4, True)), ("tpu-v5p", "ici", 9000, (8960, 2240, True)),
])  # fmt: skip
def test_failure_domains_are_those_of_the_record(
    cluster: str, name: str, chips: int, found: tuple[int, int, bool]
) -> None:
    domain = domain_of(load_cluster(cluster), name, chips)
    assert (domain.chips, domain.nodes, domain.outside) == found


@each(("cluster", "name"), [("dgx-h100-ndr", "rack"), ("tpu-v5p", "rack"), ("trn2", "rail")])
def test_domains_that_a_cluster_has_not(cluster: str, name: str) -> None:
    with pytest.raises(InputError, match=f"failure-domain: '{name}' is not one of node, "):
        domain_of(load_cluster(cluster), name, 1024)
