"""What more freedom gains: ten jobs before and after it, and at most where none is built.

    python benchmarks/freedoms.py
    python benchmarks/freedoms.py --only folding
    python benchmarks/freedoms.py --only modules
    python benchmarks/freedoms.py --only sharding
    python benchmarks/freedoms.py --only stages
    python benchmarks/freedoms.py --only chunks
    python benchmarks/freedoms.py --only pools
    python benchmarks/freedoms.py --job llama3-70b
    python benchmarks/freedoms.py --write docs/uneven/freedoms.md

A freedom that is there is switched on: the gain is of the proved fastest plan of both spaces. Of
those that are not there the gain is at most that of a relaxation (`relaxations`), over the best
plan of all that is there for the job; where time ends before its proof, that of the bound by then.
A freedom is worth building where three jobs or more gain above 1 % and some framework can be told
it; a bound above 1 % says only that it is not excluded. CPU seconds are those of both searches
against those of the first.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from math import inf, isnan, nan
from pathlib import Path

import measuring
import pages
from freedom_searches import MODULES_OF_LAYERS, Freedom, Searches, least, uneven_s
from freedoms_of_stages import (
    CHUNKS,
    PIPELINES,
    POOLED,
    POOLS,
    SMALL_POOLS,
    STAGES,
    TWO_POOLS,
    EveryChunk,
    EveryTp,
    PooledJob,
    SearchesOfPools,
    SmallPipeline,
    TwoPools,
)
from jobs import BenchmarkJob
from measuring import Cell, Report, Table
from relaxations import (
    each_group_alone,
    recomputed_for_nothing,
    sharded_for_nothing,
    spread_ends_s,
    without_ends,
    without_memory,
)
from uneven import FREEDOMS, QUICK, job_of
from uneven_jobs import Asked, gain, said

from planner.plan import FULL, NO_RECOMPUTE

_WORTH = 1.0
"""Percent."""
_WHOLE = {"recompute": frozenset({NO_RECOMPUTE, FULL})}
_SHARED = {"etp": frozenset({1, 2, 4, 8})}


def any_interleave(of: Searches) -> float:
    """Interleaves that do not divide the layers are asked for."""
    most = of.asked.model.job.model.layers + 2
    fixed = {**of.asked.options.fixed, "interleave": frozenset(range(1, most))}
    options = replace(of.asked.options, fixed=fixed)
    return of.once("uneven, any interleave", lambda: uneven_s(of.asked, options))


def free_recomputation(of: Searches) -> float:
    """Nothing is computed again, and kept is what full recomputation keeps."""

    def search() -> float:
        with recomputed_for_nothing():
            return uneven_s(of.asked, bound=True)

    return of.once("uneven, recomputation for nothing", search)


def no_memory(of: Searches) -> float:
    """Memory has no end."""
    endless = without_memory(of.asked)
    return of.once("uneven, memory without end", lambda: uneven_s(endless, bound=True))


def free_sharding(of: Searches) -> float:
    """State takes as little room as zero3 over all data ranks leaves it."""

    def search() -> float:
        with sharded_for_nothing():
            return uneven_s(of.asked, bound=True)

    return of.once("uneven, sharding for nothing", search)


def best_placed(of: Searches) -> float:
    """Every group lies as if it were alone, or in any order."""

    def search() -> float:
        with each_group_alone():
            return uneven_s(of.asked, bound=True)

    return least(of.once("uneven, each group alone", search), of.uniform(all_orders=True))


def spread_ends(of: Searches) -> float:
    """Embedding and head are shared out evenly over all stages at no cost."""

    def search() -> float:
        return uneven_s(without_ends(of.asked), bound=True) + spread_ends_s(of.asked)

    return of.once("uneven, ends spread", search)


ROWS = (
    Freedom(
        name="layers, recomputed layers and sharding per stage, interleaved or not, of two kinds",
        today="in with --layout uneven; interleaved in nearly equal chunks",
        told="Megatron-LM: layers",
        before=Searches.uniform,
        after=Searches.uneven,
    ),
    Freedom(
        name="interleaves that do not divide the layers",
        today="in with --fix interleave",
        told="Megatron-LM",
        before=Searches.today,
        after=any_interleave,
    ),
    Freedom(
        name="attention recomputed alone",
        today="in: one of none, selective, full",
        told="Megatron-LM, torchtitan",
        before=lambda of: of.uniform(fixed=_WHOLE),
        after=Searches.uniform,
    ),
    Freedom(
        name="recomputation per module and stage",
        today="modules alike on all stages in with --fix recompute=any, else numbers of layers; "
        "keeps what full keeps, computes nothing again",
        told="Megatron-LM: modules, alike on all stages",
        before=Searches.today,
        after=free_recomputation,
        most=True,
    ),
    Freedom(
        name="offload to the host",
        today="in with --offload: one for all stages",
        told="Megatron-LM, torchtitan, DeepSpeed",
        before=Searches.uniform,
        after=lambda of: of.uniform(offload=True),
    ),
    Freedom(
        name="offload per stage",
        today="out; memory without end",
        told="none",
        before=lambda of: least(of.today(), of.uniform(offload=True)),
        after=no_memory,
        most=True,
    ),
    Freedom(
        name="sharding per kind of parameter",
        today="out, in per stage; memory without end, sent as today",
        told="none",
        before=Searches.today,
        after=no_memory,
        most=True,
    ),
    Freedom(
        name="any order of the axes over the levels",
        today="in with --placement all, symmetric ones once",
        told="Megatron-LM: two orders",
        before=Searches.uniform,
        after=lambda of: of.uniform(all_orders=True),
    ),
    Freedom(
        name="axes in parts over the levels, other orders on uneven groups",
        today="out but on a torus; each group as if alone",
        told="none",
        before=Searches.today,
        after=best_placed,
        most=True,
    ),
    Freedom(
        name="vocabulary parallel over the stages",
        today="out; embedding and head spread evenly at no cost",
        told="none",
        before=Searches.today,
        after=spread_ends,
        most=True,
    ),
)


FOLDING = (
    Freedom(
        name="experts with a tensor parallelism of their own (folding)",
        today="in with --fix etp=1,2,4,8; ep is folded over tp, cp and data ranks always",
        told="Megatron-LM",
        before=Searches.uniform,
        after=lambda of: of.uniform(fixed=_SHARED),
    ),
)
EXPERTS = (
    replace(job_of("deepseek-v3", "h800-pod", 2048, 15360, 4096), framework="megatron"),
    job_of("mixtral-8x7b", "dgx-h100-ndr", 64, 256, 4096),
    job_of("mixtral-8x7b", "dgx-h100-ndr", 128, 512, 4096),
    job_of("mixtral-8x22b", "dgx-h100-ndr", 128, 512, 4096),
    job_of("mixtral-8x22b", "dgx-h100-ndr", 256, 256, 4096),
    job_of("qwen3-30b-a3b", "dgx-h100-ndr", 64, 512, 4096),
    job_of("qwen3-235b-a22b", "dgx-h100-ndr", 256, 1024, 4096),
    job_of("llama4-scout", "dgx-h100-ndr", 256, 1024, 8192),
    job_of("llama4-maverick", "dgx-h100-ndr", 512, 1024, 8192),
    job_of("gpt-oss-120b", "dgx-h100-ndr", 128, 512, 8192),
)
MODULES = (
    Freedom(
        name="modules recomputed alone (attention, MLP, norms, experts)",
        today="in with --fix recompute=any, alike on all stages; uniform plans",
        told="Megatron-LM",
        before=Searches.uniform,
        after=lambda of: of.uniform(fixed=MODULES_OF_LAYERS),
    ),
)
SHARDING = (
    replace(
        next(row for row in ROWS if row.name == "sharding per kind of parameter"),
        today="out, in per stage; state of zero3 over all data ranks, sent as today",
        after=free_sharding,
    ),
)
Job = BenchmarkJob | PooledJob | SmallPipeline
AllSearches = Searches | SearchesOfPools | EveryChunk | EveryTp
PARTS: dict[str, tuple[tuple[Freedom, ...], Sequence[Job]]] = {
    "freedoms": (ROWS, FREEDOMS),
    "sharding": (SHARDING, FREEDOMS),
    "folding": (FOLDING, EXPERTS),
    "modules": (MODULES, FREEDOMS),
    "modules-experts": (MODULES, EXPERTS),
    "stages": (STAGES, FREEDOMS),
    "chunks": (CHUNKS, PIPELINES),
    "pools": (POOLS, POOLED),
    "two-pools": (SMALL_POOLS, TWO_POOLS),
}


def measured(freedoms: tuple[Freedom, ...], jobs: Sequence[AllSearches]) -> list[Table]:
    """The table of freedoms, and that of each job."""
    by_job: list[dict[str, Cell]] = [{"job": of.title} for of in jobs]
    gains: list[list[float]] = [[] for _ in freedoms]
    spent = [[0.0, 0.0] for _ in freedoms]
    for of, cells in zip(jobs, by_job, strict=True):
        said(of.title)
        for at, row in enumerate(freedoms):
            gained, first, then = _gain(of, row)
            gains[at].append(gained)
            cells[f"{at + 1}, %"] = None if isnan(gained) else gained
            spent[at] = [spent[at][0] + first, spent[at][1] + then]
    rows = [_cells(at, row, gains[at], spent[at]) for at, row in enumerate(freedoms)]
    return [Table(title="Freedoms", rows=rows), Table(title="Gain of each job", rows=by_job)]


def _gain(of: AllSearches, row: Freedom) -> tuple[float, float, float]:
    """Percent, and the CPU seconds of what is searched before and of what is then."""
    before = row.before(of)
    known = _cpu_s(of)
    after = row.after(of)
    gained = gain(before, min(before, after)) if before < inf else 0.0 if after == inf else 100.0
    return nan if isnan(after) else gained, known, _cpu_s(of) - known


def _cpu_s(of: AllSearches) -> float:
    return sum(spent.cpu_s for _, spent in of.done.values())


def _cells(at: int, row: Freedom, gains: list[float], spent: list[float]) -> dict[str, Cell]:
    proved = [one for one in gains if not isnan(one)]
    return {
        "": at + 1,
        "freedom": row.name,
        "today": row.today,
        "can be told": row.told,
        "a bound": row.most,
        "jobs above 1 %": sum(one > _WORTH for one in proved),
        "proved jobs": len(proved),
        "most, %": max(proved, default=0.0),
        "CPU, times": sum(spent) / max(spent[0], 1e-9),
    }


def main() -> None:
    """Measures and prints, or writes."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--job", help="only jobs with this in their title")
    parser.add_argument("--seconds", type=float, default=600.0, help="per uneven search, at most")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="e.g. docs/uneven/freedoms.md")
    parser.add_argument("--only", choices=sorted(PARTS), help="one part")
    options: argparse.Namespace = parser.parse_args()
    report = Report(name="freedoms")
    names = list(PARTS) if options.only is None else [options.only]
    if options.write is not None:
        measuring.require(options.job is None, "--write takes all jobs, so no --job")
    report.tables += pages.told(names, lambda name: part(name, options), options.write)
    if options.write is None:
        measuring.require(bool(report.tables), f"no job has {options.job!r} in its title")
        measuring.show(report, options)


def part(name: str, options: argparse.Namespace) -> list[Table]:
    """The tables of a part; none where no job of it is asked for."""
    freedoms, every = PARTS[name]
    jobs = [job for job in every if options.job is None or options.job in job.title]
    few = QUICK if every in (FREEDOMS, EXPERTS) else every[:1]
    chosen = few if options.quick else jobs
    found = _searches(chosen, options.seconds)
    return measured(freedoms, found) if found else []


def _searches(jobs: Sequence[Job], most_s: float) -> list[AllSearches]:
    return [_searches_of(job, most_s) for job in jobs]


def _searches_of(job: Job, most_s: float) -> AllSearches:
    if isinstance(job, TwoPools):
        return EveryTp.of(job)
    if isinstance(job, PooledJob):
        return SearchesOfPools.of(job, most_s)
    if isinstance(job, SmallPipeline):
        return EveryChunk(job)
    return Searches(Asked.of(job, most_s))


if __name__ == "__main__":
    main()
