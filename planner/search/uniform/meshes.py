"""Meshes: every factorization of a chip count that the rules on axes allow.

chips = tp * cp * pp * dp * fsdp, with ep and etp folded over all but pp; for the chip count asked
for and, for the front, every smaller one that the cluster can give.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.frameworks.rules import divisors, fits_layers
from planner.plan import BY_COST, EVEN_COUNTED, FRONT_COUNTED, SPLITS
from planner.question.options import SpaceOptions
from planner.schedules import schedule_of
from planner.schedules.schedule import Schedule
from planner.search.runnable import runnable_meshes


@dataclass(frozen=True, slots=True, kw_only=True)
class Meshes:
    """Meshes that the rules allow.

    Attributes:
        columns: `MESH_AXES` and "chips", (m,) each.
        counts: "factorizations" (tp x cp x pp x data ranks) and "meshes" (their data ranks split
            into dp x fsdp, crossed with ep and etp): considered, dropped by each rule, kept.
    """

    columns: dict[str, IntArray]
    counts: dict[str, dict[str, int]]

    def __len__(self) -> int:
        return len(self.columns["chips"])

    def take(self, index: IntArray) -> Meshes:
        """The meshes of `index`, with the same counts."""
        columns = {name: column[index] for name, column in self.columns.items()}
        return Meshes(columns=columns, counts=self.counts)


def factorizations(number: int, parts: int) -> IntArray:
    """(f, parts) all ordered factorizations of a number, by combining its prime powers."""
    table = np.ones((1, parts), dtype=np.int64)
    for prime, exponent in _prime_powers(number):
        splits = _compositions(exponent, parts)
        table = (table[:, None, :] * prime ** splits[None, :, :]).reshape(-1, parts)
    return table


def _prime_powers(number: int) -> list[tuple[int, int]]:
    powers = []
    prime = 2
    while prime * prime <= number:
        exponent = 0
        while number % prime == 0:
            number //= prime
            exponent += 1
        if exponent:
            powers.append((prime, exponent))
        prime += 1
    return [*powers, (number, 1)] if number > 1 else powers


@lru_cache(maxsize=256)
def _compositions(total: int, parts: int) -> IntArray:
    """(c, parts) all ways to write a total as an ordered sum of non-negative parts; read-only."""
    if parts == 1:
        return np.array([[total]], dtype=np.int64)
    rows = [
        np.hstack([np.full((len(tail), 1), first, dtype=np.int64), tail])
        for first in range(total + 1)
        for tail in [_compositions(total - first, parts - 1)]
    ]
    return np.vstack(rows)


def enumerate_meshes(
    model: CostModel, counts: tuple[int, ...], options: SpaceOptions, *, uneven: bool = False
) -> Meshes:
    """All meshes of the chip counts that the rules on axes allow.

    With `uneven` stages need not follow a split of the framework: pp up to layers + 2.
    """
    parts = [factorizations(count, 4) for count in counts]
    table = np.vstack(parts) if parts else np.empty((0, 4), dtype=np.int64)
    columns = {name: table[:, i] for i, name in enumerate(("tp", "cp", "pp", "data"))}
    tally = {"considered": len(table)}
    checks: dict[str, Callable[[dict[str, IntArray]], BoolArray]] = {
        "axes": lambda c: (
            options.allows("tp", c["tp"])
            & options.allows("cp", c["cp"])
            & options.allows("pp", c["pp"])
        ),
        "framework": lambda c: (c["pp"] == 1) | ("pp" not in model.framework.lacks),
        "heads": lambda c: _tp_divides(model, c["tp"]),
        "sequence": lambda c: _halves_divide(model, c["cp"]),
        "layers": lambda c: (
            c["pp"] <= most_chunks(model) if uneven else _pp_divides(model, c["pp"])
        ),
        "batch": lambda c: model.job.global_batch % c["data"] == 0,
    }
    for name, check in checks.items():
        ok = check(columns)
        if not ok.all():
            tally[name] = int((~ok).sum())
        columns = {key: column[ok] for key, column in columns.items()}
    if kept := len(columns["tp"]):
        tally["kept"] = kept
    split, split_tally = _split_data(model, columns, options)
    meshes = Meshes(columns=split, counts={"factorizations": tally, "meshes": split_tally})
    return _runnable(model, meshes, options, uneven=uneven) if options.runnable_in else meshes


def _runnable(model: CostModel, meshes: Meshes, options: SpaceOptions, *, uneven: bool) -> Meshes:
    """The meshes that can be run in some order, and how many each rule drops."""
    keep, dropped = runnable_meshes(model, options, meshes.columns, uneven=uneven)
    tally = {name: count for name, count in meshes.counts["meshes"].items() if name != "kept"}
    tally |= dropped
    if keep.any():
        tally["kept"] = int(keep.sum())
    left = meshes.take(np.flatnonzero(keep))
    return replace(left, counts={**meshes.counts, "meshes": tally})


def _halves_divide(model: CostModel, cp: IntArray) -> BoolArray:
    """(n,) whether sequences divide into 2 cp chunks; tokens dealt out evenly always do."""
    whole = model.job.seq_len % np.where(cp > 1, 2 * cp, 1) == 0
    if model.shapes.scan:  # recurrences run through whole sequences
        whole = cp == 1
    return np.asarray(whole | model.assumptions.token_granularity)


def _tp_divides(model: CostModel, tp: IntArray) -> BoolArray:
    shapes = model.shapes
    ok = shapes.heads % tp == 0
    if shapes.heads and not shapes.latent:
        ok &= (shapes.kv_heads % tp == 0) | (tp % shapes.kv_heads == 0)
    for width in (shapes.dense_width, shapes.shared_width):
        ok &= width % tp == 0
    if shapes.scan:
        ok &= (shapes.scan.heads % tp == 0) & (shapes.scan.key_heads % tp == 0)
    return np.asarray(ok)


def _pp_divides(model: CostModel, pp: IntArray) -> BoolArray:
    splits = [SPLITS.index(name) for name in model.framework.splits]
    fits = {
        int(p): any(
            fits_layers(model, int(p), v, s) for s in splits for v in interleaves(model, int(p))
        )
        for p in np.unique(pp)
    }
    return np.array([fits[int(p)] for p in pp], dtype=np.bool_)


def divides_layers(model: CostModel, pp: IntArray, split: int) -> BoolArray:
    """(n,) whether a rule splits the layers over that many stages without interleave."""
    distinct, which = np.unique(pp, return_inverse=True)
    ok = np.array([fits_layers(model, int(p), 1, split) for p in distinct], dtype=np.bool_)
    return ok[which.ravel()]


def equal_chunks(model: CostModel, chunks: int, split: int) -> bool:
    """Whether a rule of `planner.plan.SPLITS` gives every chunk as much, as it counts.

    Rules that count embedding and head as a layer each leave out one layer where these are.
    """
    return split != BY_COST and dealt_layers(model, split) % chunks == 0


def dealt_layers(model: CostModel, split: int) -> int:
    """Layers that a rule of `planner.plan.SPLITS` deals out, with the ends where it counts them."""
    return model.job.model.layers + 2 * (split in (EVEN_COUNTED, FRONT_COUNTED))


def most_chunks(model: CostModel) -> int:
    """Chunks of a pipeline with no empty chunk but the first and the last, which hold an end."""
    return model.job.model.layers + 2


def interleaves(model: CostModel, pp: int) -> list[int]:
    """Interleaves to consider for a number of stages: 1, and more where the framework can."""
    offered = [schedule_of(name) for name in model.framework.schedules]
    if pp == 1 or not any(schedule.interleaves for schedule in offered):
        return [1]
    most = most_chunks(model) // pp
    every = range(1, min(most, model.framework.most_chunks or most) + 1)
    return [v for v in every if v == 1 or any(_fits(schedule, v) for schedule in offered)]


def _fits(schedule: Schedule, v: int) -> bool:
    return bool(schedule.fits_interleave(np.array(v)))


def expert_groups(model: CostModel, options: SpaceOptions) -> list[tuple[int, int]]:
    """Pairs of ep and etp: experts are whole on a chip unless other values of etp are asked for.

    On ten jobs that gains too little to be searched by default (`docs/uneven/freedoms.md`).
    """
    if not model.shapes.experts or "ep" in model.framework.lacks:
        return [(1, 1)]
    asked = sorted(options.fixed.get("etp", ())) if model.framework.splits_experts else []
    shared = [n for n in asked if model.shapes.expert_width % n == 0] or [1]
    return [(ep, etp) for ep in divisors(model.shapes.experts) for etp in shared]


def _split_data(
    model: CostModel, columns: dict[str, IntArray], options: SpaceOptions
) -> tuple[dict[str, IntArray], dict[str, int]]:
    """Splits the data ranks into dp x fsdp and crosses with expert parallelism; what that drops."""
    data = columns["data"]
    pairs = {int(d): [(int(d) // f, f) for f in divisors(int(d))] for d in np.unique(data)}
    if "zero3" not in model.framework.shardings:
        pairs = {d: [(d, 1)] for d in pairs}
    source = np.repeat(np.arange(len(data)), [len(pairs[int(d)]) for d in data])
    split = np.array([pair for d in data for pair in pairs[int(d)]], dtype=np.int64).reshape(-1, 2)
    base = {name: columns[name][source] for name in ("tp", "cp", "pp")}
    base |= {"dp": split[:, 0], "fsdp": split[:, 1]}
    experts = np.array(expert_groups(model, options), dtype=np.int64)
    count = len(source)
    meshes = {name: np.repeat(column, len(experts)) for name, column in base.items()}
    meshes |= {name: np.tile(experts[:, at], count) for at, name in enumerate(("ep", "etp"))}
    ranks = meshes["tp"] * meshes["cp"] * meshes["dp"] * meshes["fsdp"]
    meshes["chips"] = meshes["pp"] * ranks
    folds = ranks % (meshes["ep"] * meshes["etp"]) == 0
    asked = np.ones(len(ranks), dtype=np.bool_)
    for name in ("dp", "fsdp", "ep", "etp"):
        asked &= options.allows(name, meshes[name])
    keep = folds & asked
    tally = {
        "considered": len(ranks),
        "experts": int((~folds).sum()),
        "axes": int((folds & ~asked).sum()),
        "kept": int(keep.sum()),
    }
    counts = {name: count for name, count in tally.items() if count or name == "considered"}
    return {name: column[keep] for name, column in meshes.items()}, counts
