"""Freedoms of stages that are not there: what they gain at most.

Chunks of interleaved pipelines of other sizes, and attention's tp of each kind of layers, on the
jobs of the other freedoms; other tp on each pool on jobs of pools. Where stages differ in tp, their
data ranks make up for it: stages have as many chips, and as many sequences of a micro-batch.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import product
from math import inf, nan

import numpy as np
from enumerated.chunks import every_chunks, nearly_equal_chunks
from enumerated.drawing import of_few_layers
from freedom_searches import Freedom, Once, Searches, least, uneven_s
from jobs import BenchmarkJob
from relaxations import never_waiting, other_tp_of_kinds_s, other_tp_of_pools_s

from planner.answers.evaluation import limits_of, options_of
from planner.base.arrays import IntArray
from planner.cost.pools.evaluate import evaluated_on, joined_stages
from planner.cost.pools.pools import Pool
from planner.cost.timeline.timeline import timeline_of
from planner.plan import Plan, PlanTable, Stage
from planner.question.pools import ResolvedPools, resolve_pools
from planner.question.request import ARGUMENTS, request_from
from planner.schedules import schedule_of
from planner.search.pools.pools import best_on_pools
from solvers.solution import Status

_H100, _A100, _H200 = "dgx-h100-ndr", "dgx-a100-80-hdr", "dgx-h200-ndr"
_L40S = "l40s-pcie"
_MOST_S = 15.0
"""Of the search of pipelines that never wait, of which thousands are as fast: the bound is soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PooledJob:
    """A job on pools.

    Attributes:
        model: Name in the database.
        pools: Clusters, with the chips of each.
        sequences, seq_len: Of a step.
        layers: Of the model, if it has fewer; None: all.
    """

    model: str
    pools: Mapping[str, int]
    sequences: int
    seq_len: int

    layers: int | None = None

    @property
    def title(self) -> str:
        """Model and pools."""
        pools = " + ".join(f"{chips} {name}" for name, chips in self.pools.items())
        few = f" of {self.layers} layers" if self.layers else ""
        return f"{self.model}{few} @ {pools}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPools(PooledJob):
    """A job on two pools that is small enough for all its plans to be costed."""


