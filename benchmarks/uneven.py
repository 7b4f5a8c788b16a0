"""Uneven pipelines in figures: proofs, fronts, and what each freedom of a stage is worth.

Four parts; --only runs one:

  study     the analytic instance of `stage_study.py` with 126 layers on 16 devices, by solver
  proofs    the fastest plan over all meshes, with uneven stages, recomputation and sharding of
            every stage, and why there is none faster
  fronts    the least energy at 20 limits on the time, with the clock levels of the chip
  freedoms  what the best plan gains as stages may differ in more and more

CPU seconds are those of all threads; most of the work is done by one. "Saved" compares with the
best uniform plan of the same search, all of whose stages share their choices. --write replaces the
regions of a page (see `pages`) that were measured.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import measuring
import pages
from jobs import DEEPSEEK_V3, LLAMA31_405B, BenchmarkJob
from measuring import Report, Table
from stage_study import least_costs, least_times
from uneven_jobs import Asked, freedom_cells, front_cells, proof_cells

_GPT3 = BenchmarkJob(
    model="gpt3-175b", hardware="dgx-a100-80-hdr", chips=4096, sequences=1536, seq_len=2048
)


def job_of(model: str, hardware: str, chips: int, sequences: int, seq_len: int) -> BenchmarkJob:
    return BenchmarkJob(
        model=model, hardware=hardware, chips=chips, sequences=sequences, seq_len=seq_len
    )


def _of_405b(chips: int, sequences: int) -> BenchmarkJob:
    return job_of("llama3.1-405b", "dgx-h100-ndr", chips, sequences, 8192)


_H800 = BenchmarkJob(
    model="deepseek-v3",
    hardware="h800-pod",
    chips=2048,
    sequences=DEEPSEEK_V3.sequences,
    seq_len=DEEPSEEK_V3.seq_len,
    framework="hai-llm",
)
PROOFS = (
    LLAMA31_405B,
    _of_405b(6144, 1536),
    _of_405b(512, 512),
    _of_405b(256, 256),
    _GPT3,
    _H800,
)
FRONTS = (LLAMA31_405B, _GPT3)
FREEDOMS = (
    LLAMA31_405B,
    _of_405b(512, 512),
    _of_405b(256, 256),
    _GPT3,
    job_of("gpt3-175b", "dgx-a100-80-hdr", 256, 1536, 2048),
    _H800,
    job_of("megatron-530b", "dgx-a100-80-hdr", 2240, 2240, 2048),
    job_of("llama3-70b", "dgx-h100-ndr", 64, 512, 8192),
    job_of("gemma2-27b", "dgx-h100-ndr", 128, 512, 8192),
    job_of("mixtral-8x22b", "dgx-h100-ndr", 128, 512, 4096),
)
QUICK = (job_of("llama3-8b", "h100-sxm5-80", 8, 32, 2048),)
_STUDY = ((126, 16),)
_STUDY_LIMITS = (1.01, 1.05, 1.1, 1.2)
_QUICK_STUDY = ((32, 4),)
_SOLVERS = ["first", "cp-sat", "highs"]
_FRONT_POINTS, _QUICK_POINTS = 20, 3


def study(options: argparse.Namespace) -> list[Table]:
    """Solver by solver on the analytic instance."""
    sizes = _QUICK_STUDY if options.quick else _STUDY
    limits = _STUDY_LIMITS[:1] if options.quick else _STUDY_LIMITS
    times = least_times(sizes, ["dynamic", *_SOLVERS], options.seconds)
    costs = least_costs(sizes, limits, _SOLVERS, options.seconds)
    return [
        Table(title="Least time, one clock (s)", rows=times),
        Table(title="Least energy within a time, five clocks (J)", rows=costs),
    ]


def _jobs(options: argparse.Namespace, jobs: tuple[BenchmarkJob, ...]) -> list[Asked]:
    chosen = [job for job in jobs if options.job is None or options.job in job.title]
    return [Asked.of(job, options.seconds) for job in (QUICK if options.quick else chosen)]


def proofs(options: argparse.Namespace) -> list[Table]:
    """The fastest plan of every job."""
    both = [proof_cells(asked) for asked in _jobs(options, PROOFS)]
    return [
        Table(title="The fastest plan", rows=[proof for proof, _ in both]),
        Table(title="Rows that each bound leaves", rows=[funnel for _, funnel in both]),
    ]


def fronts(options: argparse.Namespace) -> list[Table]:
    """Fronts of time and energy."""
    points = _QUICK_POINTS if options.quick else _FRONT_POINTS
    both = [(asked, front_cells(asked, points)) for asked in _jobs(options, FRONTS)]
    own = [Table(title=f"Points of {asked.job.title}", rows=rows) for asked, (_, rows) in both]
    return [Table(title="Fronts", rows=[cells for _, (cells, _) in both]), *own]


def freedoms(options: argparse.Namespace) -> list[Table]:
    """What each freedom is worth."""
    both = [freedom_cells(asked) for asked in _jobs(options, FREEDOMS)]
    energies = [row for _, rows in both for row in rows]
    return [
        Table(title="Step time saved, all clocks at the highest", rows=[row for row, _ in both]),
        Table(title="Energy within a multiple of the least time", rows=energies),
    ]


PARTS = {"study": study, "proofs": proofs, "fronts": fronts, "freedoms": freedoms}


def main() -> None:
    """Measures and prints, or writes."""
    parser = measuring.parser(__doc__, quick=True)
    parser.add_argument("--only", choices=sorted(PARTS), help="one part")
    parser.add_argument("--job", help="only jobs with this in their title")
    parser.add_argument("--seconds", type=float, default=600.0, help="per search, at most")
    parser.add_argument(
        "--write", type=Path, metavar="PAGE", help="e.g. docs/uneven/performance.md"
    )
    options = parser.parse_args()
    report = Report(name="uneven")
    names = list(PARTS) if options.only is None else [options.only]
    if options.write is not None:
        measuring.require(options.job is None, "--write takes all jobs, so no --job")
    report.tables += pages.told(names, lambda name: PARTS[name](options), options.write)
    if options.write is None:
        measuring.show(report, options)


if __name__ == "__main__":
    main()
