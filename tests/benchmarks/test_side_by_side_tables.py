"""The problems of Galvatron and Aceso, solved: equal to every plan of tiny tables."""

import itertools
from collections.abc import Iterator
from dataclasses import replace
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.cases import each
from support.engines import engine


def galvatron_record(rng: np.random.Generator, stages: int) -> dict[str, Any]:
    compute = rng.integers(1, 20, 3) / 8
    return {
        "batches": int(rng.integers(stages, 6)),
        "layers": rng.integers(1, 4, stages).tolist(),
        "compute": compute.tolist(),
        "synced": (compute + rng.integers(0, 40, 3) / 8).tolist(),
        "memory_mb": rng.integers(1, 10, (stages, 3)).tolist(),
        "ends": (rng.integers(0, 8, (2, stages)) / 8).tolist(),
        "room_mb": rng.integers(6, 26, (2, stages)).tolist(),
    }


def every_galvatron_value(galvatron: ModuleType, tasks: list[Any]) -> Iterator[float]:
    """Values of all plans that keep the limits."""
    for i, task in enumerate(tasks):
        stages = [
            [counts for counts in itertools.product(range(n + 1), repeat=3) if sum(counts) == n]
            for n in task.layers
        ]
        for end, counts in itertools.product(range(2), itertools.product(*stages)):
            try:
                plan = galvatron.Plan(task=i, end=end, counts=counts)
                yield galvatron.seconds_per_step(tasks, plan)
            except ValueError:
                continue


@each("seed", range(20))
def test_galvatron_problems(seed: int) -> None:
    galvatron = engine("galvatron")
    rng = np.random.default_rng(seed)
    most = 2 + seed % 2
    tasks = [galvatron.task_of(galvatron_record(rng, int(rng.integers(1, most + 1)))) for _ in "ab"]
    best = min(every_galvatron_value(galvatron, tasks), default=None)
    if best is None:
        with pytest.raises(ValueError, match="no plan fits"):
            galvatron.solve(tasks)
        return
    plan, bound, _ = galvatron.solve(tasks)
    value = galvatron.seconds_per_step(tasks, plan)
    assert bound <= best * (1 + 1e-9)
    assert best <= value * (1 + 1e-9)
    if all(len(task.layers) < 3 for task in tasks):
        assert bound == pytest.approx(value, rel=1e-9)


def test_a_step_of_galvatron_by_hand() -> None:
    galvatron = engine("galvatron")
    task = galvatron.task_of(
        {
            "batches": 4,
            "layers": [1, 1],
            "compute": [1.0, 2.0],
            "synced": [9.0, 2.0],
            "memory_mb": [[4, 1], [2, 1]],
            "ends": [[0.5, 0.0]],
            "room_mb": [[4, 1]],
        }
    )
    plan = galvatron.Plan(task=0, end=0, counts=((1, 0), (0, 1)))
    # Stages of 1.5 and 2: 3.5 + 3 * 2; the first reduces for 9 - 1.5 more.
    assert galvatron.seconds_per_step([task], plan) == 9.5 + 7.5
    with pytest.raises(ValueError, match="stage 1 does not fit"):
        galvatron.seconds_per_step([task], galvatron.Plan(task=0, end=0, counts=((1, 0), (1, 0))))
    with pytest.raises(ValueError, match="must hold its layers"):
        galvatron.seconds_per_step([task], galvatron.Plan(task=0, end=0, counts=((0, 0), (1, 0))))


def test_reducing_gradients_must_not_save_time() -> None:
    galvatron = engine("galvatron")
    record = galvatron_record(np.random.default_rng(0), 1) | {"synced": [0.0, 0.0, 0.0]}
    with pytest.raises(ValueError, match="must not save time"):
        galvatron.task_of(record)


INNER = [f"op-{i}" for i in range(13)]
INNER[4], INNER[5] = "enc-attention-softmax", "enc-attention-dropout"
NAMES = ["encoder-embedding", *INNER, "final-layernorm", "gpt-post-process"]


def aceso_table(aceso: ModuleType, rng: np.random.Generator) -> Any:
    rows = rng.integers(1, 4, (16, 8)).astype(float)
    rows[:, 0] *= 100
    rows[:, 4] /= 8
    return aceso.table_of([[name, *map(str, row)] for name, row in zip(NAMES, rows, strict=True)])


def fastest_recomputation(
    aceso: ModuleType, table: Any, own: Any, needed: float, shares: int
) -> float:
    """The least time of all choices of operators that free enough; inf: there is none."""
    every = np.arange(2 ** len(own))
    bits = (every[:, None] >> np.arange(len(own)) & 1).astype(bool)
    saved, peak = aceso.saved_and_peak(table, own, bits, ends=True)
    enough = shares * saved - peak >= needed - 1e-9
    return float(np.min((bits @ table.forward[own])[enough], initial=np.inf))


