"""Problems of other search engines, solved: equal to every plan of tiny tables in their formats."""

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from support.cases import each
from support.engines import BENCHMARKS, engine


def piper_record(seed: int) -> dict[str, Any]:
    """A diamond or a line of four layers with tensor parallelism 1 and 2."""
    rng = np.random.default_rng(seed)
    ends = [(0, 1), (1, 2), (2, 3)] if seed % 2 else [(0, 1), (0, 2), (1, 3), (2, 3)]
    nodes = []
    for v in range(4):
        own: dict[str, Any] = {}
        saved = float(rng.integers(1, 4))
        for t in (1, 2):
            time, fixed = float(rng.integers(4, 20)) / t, float(rng.integers(1, 5)) / t
            weights = float(rng.integers(1, 9))
            shared = {
                "parameterSize": weights,
                "syncTimeFw": {str(a): float(rng.integers(0, 3)) for a, b in ends if b == v},
                "syncTimeBw": {str(b): float(rng.integers(0, 3)) for a, b in ends if a == v},
            }
            own[str(t)] = [
                {"id": name, "timePerSample": time * slower, "memoryUsageA": growing / t}
                | {"memoryUsageB": fixed + (4.0 - growing) / t / 4}
                | shared
                for name, slower, growing in (("keep", 1.0, 4.0), ("again", 1.3, 4.0 - saved))
            ]
        nodes.append({"id": v, "TMPCs": own})
    return {
        "maxMemoryPerDevice": float(rng.integers(16, 40)),
        "maxDevices": int(rng.integers(2, 6)),
        "mbsInBatch": 4,
        "bandwidth": 10.0,
        "nodes": nodes,
        "edges": [{"sourceId": a, "destId": b, "communicationCost": 1.0} for a, b in ends],
    }


def every_piper_value(piper: ModuleType, instance: Any) -> Iterator[float]:
    """Values of all plans that keep the limits."""
    sets = piper.closed_sets(instance)
    for count in range(1, 5):
        for middle in itertools.combinations(sets[1:-1], count - 1):
            ends = [0, *middle, sets[-1]]
            if any(a & ~b for a, b in itertools.pairwise(ends)):
                continue
            parts = [
                [v for v in range(4) if (b & ~a) >> v & 1] for a, b in itertools.pairwise(ends)
            ]
            kinds = [
                [
                    piper.Stage(nodes=tuple(part), data=d, tensor=t, modes=modes)
                    for t in (1, 2)
                    for d in (1, 2, 4)
                    if d * t <= instance.devices
                    for modes in itertools.product((0, 1), repeat=len(part))
                ]
                for part in reversed(parts)
            ]
            for plan in itertools.product(*kinds):
                if sum(stage.data * stage.tensor for stage in plan) <= instance.devices:
                    try:
                        yield piper.seconds_per_sample(instance, plan)
                    except ValueError:
                        continue


@each("seed", range(12))
def test_piper_problems(seed: int) -> None:
    piper = engine("piper")
    instance = piper.instance_of(piper_record(seed))
    best = min(every_piper_value(piper, instance), default=None)
    if best is None:
        with pytest.raises(ValueError, match="no plan fits"):
            engine("piper_search").solve(instance)
        return
    plan, bound, _ = engine("piper_search").solve(instance)
    assert piper.seconds_per_sample(instance, plan) == pytest.approx(best, rel=1e-12)
    assert bound == pytest.approx(best, rel=1e-12)


def test_piper_modes_must_transfer_the_same() -> None:
    piper = engine("piper")
    record = piper_record(0)
    record["nodes"][2]["TMPCs"]["2"][1]["parameterSize"] += 1.0
    with pytest.raises(ValueError, match="transfer the same"):
        piper.instance_of(record)


def alpa_tables(alpa: ModuleType, seed: int) -> Any:
    rng = np.random.default_rng(seed)
    cost = rng.integers(1, 20, (4, 4, 2, 2)).astype(float)
    cost[rng.random(cost.shape) < 0.2] = np.inf
    after = rng.integers(-1, 4, cost.shape) if seed % 2 else np.full(cost.shape, 4)
    return alpa.Tables(
        cost=cost,
        after=after,
        sizes=np.array([1, 2]),
        devices=int(rng.integers(2, 6)),
        micro_batches=int(rng.integers(1, 6)),
    )