@dataclass(slots=True)
class SearchesOfPools(Once):
    """The searches of a job on pools."""

    title: str
    resolved: ResolvedPools
    most_s: float

    @staticmethod
    def of(job: PooledJob, most_s: float) -> SearchesOfPools:
        """What `planner solve --pools` reads of a job."""
        asked = {
            "model": of_few_layers(job.model, job.layers) if job.layers else job.model,
            "pools": ",".join(f"{name}={chips}" for name, chips in job.pools.items()),
            "batch_tokens": job.sequences * job.seq_len,
            "seq_len": job.seq_len,
            "framework": "megatron",
            "precision": "bf16",
            "layout": "uneven",
        }
        resolved = resolve_pools(request_from(asked), ARGUMENTS)
        return SearchesOfPools(title=job.title, resolved=resolved, most_s=most_s)

    def today(self) -> float:
        """Of plans with one tp on all pools; nan where it is not proved."""
        request = self.resolved.request

        def search() -> float:
            deadline = time.perf_counter() + self.most_s
            pools, options = self.resolved.pools, options_of(request)
            found = best_on_pools(pools, options, limits_of(request), deadline=deadline)
            if found.status not in (Status.OPTIMAL, Status.INFEASIBLE):
                return nan
            return inf if found.plan is None else found.time_s

        return self.once("pools, one tp", search)

    def bound(self, *, own: bool) -> float:
        """LB1 of plans with a tp of each pool, or one tp of all."""
        options = options_of(self.resolved.request)
        return self.once(
            f"pools, LB1 {'with a tp of each' if own else 'with one tp'}",
            lambda: other_tp_of_pools_s(self.resolved.pools, options, own=own),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallPipeline:
    """A pipeline whose chunks can be listed: a chip a stage, tp 1, nothing recomputed.

    Attributes:
        model: Name in the database, of which it has so many layers.
        layers, pp, v: Layers, stages, chunks of each.
        sequences: Micro-batches, one each.
    """

    model: str
    layers: int
    pp: int
    v: int
    sequences: int

    @property
    def title(self) -> str:
        """All of it."""
        return (
            f"{self.model} of {self.layers} layers, pp {self.pp}, {self.v} chunks, "
            f"{self.sequences} micro-batches"
        )


@dataclass(slots=True)
class EveryChunk(Once):
    """All chunks of a small pipeline, simulated one by one."""

    pipeline: SmallPipeline

    @property
    def title(self) -> str:
        """Of the pipeline."""
        return self.pipeline.title

    def nearly_equal(self) -> float:
        """Of those that are searched."""
        one = self.pipeline
        sizes = nearly_equal_chunks(one.layers, one.pp, one.v)
        return self.once("nearly equal chunks", lambda: self._fastest(sizes))

    def every(self) -> float:
        """Of all."""
        one = self.pipeline
        sizes = every_chunks(one.layers, one.pp * one.v)
        return self.once("all chunks", lambda: self._fastest(sizes))

    @property
    def job(self) -> BenchmarkJob:
        """A chip a stage."""
        one = self.pipeline
        return BenchmarkJob(
            model=of_few_layers(one.model, one.layers),
            hardware=_H100,
            chips=one.pp,
            sequences=one.sequences,
            seq_len=4096,
        )

    def _fastest(self, every: Iterable[tuple[int, ...]]) -> float:
        model, one = self.job.cost_model(), self.pipeline
        plan = Plan(pp=one.pp, schedule="interleaved", interleave=one.v)
        return min(
            timeline_of(model, replace(plan, stages=tuple(map(_chunk, sizes)))).makespan_s
            for sizes in every
        )


def _chunk(layers: int, plan: Plan | None = None) -> Stage:
    sharding = "ddp" if plan is None else plan.sharding
    return Stage(layers=layers, recompute="none", sharding=sharding, clock=1.0)


@dataclass(slots=True)
class EveryTp(Once):
    """Two pools, a stage each: all tp and numbers of layers of both, costed one by one.

    Chips keep all that they are given, messages are those of the first stage, and as many sequences
    make a micro-batch on both.
    """

    title: str
    pools: tuple[Pool, ...]

    @staticmethod
    def of(job: PooledJob) -> EveryTp:
        """Of the job, which is small."""
        return EveryTp(title=job.title, pools=SearchesOfPools.of(job, inf).resolved.pools)

    def one(self) -> float:
        """Of plans with one tp on both."""
        return self.once("one tp", lambda: self._fastest(alike=True))

    def each(self) -> float:
        """Of all plans."""
        return self.once("a tp of each", lambda: self._fastest(alike=False))

    def _fastest(self, *, alike: bool) -> float:
        chips, batch = self.pools[0].chips, self.pools[0].model.job.global_batch
        degrees = [tp for tp in (1, 2, 4, 8) if chips % tp == 0]
        sizes = [chips // tp * size for tp in degrees for size in (1, 2, 4, 8)]
        found = []
        for at_once in {size for size in sizes if batch % size == 0}:
            able = [tp for tp in degrees if at_once % (chips // tp) == 0]
            for pair in product(able, able):
                if pair[0] == pair[1] or not alike:
                    for owner in ((0, 1), (1, 0)):
                        found.append(self._least_s(np.array(owner), pair, at_once))
        return min(found)

    def _least_s(self, owner: IntArray, degrees: tuple[int, ...], at_once: int) -> float:
        """Of all numbers of layers, with some tp on each pool."""
        layers = self.pools[0].model.job.model.layers
        each = []
        for pool, tp in zip(self.pools, degrees, strict=True):
            dp = pool.chips // tp
            plan = Plan(
                tp=tp, dp=dp, pp=2, micro_batch=at_once // dp, sequence_parallel=tp > 1,
                sharding="zero1" if dp > 1 else "ddp",
            )  # fmt: skip
            listed = [
                replace(plan, stages=(_chunk(first, plan), _chunk(layers - first, plan)))
                for first in range(layers + 1)
            ]
            each.append(evaluated_on(pool, PlanTable.from_plans(listed), 1))
        whole = joined_stages(self.pools, owner, tuple(each))
        return float(whole.step.time[:, 0].min())


def any_chunks(of: Searches) -> float:
    """Interleaved pipelines wait for nothing, send for nothing, and keep what 1F1B keeps."""
    model = of.asked.model
    if not any(schedule_of(name).interleaves for name in model.framework.schedules):
        return of.today()

    def search() -> float:
        with never_waiting(replace(of.asked, most_s=min(of.asked.most_s, _MOST_S))) as relaxed:
            return uneven_s(relaxed, bound=True)

    return least(of.today(), of.once("uneven, interleaved without waiting", search))


def tp_of_kinds(of: Searches) -> float:
    """Layers of each kind have the fastest tp."""
    if len({*of.asked.model.job.model.layer_kinds}) == 1:
        return of.today()
    bound = of.once("uneven, tp of each kind", lambda: other_tp_of_kinds_s(of.asked))
    return least(of.today(), bound)


STAGES = (
    Freedom(
        name="chunks of interleaved pipelines of other sizes",
        today="in with nearly equal ones; no waiting, no messages, activations of 1F1B",
        told="Megatron-LM",
        before=Searches.today,
        after=any_chunks,
        most=True,
    ),
    Freedom(
        name="attention's tp of each kind of layers",
        today="out; each kind at its fastest tp, memory without end",
        told="none",
        before=Searches.today,
        after=tp_of_kinds,
        most=True,
    ),
)
POOLS = (
    Freedom(
        name="other tp on each pool",
        today="out; each pool at its fastest tp, memory without end, LB1 of rows",
        told="none",
        before=SearchesOfPools.today,
        after=lambda of: of.bound(own=True),
        most=True,
    ),
    Freedom(
        name="none: one tp on all pools",
        today="in; LB1 of rows, to tell what of the bound above is LB1's own",
        told="none",
        before=SearchesOfPools.today,
        after=lambda of: of.bound(own=False),
        most=True,
    ),
)


def _pooled(model: str, sequences: int, seq_len: int, **chips: int) -> PooledJob:
    names = {"h100": _H100, "a100": _A100, "h200": _H200}
    pools = {names[name]: count for name, count in chips.items()}
    return PooledJob(model=model, pools=pools, sequences=sequences, seq_len=seq_len)


POOLED = (
    _pooled("llama3-8b", 128, 8192, h100=16, a100=16),
    _pooled("llama3-8b", 128, 8192, h100=8, a100=32),
    _pooled("llama2-13b", 256, 4096, h100=32, a100=32),
    _pooled("llama3-70b", 256, 8192, h100=32, a100=64),
    _pooled("llama3-70b", 512, 8192, h100=64, h200=64),
    _pooled("gpt3-175b", 512, 2048, h100=128, a100=128),
    _pooled("qwen3-32b", 256, 4096, h100=32, a100=32),
    _pooled("gemma2-27b", 256, 8192, h200=32, a100=64),
    _pooled("llama3-8b", 256, 4096, h200=16, a100=32),
    _pooled("llama2-70b", 256, 4096, h100=32, a100=32),
)
SMALL_POOLS = (
    Freedom(
        name="a tp of each of two pools, all costed one by one",
        today="in with one tp",
        told="none",
        before=EveryTp.one,
        after=EveryTp.each,
    ),
)
CHUNKS = (
    Freedom(
        name="chunks of any sizes, simulated one by one",
        today="in with nearly equal ones",
        told="Megatron-LM",
        before=EveryChunk.nearly_equal,
        after=EveryChunk.every,
    ),
)
PIPELINES = tuple(
    SmallPipeline(model=model, layers=layers, pp=pp, v=v, sequences=2 * pp)
    for model in ("llama3-8b", "llama3-70b", "llama3.1-405b", "gpt3-175b", "gemma2-27b")
    for layers, pp, v in ((8, 2, 2), (9, 3, 2))
)
TWO_POOLS = tuple(
    TwoPools(model=model, pools=pools, sequences=64, seq_len=4096, layers=8)
    for model in ("llama3-8b", "llama3-70b", "llama3.1-405b", "gpt3-175b", "gemma2-27b")
    for pools in ({_H100: 8, _A100: 8}, {_H100: 8, _L40S: 8})
)
