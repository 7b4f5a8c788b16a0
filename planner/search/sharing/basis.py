"""Partial plans of some batches of a job, of which those of each are some.

The layers of a partial plan take as long whatever the batch is: only how many micro-batches there
are changes. So the meshes, micro-batches and pipelines of a batch are those of a multiple of it,
cut to what divides it too; and a bound needs no more than the number of micro-batches put into its
formula (`planner.search.uniform.bounds`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from math import lcm

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray, IntArray
from planner.base.vocabulary import MESH_AXES
from planner.cost.context import CostModel
from planner.plan import FULL
from planner.question.options import SpaceOptions
from planner.schedules import code_of_schedule
from planner.search.limits import Limits
from planner.search.uniform.bounds import PartialPlanBounds
from planner.search.uniform.mesh_memory import (
    NOTHING_FITS,
    as_wide,
    lean_pipelines,
    least_recompute,
    searched_recomputes,
)
from planner.search.uniform.meshes import Meshes, enumerate_meshes
from planner.search.uniform.nodes import Ground, fitting_meshes, partial_plan_bounds
from planner.search.uniform.space import (
    PARTIAL_PLAN,
    PartialPlans,
    batch_runs,
    every_partial_plan,
)

_PLAIN = code_of_schedule("1f1b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Basis:
    """Partial plans of some batches on every mesh, with what bounds them; `build` makes it.

    Attributes:
        batches: Sequences of each.
        chips, options, clocks: Of the space.
        meshes: Those of a multiple of all batches.
        fitting: (m, r) the least recomputations with which something fits, or `NOTHING_FITS`.
        recompute: (m, r) the same, full where nothing fits.
        plain: Whether 1F1B holds the fewest micro-batches on each mesh.
        bounds: Of the partial plans, those included whose pipeline a batch does not fill.
        sequences: (n,) sequences that a micro-batch of each has, over all data ranks.
        layers: (n,) which each is of the (c, k) `seconds` and `kernels` that layers take for one
            micro-batch, with that recomputation.
    """

    batches: frozenset[int]
    chips: tuple[int, ...]
    options: SpaceOptions
    clocks: FloatArray
    meshes: Meshes
    fitting: IntArray
    recompute: IntArray
    plain: bool
    bounds: PartialPlanBounds
    sequences: IntArray
    layers: IntArray
    seconds: FloatArray
    kernels: FloatArray

    @staticmethod
    def build(
        model: CostModel,
        batches: Iterable[int],
        chips: tuple[int, ...],
        options: SpaceOptions,
        limits: Limits,
        clocks: FloatArray,
    ) -> Basis | None:
        """Those of a job with each of some batches; None where they have no partial plan."""
        most = lcm(*batches)
        model = replace(model, job=replace(model.job, global_batch=most))
        meshes = enumerate_meshes(model, chips, options)
        least = least_recompute(
            model, meshes, limits, offload=options.offload,
            codes=searched_recomputes(model, options),
        )  # fmt: skip
        recompute = np.where(least == NOTHING_FITS, FULL, least)
        every = every_partial_plan(model, meshes, options)
        data = meshes.columns["dp"] * meshes.columns["fsdp"]
        sequences = data[every.mesh_id] * every.columns["micro_batch"]
        used = np.zeros(len(every), dtype=np.bool_)
        for batch in batches:
            used |= batch % sequences == 0
        if not used.any():
            return None
        sequences, every = sequences[used], every.on_all_meshes(np.flatnonzero(used))
        bounds = partial_plan_bounds(model, every, options, placed=True)
        layers, count = np.empty(len(every), dtype=np.int64), 0
        parts = []
        for rows, at, *of_some in bounds.layers(recompute, clocks):
            layers[rows] = at + count
            count += len(of_some[0])
            parts.append(of_some)
        seconds, kernels = (np.concatenate(part) for part in zip(*parts, strict=True))
        return Basis(
            batches=frozenset(batches), chips=chips, options=options, clocks=clocks,
            meshes=meshes, fitting=least, recompute=recompute, bounds=bounds,
            plain={code for code, _, _ in lean_pipelines(model, meshes)} == {_PLAIN},
            sequences=sequences, layers=layers, seconds=seconds, kernels=kernels,
        )  # fmt: skip

    def ground(self, model: CostModel, limits: Limits) -> Ground | None:
        """What nodes stand on for the job with one of the batches.

        None where no partial plan is left.
        """
        meshes, places = self._meshes_of(model)
        every = self._least_recompute(model, meshes, places, limits)
        fitting, least = fitting_meshes(meshes, every)
        places = places[every[:, 0] != NOTHING_FITS]
        partial_plans, rows = self._nodes_of(model, fitting, places)
        if not len(rows):
            return None
        layers = self.layers[rows]
        times = self.seconds[layers], self.kernels[layers]
        low = self.bounds.at(model, rows, times, self.clocks)
        known = as_wide(self.recompute, least)[places]
        other = (known != as_wide(least, known)).any(axis=1)[partial_plans.mesh_id]
        if other.any():  # the multiple holds more micro-batches at once
            few = partial_plans.take(np.flatnonzero(other))
            takes = least[np.unique(partial_plans.mesh_id[other])]
            low[other] = partial_plan_bounds(model, few, self.options).corners(takes, self.clocks)
        return Ground(
            model=model, chips=self.chips, options=self.options, clocks=self.clocks, meshes=meshes,
            chip_bytes=limits.chip_bytes(model), fitting=every, partial_plans=partial_plans,
            least=least, low=low,
        )  # fmt: skip

    def _meshes_of(self, model: CostModel) -> tuple[Meshes, IntArray]:
        """The meshes of a batch, and (m,) which of the own they are.

        Counts are those of the multiple; meshes that the batch does not have count as such.
        """
        columns = self.meshes.columns
        at = np.flatnonzero(model.job.global_batch % (columns["dp"] * columns["fsdp"]) == 0)
        few = self.meshes.take(at)
        tally = dict(few.counts["meshes"])
        if lost := len(self.meshes) - len(at):
            tally |= {"batch": lost, "kept": len(at)}
        return replace(few, counts={**few.counts, "meshes": tally}), at

    def _least_recompute(
        self, model: CostModel, meshes: Meshes, places: IntArray, limits: Limits
    ) -> IntArray:
        """(m, r) `least_recompute` of meshes of a batch, `places` of the own.

        A stage holds as many micro-batches of one sequence as under the multiple where there are
        as many as stages, and more than one.
        """
        every = self.fitting[places]
        m = model.job.global_batch // (meshes.columns["dp"] * meshes.columns["fsdp"])
        few = np.ones(len(meshes), dtype=np.bool_)
        if self.plain:
            few = (m < meshes.columns["pp"]) | (m < 2)
        if few.any():
            at = np.flatnonzero(few)
            some = meshes.take(at)
            codes = searched_recomputes(model, self.options)
            offload = self.options.offload
            own = least_recompute(model, some, limits, offload=offload, codes=codes)
            every = as_wide(every, own)
            every[at] = as_wide(own, every)
        return every

    def _nodes_of(
        self, model: CostModel, fitting: Meshes, places: IntArray
    ) -> tuple[PartialPlans, IntArray]:
        """The partial plans of a batch on some meshes, and (n,) which of the own they are.

        Args:
            model: Of the job with that batch.
            fitting: Meshes on which something fits.
            places: (f,) which of the own meshes these are.
        """
        number = np.full(len(self.meshes), -1)
        number[places] = np.arange(len(places))
        every = self.bounds.partial_plans
        mesh = number[every.mesh_id]
        rows = np.flatnonzero((mesh >= 0) & (model.job.global_batch % self.sequences == 0))
        columns = {name: every.columns[name][rows] for name in PARTIAL_PLAN}
        axes = {name: fitting.columns[name][mesh[rows]] for name in MESH_AXES}
        runs: BoolArray = batch_runs(model, {**axes, **columns})
        counts = {"considered": len(rows), "micro_batches": int((~runs).sum())}
        found = PartialPlans(
            meshes=fitting,
            mesh_id=mesh[rows[runs]],
            columns={name: column[runs] for name, column in columns.items()},
            counts={name: count for name, count in counts.items() if count or name == "considered"},
        )
        return found, rows[runs]