def every_alpa_value(alpa: ModuleType, tables: Any) -> Iterator[float]:
    for count in range(1, 5):
        for middle in itertools.combinations(range(1, 4), count - 1):
            ends = [0, *middle, 4]
            choices = itertools.product(range(2), range(2))
            for chosen in itertools.product(list(choices), repeat=count):
                plan = [
                    alpa.Stage(begin=a, end=b, submesh=m, sharding=c)
                    for (a, b), (m, c) in zip(itertools.pairwise(ends), chosen, strict=True)
                ]
                try:
                    yield alpa.seconds_per_step(tables, plan)
                except ValueError:
                    continue


@each("seed", range(40))
def test_alpa_problems(seed: int) -> None:
    alpa = engine("alpa")
    tables = alpa_tables(alpa, seed)
    best = min(every_alpa_value(alpa, tables), default=np.inf)
    if np.isinf(best):
        with pytest.raises(ValueError, match="no plan fits"):
            alpa.solve(tables)
        return
    plan, found = alpa.solve(tables)
    assert alpa.seconds_per_step(tables, plan) == found.objective == found.bound == best


def test_stage_costs_of_alpa_are_sums_of_layer_times(tmp_path: Path) -> None:
    run = engine("alpa_run")
    for t, samples in itertools.product((1, 2, 4), repeat=2):
        times = [samples * ms / t for ms in (4.0, 2.0, 2.0, 2.0, 8.0)]
        text = json.dumps({"execution_time": {"layer_compute_total_ms": times}})
        (tmp_path / f"DeviceType.A100_tp{t}_bs{samples}.json").write_text(text, encoding="utf-8")
    tables = run.tables(tmp_path, 6, 4)
    assert tables.sizes.tolist() == [1, 2, 4]
    # Layers 1 to 4 on four devices as two replicas of two.
    assert tables.cost[1, 4, 2, 1] == pytest.approx((2 + 2 + 2 + 2) * 2 / 2 / 1e3)
    assert np.isinf(tables.cost[0, 0, 0, 1])


def metis_inputs(metis: ModuleType, seed: int) -> tuple[dict[str, Any], Any, Any]:
    """Three layers on three devices of one or of two types, profiled at two batches."""
    rng = np.random.default_rng(seed)
    devices = {"A100": 3} if seed % 2 else {"A100": 2, "V100": 1}
    profile: dict[str, Any] = {
        "model": {
            "optimizer_time": 6.0,
            "batch_generator": 0.5,
            "parameters": rng.integers(1, 9, 3).tolist(),
        }
    }
    for kind in devices:
        profile[f"DeviceType.{kind}"] = {
            f"tp{t}_bs{samples}": {
                "time": {
                    "layer-computes": rng.integers(2, 9, 3).astype(float).tolist(),
                    "fb_sync": float(rng.integers(0, 3)),
                },
                "memory": rng.integers(1, 5, 3).astype(float).tolist(),
            }
            for t, samples in itertools.product((1, 2), (1, 2))
        }
    cluster = metis.Cluster(
        devices=devices, memory_mb=dict.fromkeys(devices, 25.0), bandwidth=4.0 / 2**20
    )
    model = metis.Model(
        layers=3, hidden=2, sequence=1, vocabulary=4, batch=4, most_tensor=2, most_samples=2
    )
    return profile, cluster, model


