"""The space of plans: every mesh crossed with every choice, with a count of what each rule drops.

Meshes are crossed first with what decides most of the time (micro-batch, schedule, interleave and
layer split: a *partial plan*), then with sharding, sequence parallelism, context-parallel mode and
recomputation. Offloading, placement orders and clocks come later: they depend on memory, or
memory does not depend on them.

Choices that are provably the same plan are enumerated once: sharding that shards nothing, a
context-parallel mode without context parallelism, layers dealt from the front that divide evenly.
Selective recomputation that drops nothing is left out: it is the same plan, or a slower one.

Interleaved plans have equal chunks (where the rule counts embedding and head as
layers: with them): for others the step time is an estimate only.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray, distinct, repeated
from planner.base.vocabulary import MESH_AXES
from planner.cost.context import CostModel
from planner.frameworks.rules import applicable, divisors, fits_layers, heads_exchange
from planner.plan import (
    ALL_TO_ALL,
    COLUMNS,
    DDP,
    DEFAULT_ORDER,
    EVEN,
    FRONT,
    FULL,
    NO_RECOMPUTE,
    RING,
    SELECTIVE,
    SHARDINGS,
    SPLITS,
    ZERO3,
    PlanTable,
)
from planner.question.options import SpaceOptions
from planner.schedules import ScheduleColumn, code_of_schedule, schedule_of
from planner.search.runnable import runnable_plans
from planner.search.uniform.meshes import Meshes, equal_chunks, interleaves

PARTIAL_PLAN = ("micro_batch", "schedule", "interleave", "split")


@dataclass(frozen=True, slots=True, kw_only=True)
class PartialPlans:
    """Meshes with micro-batch, schedule, interleave and layer split.

    Attributes:
        meshes: The meshes.
        mesh_id: (n,) row of `meshes`.
        columns: `PARTIAL_PLAN`, (n,) each.
        counts: Partial plans considered, and dropped by each rule.
    """

    meshes: Meshes
    mesh_id: IntArray
    columns: dict[str, IntArray]
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.mesh_id)

    @property
    def chips(self) -> IntArray:
        """(n,) chips of each partial plan."""
        chips: IntArray = self.meshes.columns["chips"][self.mesh_id]
        return chips

    def take(self, index: IntArray) -> PartialPlans:
        """The partial plans of `index`, with only the meshes that they use."""
        used, mesh_id = np.unique(self.mesh_id[index], return_inverse=True)
        return PartialPlans(
            meshes=self.meshes.take(used),
            mesh_id=mesh_id.ravel().astype(np.int64),
            columns={name: column[index] for name, column in self.columns.items()},
            counts=self.counts,
        )

    def on_all_meshes(self, index: IntArray) -> PartialPlans:
        """The partial plans of `index`, with all meshes."""
        columns = {name: column[index] for name, column in self.columns.items()}
        return replace(self, mesh_id=self.mesh_id[index], columns=columns)


@dataclass(frozen=True, slots=True, kw_only=True)
class Space:
    """Logical plans: no placement order, clock 1.

    Attributes:
        plans: The plans that every rule allows; `order` is the default one.
        mesh_id: (n,) row of `meshes` that each plan lives on.
        meshes: Their meshes.
        counts: Plans considered, and dropped by each rule.
    """

    plans: PlanTable
    mesh_id: IntArray
    meshes: Meshes
    counts: dict[str, int]

    def __len__(self) -> int:
        return len(self.mesh_id)

    def take(self, index: IntArray) -> Space:
        """The plans of `index` on the same meshes."""
        return Space(
            plans=self.plans.take(index),
            mesh_id=self.mesh_id[index],
            meshes=self.meshes,
            counts=self.counts,
        )

    def apart(self, fields: tuple[str, ...]) -> Space:
        """The same plans on meshes that differ in some choices too, which are columns of them."""
        if not fields:
            return self
        choices = {name: getattr(self.plans, name) for name in fields}
        first, which = distinct([self.mesh_id, *choices.values()])
        meshes = self.meshes.take(self.mesh_id[first])
        columns = meshes.columns | {name: column[first] for name, column in choices.items()}
        return replace(self, meshes=replace(meshes, columns=columns), mesh_id=which)


def cross_partial_plans(
    model: CostModel, meshes: Meshes, options: SpaceOptions, *, uneven: bool = False
) -> PartialPlans:
    """Every micro-batch and pipeline on every mesh that the rules allow.

    With `uneven` chunks need not follow a split of the framework: the column says nothing then.
    """
    return _crossed(model, meshes, options, uneven=uneven, filled=True)


def every_partial_plan(model: CostModel, meshes: Meshes, options: SpaceOptions) -> PartialPlans:
    """The same, whether the batch has micro-batches enough for the pipeline or not."""
    return _crossed(model, meshes, options, uneven=False, filled=False)


def _crossed(
    model: CostModel, meshes: Meshes, options: SpaceOptions, *, uneven: bool, filled: bool
) -> PartialPlans:
    rows = _Rows.of_meshes(meshes)
    _cross_micro_batch(model, rows)
    _cross_pipeline(model, rows, options, uneven=uneven)
    counts = {"considered": len(rows)}
    if filled:
        counts["micro_batches"] = rows.keep(batch_runs(model, rows.columns))
    asked = options.allows("split", rows.columns["split"]) | (rows.columns["pp"] == 1) | uneven
    for name in ("micro_batch", "schedule", "interleave"):
        asked &= options.allows(name, rows.columns[name])
    counts["fixed"] = rows.keep(asked)
    return PartialPlans(
        meshes=meshes,
        mesh_id=rows.mesh_id,
        columns={name: rows.columns[name] for name in PARTIAL_PLAN},
        counts={name: count for name, count in counts.items() if count or name == "considered"},
    )


def batch_runs(model: CostModel, columns: dict[str, IntArray]) -> BoolArray:
    """(n,) whether the pipeline of partial plans runs on the micro-batches of the batch."""
    m = model.job.global_batch // (columns["dp"] * columns["fsdp"] * columns["micro_batch"])
    schedules = ScheduleColumn(columns["schedule"])
    whole = ~schedules.values("whole_groups") | (columns["interleave"] == 1)
    whole |= m % columns["pp"] == 0
    return np.asarray(whole & schedules.of_each("runs", columns["pp"], m))


def cross_exchanges(model: CostModel, partial_plans: PartialPlans, options: SpaceOptions) -> Space:
    """Sequence parallelism and context-parallel mode on every partial plan; no rule is applied.

    Sharding and recomputation are none: stages choose theirs.
    """
    rows = _Rows.of_partial_plans(partial_plans)
    rows.cross_many(
        ("sharding", "recompute"), np.zeros(len(rows), dtype=np.int64), {0: [(DDP, NO_RECOMPUTE)]}
    )
    _cross_modes(model, rows)
    tally = {"considered": len(rows)}
    if fixed := rows.keep(_asked_modes(rows, options)):
        tally["fixed"] = fixed
    return Space(
        plans=rows.table(), mesh_id=rows.mesh_id, meshes=partial_plans.meshes, counts=tally
    )


def cross_choices(model: CostModel, partial_plans: PartialPlans, options: SpaceOptions) -> Space:
    """Every remaining choice on every partial plan that the rules allow."""
    rows = _Rows.of_partial_plans(partial_plans)
    _cross_sharding(model, rows)
    _cross_modes(model, rows)
    rows.cross("recompute", np.zeros(len(rows), dtype=np.int64), {0: recomputes(model, options)})
    tally = {"considered": len(rows)}
    if fixed := rows.keep(_asked_choices(rows, options)):
        tally["fixed"] = fixed
    plans = rows.table()
    keep = np.ones(len(plans), dtype=np.bool_)
    for rule in applicable(model.framework):
        broken = keep & ~rule.holds(model, plans)
        if broken.any():
            tally[rule.name] = int(broken.sum())
            keep &= ~broken
    keep = runnable_plans(model, options, plans, keep, tally)
    at = np.flatnonzero(keep)
    return Space(
        plans=plans.take(at), mesh_id=rows.mesh_id[at], meshes=partial_plans.meshes, counts=tally
    )


class _Rows:
    """A table that grows by crossing each row with the choices that its columns admit."""

    def __init__(self, mesh_id: IntArray, columns: dict[str, IntArray]) -> None:
        self.mesh_id = mesh_id
        self.columns = columns

    @staticmethod
    def of_meshes(meshes: Meshes) -> _Rows:
        """One row per mesh."""
        return _Rows(
            np.arange(len(meshes), dtype=np.int64),
            {name: meshes.columns[name] for name in MESH_AXES},
        )

    @staticmethod
    def of_partial_plans(partial_plans: PartialPlans) -> _Rows:
        """One row per partial plan."""
        at = partial_plans.mesh_id
        axes = {name: partial_plans.meshes.columns[name][at] for name in MESH_AXES}
        return _Rows(at, {**axes, **partial_plans.columns})

    def __len__(self) -> int:
        return len(self.mesh_id)

    def cross(self, name: str, key: IntArray, choices: dict[int, list[int]]) -> None:
        """Adds a column: each row is repeated for every choice of its key."""
        self.cross_many((name,), key, {k: [(c,) for c in v] for k, v in choices.items()})

    def cross_many(
        self, names: tuple[str, ...], key: IntArray, choices: dict[int, list[tuple[int, ...]]]
    ) -> None:
        """Adds several columns at once; see `cross`."""
        keys = np.array(sorted(choices), dtype=np.int64)
        sizes = np.array([len(choices[int(k)]) for k in keys], dtype=np.int64)
        flat = np.array(
            [choice for k in keys for choice in choices[int(k)]], dtype=np.int64
        ).reshape(-1, len(names))
        starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
        at = np.searchsorted(keys, key)
        repeats = sizes[at]
        source = repeated(np.arange(len(key)), repeats)
        offset = np.arange(len(source)) - repeated(np.cumsum(repeats) - repeats, repeats)
        picked = flat[starts[at][source] + offset]
        self.mesh_id = self.mesh_id[source]
        self.columns = {n: column[source] for n, column in self.columns.items()}
        for i, name in enumerate(names):
            self.columns[name] = picked[:, i]

    def keep(self, ok: BoolArray) -> int:
        """Drops the rows where `ok` is False, and says how many."""
        dropped = int((~ok).sum())
        if dropped == 0:
            return 0
        self.mesh_id = self.mesh_id[ok]
        self.columns = {name: column[ok] for name, column in self.columns.items()}
        return dropped

    def table(self) -> PlanTable:
        """The rows as plans with the default order and clock 1."""
        size = len(self)
        columns = {**self.columns, "offload": np.zeros(size, dtype=np.int64)}
        columns["sequence_parallel"] = columns["sequence_parallel"].astype(np.bool_)
        names = {*COLUMNS} - {"order", "clock"}
        return PlanTable(
            **{name: columns[name] for name in names},  # type: ignore[arg-type]
            order=np.full(size, DEFAULT_ORDER, dtype=np.int64),
            clock=np.ones(size),
        )


def recomputes(model: CostModel, options: SpaceOptions) -> list[int]:
    """Recomputations that are listed: selective drops nothing where no scores are stored.

    It is then left out, unless it is asked for and none is not. It takes as long, or longer where
    the framework runs fused attention again, which would be less power for nothing.
    """
    drops_nothing = (
        model.assumptions.fused_attention and model.framework.selective == "core-attention"
    )
    idle = drops_nothing and bool(options.allows("recompute", np.array([NO_RECOMPUTE]))[0])
    found = [NO_RECOMPUTE, FULL] if idle else [NO_RECOMPUTE, SELECTIVE, FULL]
    return found + (model.module_sets if asks_modules(options) else [])


def asks_modules(options: SpaceOptions) -> bool:
    """Whether single modules may recompute: where sets of them are asked for."""
    return any(code > FULL for code in options.fixed.get("recompute", ()))


def _asked_choices(rows: _Rows, options: SpaceOptions) -> BoolArray:
    """(n,) rows with the values that the user fixed, where the choice means anything."""
    columns = rows.columns
    asked = options.allows("sharding", columns["sharding"])
    asked &= options.allows("recompute", columns["recompute"])
    asked &= _asked_modes(rows, options)
    return asked


def _asked_modes(rows: _Rows, options: SpaceOptions) -> BoolArray:
    """(n,) rows with the exchanges that the user fixed, where there are any."""
    columns = rows.columns
    asked: BoolArray = columns["tp"] == 1
    asked = asked | options.allows("sequence_parallel", columns["sequence_parallel"])
    asked &= options.allows("cp_mode", columns["cp_mode"]) | (columns["cp"] == 1)
    return asked


def _cross_modes(model: CostModel, rows: _Rows) -> None:
    """Sequence parallelism where tp is above 1, all-to-all where heads divide over cp."""
    tp = (rows.columns["tp"] > 1).astype(np.int64)
    split = {0: [0], 1: [1]} if model.shapes.experts else {0: [0], 1: [0, 1]}
    rows.cross("sequence_parallel", tp, split)
    cp = rows.columns["cp"]
    swaps = (cp > 1) & heads_exchange(model, rows.columns["tp"], cp)
    rows.cross("cp_mode", swaps.astype(np.int64), {0: [RING], 1: [RING, ALL_TO_ALL]})


def _cross_sharding(model: CostModel, rows: _Rows) -> None:
    """No sharding everywhere; zero1 and zero2 over dp x cp; zero3 over fsdp x cp."""
    offered = [SHARDINGS.index(name) for name in model.framework.shardings]
    columns = rows.columns
    shares = (columns["dp"] * columns["cp"] > 1).astype(np.int64)
    gathers = (columns["fsdp"] * columns["cp"] > 1).astype(np.int64)
    split = (columns["fsdp"] > 1).astype(np.int64)
    choices = {}
    for key in range(8):
        can_share, can_gather, must_gather = key & 1, key >> 1 & 1, key >> 2 & 1
        allowed = [] if must_gather else [DDP]
        if can_share and not must_gather:
            allowed += [1, 2]
        if can_gather:
            allowed += [ZERO3]
        choices[key] = [code for code in allowed if code in offered]
    rows.cross("sharding", shares + 2 * gathers + 4 * split, choices)


def _cross_micro_batch(model: CostModel, rows: _Rows) -> None:
    """Every divisor of the sequences of one data rank."""
    local = model.job.global_batch // (rows.columns["dp"] * rows.columns["fsdp"])
    rows.cross("micro_batch", local, {int(n): divisors(int(n)) for n in np.unique(local)})


def _cross_pipeline(model: CostModel, rows: _Rows, options: SpaceOptions, *, uneven: bool) -> None:
    """Schedules, interleaves and layer splits that the framework has and the layers allow."""
    offered = [schedule_of(name) for name in model.framework.schedules]
    if uneven:
        offered = [schedule for schedule in offered if schedule.uneven]
    choices: dict[int, list[tuple[int, ...]]] = {}
    for pp in np.unique(rows.columns["pp"]):
        any_split = [(v, EVEN) for v in interleaves(model, int(pp))]
        pairs = any_split if uneven else chunkings(model, int(pp), options)
        if pp == 1:
            choices[1] = [(code_of_schedule("1f1b"), *pairs[0])]
            continue
        choices[int(pp)] = [
            (code_of_schedule(schedule.name), v, split)
            for v, split in pairs
            for schedule in offered
            if schedule.fits_interleave(np.array(v))
        ]
    rows.cross_many(("schedule", "interleave", "split"), rows.columns["pp"], choices)


def chunkings(model: CostModel, pp: int, options: SpaceOptions) -> list[tuple[int, int]]:
    """Pairs of interleave and layer split that are searched for a number of stages.

    Where layers divide evenly, dealing them from the front gives the same stages: it is left out,
    unless it is asked for and even is not.
    """
    splits = [SPLITS.index(name) for name in model.framework.splits]
    if pp == 1:
        return [(1, splits[0])]
    pairs = [(v, s) for v, s in dealt(model, pp) if v == 1 or equal_chunks(model, pp * v, s)]
    evenly = (1, EVEN) in pairs and bool(options.allows("split", np.array([EVEN]))[0])
    return [(v, s) for v, s in pairs if not (evenly and s == FRONT)]


def dealt(model: CostModel, pp: int) -> list[tuple[int, int]]:
    """Pairs of interleave and layer split by which the layers go on so many stages."""
    splits = [SPLITS.index(name) for name in model.framework.splits]
    return [(v, s) for v in interleaves(model, pp) for s in splits if fits_layers(model, pp, v, s)]
