"""Every plan of a row of a small job, by the cost model; what searches are compared with."""

import random
from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np

from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_totals
from planner.cost.stages.explicit import chunk_kinds
from planner.plan import FULL, SELECTIVE, SHARDINGS, Plan, PlanTable, Stage
from planner.question.options import SpaceOptions
from planner.search.limits import Limits
from planner.search.uneven.aligned import device_sizes, fullest_devices
from planner.search.uneven.rows import Rows, cross_rows, uneven_partial_plans


def rows_of(model: CostModel, chips: int, **fixed: frozenset[int]) -> Rows:
    """All rows of a job on some chips."""
    options = SpaceOptions(fixed=fixed)
    rows = cross_rows(model, uneven_partial_plans(model, (chips,), options), options)
    return rows.by_fullest(model.job.model.layers)[0]


def sizes_of(layers: int, chunks: int, first: bool = True) -> Iterator[tuple[int, ...]]:
    """All chunk sizes: at least 1, 0 where the pipeline begins or ends."""
    if chunks == 1:
        yield (layers,)
        return
    for size in range(0 if first else 1, layers + 1):
        for rest in sizes_of(layers - size, chunks - 1, first=False):
            yield (size, *rest)


def nearly_equal(sizes: tuple[int, ...], layers: int, pp: int, n: int) -> bool:
    """Whether the chunks of an interleaved pipeline are those of rows of n layers at most."""
    v = len(sizes) // pp
    beyond = n > max(-(-layers // pp), v)
    own = [list(sizes[device::pp]) for device in range(pp)]
    full = [n // v + (k < n % v) for k in range(v)]
    lacking = [n - sum(chunks) for chunks in own]
    rest = sum(lacking[:-1])
    if min(lacking) < 0 or (beyond and rest > pp - 2):
        return False
    *others, last = own
    equal = [n // v] * v
    few = n >= 2 * v and rest >= (pp - 1) // 2
    if not (last[:-1] == full[:-1] or (few and last[:-1] == equal[:-1])) or last[-1] > full[-1]:
        return False
    for device, chunks in enumerate(others):
        even = chunks == sorted(chunks, reverse=True) and max(chunks) - min(chunks) <= 1
        even = even and lacking[device] <= v and min(chunks) >= 1
        if not even and (device > 0 or chunks[1:] != full[1:] or chunks[0] > full[0]):
            return False
    return True


def first_recomputed(
    kinds: np.ndarray, counts: tuple[dict[str, tuple[int, int]], ...], pp: int
) -> bool:
    """Whether the first chunks of every device recompute before its others, each kind of layer."""
    for device, kind in product(range(pp), range(2)):
        modes: list[int] = []
        for chunk in range(device, len(counts), pp):
            full, some = (counts[chunk].get(name, (0, 0))[kind] for name in ("full", "selective"))
            modes += [2] * full + [1] * some + [0] * (int(kinds[chunk, kind]) - full - some)
        if modes != sorted(modes, reverse=True):
            return False
    return True


def spread_recomputed(
    kinds: np.ndarray, counts: tuple[dict[str, tuple[int, int]], ...], pp: int
) -> bool:
    """Whether each recomputed layer of a device is on the first chunk that has the fewest then."""
    for device in range(pp):
        own = range(device, len(counts), pp)
        taken, room = dict.fromkeys(own, 0), {chunk: kinds[chunk].tolist() for chunk in own}
        for name, kind in product(("full", "selective"), range(2)):
            given = dict.fromkeys(own, 0)
            for _ in range(sum(counts[chunk].get(name, (0, 0))[kind] for chunk in own)):
                chunk = min((c for c in own if room[c][kind]), key=lambda c: (taken[c], c))
                given[chunk], taken[chunk] = given[chunk] + 1, taken[chunk] + 1
                room[chunk][kind] -= 1
            if any(counts[chunk].get(name, (0, 0))[kind] != n for chunk, n in given.items()):
                return False
    return True


def dealt_out(kinds: np.ndarray, counts: tuple[dict[str, tuple[int, int]], ...], pp: int) -> bool:
    """Whether every device recomputes its first chunks first, or all of them alike."""
    for device in range(pp):
        own = kinds[device::pp], counts[device::pp], 1
        if not (first_recomputed(*own) or spread_recomputed(*own)):
            return False
    return True


def random_sizes(rng: random.Random, layers: int, pp: int, v: int) -> tuple[int, ...]:
    """Layers of every chunk of a pipeline: any of 1F1B, nearly equal ones of interleaved stages."""
    if v == 1:
        sizes = np.array([0] + [1] * (pp - 2) + [0] if pp > 1 else [0])
        spread = rng.choice([0.0, 0.3, 1.0])
        while sizes.sum() < layers:
            anywhere = rng.randrange(pp)
            sizes[anywhere if rng.random() < spread else int(sizes.argmin())] += 1
        return tuple(sizes.tolist())
    n = rng.choice(fullest_devices(layers, pp, v))
    options = [device_sizes(layers, pp, v, n, device).tolist() for device in range(pp)]
    own = [rng.choice(some) if rng.random() < 0.5 else some[0] for some in options]
    while (short := layers - sum(map(sum, own))) != 0:
        device = rng.randrange(pp)
        sign = 1 if short > 0 else -1
        nearer = [
            o for o in options[device] if 0 < sign * (sum(o) - sum(own[device])) <= abs(short)
        ]
        own[device] = rng.choice(nearer) if nearer else own[device]
        if not nearer and rng.random() < 0.05:
            own[device] = rng.choice(options[device])
    return tuple(np.array(own).T.ravel().tolist())


def first_chunks_first(counts: list[dict[str, list[int]]], pp: int) -> None:
    """Moves recomputed layers of devices to their first chunks, of `none`, `selective`, `full`."""
    for device, kind in product(range(pp), range(2)):
        own = counts[device::pp]
        left = {name: sum(chunk[name][kind] for chunk in own) for name in own[0]}
        for chunk in own:
            size = sum(chunk[name][kind] for name in chunk)
            for name in ("full", "selective", "none"):
                chunk[name][kind] = min(left[name], size)
                left[name] -= chunk[name][kind]
                size -= chunk[name][kind]


def counted(
    kinds: tuple[int, int], recomputes: tuple[int, ...]
) -> list[dict[str, tuple[int, int]]]:
    """All recomputation counts of a chunk."""
    names = {SELECTIVE: "selective", FULL: "full"}
    found = []
    least = [0 if 0 in recomputes else count for count in kinds]
    ranges = [range(count + 1) for count in kinds for code in recomputes if code]
    codes = [code for code in recomputes if code]
    for counts in product(*ranges):
        table = np.array(counts).reshape(2, len(codes)) if codes else np.zeros((2, 0), dtype=int)
        total = table.sum(axis=1)
        if (total <= kinds).all() and (total >= least).all():
            found.append({names[c]: tuple(table[:, i].tolist()) for i, c in enumerate(codes)})
    return found


def device_of(plan: Plan, chunk: int) -> int:
    """Which device holds a chunk; ranks i and pp - 1 - i of DualPipe are one."""
    stage = chunk % plan.pp
    return min(stage, plan.pp - 1 - stage) if plan.schedule == "dualpipe" else stage


def searched_sizes(plan: Plan, sizes: tuple[int, ...]) -> bool:
    """Whether chunks of some sizes are searched: no empty middle one, pairs that are alike."""
    pairs = list(zip(sizes, sizes[::-1], strict=True)) if plan.schedule == "dualpipe" else []
    alike = all(abs(near - far) <= max((near + far) // 4, 1) for near, far in pairs)
    return alike and all(sizes[1:-1])


def every_plan(
    model: CostModel,
    rows: Rows,
    row: int,
    clocks: Sequence[float] = (),
    *,
    blocks: bool = False,
) -> list[Plan]:
    """All plans of a row: chunks, recomputation, sharding, and clock; default: the highest.

    Those of interleaved rows have nearly equal chunks, of which the first are recomputed or all
    alike; with `blocks` in any way.
    """
    shared = rows.plans.plan(row)
    pp, v, fullest = shared.pp, shared.interleave, int(rows.fullest[row])
    shardings = [SHARDINGS[z] for z in np.flatnonzero(rows.shardings[row])]
    levels = [float(clock) for clock in clocks] or [float(model.clocks(wanted=False)[0])]
    plans, fields = [], {name: getattr(shared, name) for name in Plan.__slots__}
    devices = 1 + max(device_of(shared, c) for c in range(pp))
    on = [device_of(shared, c) for c in range(pp * v)]
    for sizes in sizes_of(model.job.model.layers, pp * v):
        if not searched_sizes(shared, sizes):
            continue
        if v > 1 and not nearly_equal(sizes, model.job.model.layers, pp, fullest):
            continue
        kinds = chunk_kinds(model.job.model.layer_kinds, sizes)
        options = [counted(tuple(pair), rows.recomputes) for pair in kinds.tolist()]
        for counts in product(*options):
            if v > 1 and not blocks and not dealt_out(kinds, counts, pp):
                continue
            chunks = [
                _stages(*chunk, shardings, levels) for chunk in zip(sizes, counts, strict=True)
            ]
            for chosen in product(product(shardings, levels), repeat=devices):
                stages = tuple(chunk[chosen[at]] for chunk, at in zip(chunks, on, strict=True))
                clock = max(level for _, level in chosen)
                plans.append(Plan(**{**fields, "stages": stages, "clock": clock}))
    return plans


def _stages(
    size: int,
    counts: dict[str, tuple[int, int]],
    shardings: Sequence[str],
    levels: Sequence[float],
) -> dict[tuple[str, float], Stage]:
    """A chunk with every sharding and clock."""
    return {
        (sharding, level): Stage(
            layers=size,
            recompute="none",
            sharding=sharding,
            clock=level,
            **counts,  # type: ignore[arg-type]
        )
        for sharding, level in product(shardings, levels)
    }


def values(model: CostModel, plans: list[Plan], limits: Limits) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of every plan, and whether it fits."""
    cost = evaluate_totals(model, PlanTable.from_plans(plans))
    return cost.step_time_s, cost.memory_bytes <= limits.chip_bytes(model)