@each("seed", range(16))
def test_recomputation_of_one_stage(seed: int) -> None:
    aceso, inner = engine("aceso"), engine("aceso_recompute")
    rng = np.random.default_rng(seed)
    table = aceso_table(aceso, rng)
    begin = int(rng.integers(0, 27))
    end = int(rng.integers(begin + 1, min(begin + 12, 42) + 1))
    own = np.r_[0, np.tile(np.arange(1, 14), 3), 14, 15][begin:end]
    solver, pieces = inner.Recomputing(table), inner.pieces_of(begin, end, 3)
    for shares, needed in itertools.product((1, 3), (0.5, 4.0, 12.0, 25.0)):
        least = fastest_recomputation(aceso, table, own, needed, shares)
        found = solver.best(pieces, needed, shares)
        if found is None:
            assert np.isinf(least)
            continue
        time, again = found
        bits = np.isin(np.arange(begin, end), [max(begin, 1) + at for at in again])
        assert time == pytest.approx((bits @ table.forward[own]).sum())
        assert solver.bound(pieces, needed, shares) <= time * (1 + 1e-9)
        assert solver.quick_bound(needed, shares) <= solver.bound(pieces, needed, shares) + 1e-9
        assert time <= least * (1 + 1e-9)
        saved, peak = aceso.saved_and_peak(table, own, bits[None, :], ends=True)
        if shares * saved[0] - peak[0] >= needed - 1e-9:
            assert time == pytest.approx(least)
        else:
            # Only where a layer begins between two that are recomputed.
            assert any(
                a and b and kind == 1 for a, b, kind in zip(bits, bits[1:], own[1:], strict=False)
            )


def aceso_model(aceso: ModuleType, seed: int) -> Any:
    """One layer on two devices of one node or of two."""
    rng = np.random.default_rng(seed)
    return aceso.Model(
        layers=1,
        batch=8,
        micro_batches=(1, 2),
        nodes=1 + seed % 2,
        devices_per_node=2 - seed % 2,
        memory_mb=float(rng.integers(36, 56)),
        tables={
            key: aceso_table(aceso, rng)
            for key in [(1, 1), (2, 1), (1, 2), (2, 2)][: 4 - seed % 2 * 2]
        },
        within=(4.0, 5.0, 6.0),
        across=(2.0, 3.0),
    )


def every_aceso_value(aceso: ModuleType, model: Any) -> Iterator[float]:
    """The least step of every way to cut the operators and to use the devices."""
    kinds = model.kinds()
    for samples, middle in itertools.product((1, 2), range(1, len(kinds) + 1)):
        ends = sorted({0, middle, len(kinds)})
        sizes = [1, 1] if len(ends) == 3 else [2]
        if len(sizes) == 1 and model.nodes == 2:
            continue
        for ways in itertools.product((1, 2), repeat=len(sizes)):
            if any(
                size % data or (samples // data, size // data) not in model.tables
                for data, size in zip(ways, sizes, strict=True)
            ):
                continue
            times, used = [], 0
            for i, (data, size) in enumerate(zip(ways, sizes, strict=True)):
                table = model.tables[samples // data, size // data]
                own, shares = kinds[ends[i] : ends[i + 1]], len(sizes) - i
                needed = aceso.held_megabytes(table, own, shares) - model.memory_mb
                extra = (
                    fastest_recomputation(aceso, table, own, needed, shares) if needed > 0 else 0
                )
                moved = aceso.sent_us(model, table, own[0], own[-1], used, used + size)
                work = (table.forward + table.backward)[own].sum()
                times.append((work + extra + moved) / 1e3)
                used += size
            rest = model.batch // samples - 1
            yield sum(times) + (rest * max(times) if rest else 0.0)


@each("batch", [8, 2])
@each("seed", range(6))
def test_aceso_problems(seed: int, batch: int) -> None:
    """Also where a step is one micro-batch, of which the slowest stage says nothing more."""
    aceso, search = engine("aceso"), engine("aceso_search")
    model = replace(aceso_model(aceso, seed), batch=batch)
    best = min(every_aceso_value(aceso, model))
    if np.isinf(best):
        with pytest.raises(ValueError, match="no plan fits"):
            search.solve(model)
        return
    plan, bound, _ = search.solve(model)
    assert aceso.milliseconds_per_step(model, plan) == pytest.approx(best, rel=1e-9)
    assert bound == pytest.approx(best, rel=1e-9)


def test_what_recomputing_saves_by_hand() -> None:
    aceso = engine("aceso")
    rows = [[name, *map(str, [1.0] * 5 + [0.0, 0.0, 0.0])] for name in NAMES]
    for kind, kept in ((12, 4.0), (13, 6.0), (1, 8.0), (2, 10.0)):
        rows[kind][6] = str(kept)
    table = aceso.table_of(rows)
    own = np.array([12, 13, 1, 2])
    chosen = np.array([[1, 1, 0, 0], [1, 1, 1, 1], [0, 1, 1, 0]], dtype=bool)
    saved, peak = aceso.saved_and_peak(table, own, chosen, ends=True)
    # The layer's last operator is made again with its own, but stays kept.
    assert saved.tolist() == [4.0, 12.0, 0.0]
    assert peak.tolist() == [4.0, 10.0, 6.0]


def test_plans_of_aceso_that_break_a_limit() -> None:
    aceso = engine("aceso")
    model = aceso_model(aceso, 0)
    whole = aceso.Stage(begin=0, end=16, data=1, tensor=2)
    for stages, message in (
        ((aceso.Stage(begin=0, end=9, data=1, tensor=2),), "all operators"),
        ((aceso.Stage(begin=0, end=16, data=1, tensor=1),), "all devices"),
        ((aceso.Stage(begin=0, end=16, data=1, tensor=4),), "one node"),
    ):
        plan = aceso.Plan(micro_batch=1, stages=stages)
        roomy = aceso_model(aceso, 0)
        object.__setattr__(roomy, "memory_mb", 1e9)
        with pytest.raises(ValueError, match=message):
            aceso.milliseconds_per_step(roomy, plan)
    object.__setattr__(model, "memory_mb", 1.0)
    with pytest.raises(ValueError, match="stage 0 does not fit"):
        aceso.milliseconds_per_step(model, aceso.Plan(micro_batch=1, stages=(whole,)))