def metis_value(profile: dict[str, Any], cluster: Any, model: Any, plan: Any) -> float:
    """The step in milliseconds, stage by stage; inf where a profile lacks or memory runs out."""
    kinds = [kind for kind in plan.types for _ in range(cluster.devices[kind])]
    times, sends, updates, syncs, tail, first = [], [], [], [], 0.0, 0
    for i, (data, tensor) in enumerate(plan.strategies):
        own = kinds[first : first + data * tensor]
        first += data * tensor
        begin, end = (0, *plan.ends)[i], plan.ends[i]
        samples = model.batch // data // plan.batches
        key = f"tp{tensor}_bs{samples}"
        if len(set(own)) > 1 or key not in profile[f"DeviceType.{own[0]}"]:
            return np.inf
        table = profile[f"DeviceType.{own[0]}"][key]
        held = 0.001 + 5 * sum(profile[f"DeviceType.{kinds[0]}"][key]["memory"][begin:end])
        if held > cluster.memory_mb[own[0]] * data * tensor:
            return np.inf
        times.append(sum(table["time"]["layer-computes"][begin:end]))
        updates.append(profile["model"]["optimizer_time"] / tensor * (end - begin) / 3)
        weights = sum(
            profile["model"]["parameters"][v if v in (0, 2) else 1] for v in range(begin, end)
        )
        syncs.append(2 * (data - 1) / (data * 4.0) * weights / tensor)
        if end == 3:
            tail = table["time"]["fb_sync"] * plan.batches
            if not tail:
                return np.inf
        else:
            sends.append(samples * (4 / tensor if end == 2 else 2) / 4.0)
    execution = (plan.batches - 1) * max(times) + sum(times) + sum(sends)
    return execution + tail + max(updates) + max(syncs) + 0.5 * plan.batches


@each("seed", range(20))
def test_metis_problems(seed: int) -> None:
    metis = engine("metis")
    profile, cluster, model = metis_inputs(metis, seed)
    degrees = [(1, 1), (2, 1), (1, 2)]
    best = np.inf
    for types in itertools.permutations(cluster.devices):
        for count, batches in itertools.product((1, 2, 3), (1, 2, 4)):
            for strategies in itertools.product(degrees, repeat=count):
                if sum(d * t for d, t in strategies) != 3:
                    continue
                for middle in itertools.combinations((1, 2), count - 1):
                    plan = metis.Plan(
                        types=types,
                        groups=tuple(d * t for d, t in strategies),
                        strategies=strategies,
                        ends=(*middle, 3),
                        batches=batches,
                    )
                    best = min(best, metis_value(profile, cluster, model, plan))
    if np.isinf(best):
        with pytest.raises(ValueError, match="no plan fits"):
            metis.solve(profile, cluster, model)
        return
    plan, least, _ = metis.solve(profile, cluster, model)
    assert metis_value(profile, cluster, model, plan) == pytest.approx(best, rel=1e-12)
    assert least == pytest.approx(best, rel=1e-12)


def test_clocks_per_stage_are_best_and_keep_the_limit() -> None:
    perseus = engine("perseus")
    pipeline = perseus.invented(3, 4)
    nodes = [node for own in perseus.orders(pipeline) for node in own]
    every = []
    for clocks in itertools.product(range(5), repeat=3):
        times = pipeline.seconds.sum(axis=1)[range(3), clocks]
        formula = 3 * times.max() + times.sum()
        seconds, joules = perseus.evaluated(pipeline, {node: clocks[node[0]] for node in nodes})
        assert seconds <= formula * (1 + 1e-12)
        every.append((formula, joules))
    for limit in (2.2, 2.5, 3.0, 4.0):
        (plan,) = perseus.per_stage(pipeline, [limit])
        seconds, joules = perseus.evaluated(pipeline, plan)
        assert seconds <= limit
        assert joules == pytest.approx(min(e for t, e in every if t <= limit - 1e-4))
    with pytest.raises(ValueError, match="no clocks keep"):
        perseus.per_stage(pipeline, [1.0])


# Two engines, of which the second stops the program.
STOPPED = """
import sys
import side_by_side
def one(*_):
    return [{"case": "one", "theirs": 1.5}]
def none(*_):
    raise SystemExit("stopped")
side_by_side._ENGINES = {"lowtime": ("First table", one), "alpa": ("Second table", none)}
side_by_side.main()
"""


@each("shape", [[], ["--markdown"]])
def test_each_table_is_printed_as_soon_as_it_is_there(shape: list[str]) -> None:
    command = [sys.executable, "-c", STOPPED, "--lowtime", "--alpa", ".", *shape]
    done = subprocess.run(command, cwd=BENCHMARKS, check=False, capture_output=True, text=True)
    assert "First table" in done.stdout
    assert "1.5" in done.stdout
    assert done.stderr.strip() == "stopped"
