"""Certificates of ten jobs: what they take to write and to check, and altered ones refused.

Every job is solved and its certificate made and checked in one warm process; CPU seconds, and the
size of the file. Then the certificates of all of them with one thing altered, sealed again as a
forger would, each of which the check has to refuse; seeds are drawn anew unless one is given. So
are archives of jobs whose stages may differ.
"""

from __future__ import annotations

import argparse
import json
import random
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import measuring
import stage_tampering
import tampering
from measuring import Report, Table

from planner.answers.api import solve_request
from planner.answers.files.certificate import certificate_text
from planner.answers.files.stage_proof import stage_proof
from planner.question.request import request_from
from planner.search.space import Trail
from planner.verification.checking import Verdict, verify
from planner.verification.stages.checking import verify_stages

Job = dict[str, Any]
T = TypeVar("T")
JOBS: tuple[Job, ...] = (
    {"model": "llama2-13b", "chips": 4096},
    {"model": "llama3-70b", "hardware": "h100-sxm5-80", "chips": 512},
    {
        "model": "llama3-70b", "hardware": "h100-sxm5-80", "chips": 512, "objective": "energy",
        "max_step_time": 10.0,
    },
    {
        "model": "gpt3-175b", "hardware": "a100-sxm4-80", "chips": 1024, "fix": {"pp": ["8"]},
    },
    {"model": "mixtral-8x7b", "hardware": "gb200-nvl72", "chips": 64},
    {"model": "gpt3-175b", "hardware": "h100-sxm5-80", "chips": 8},
    {"model": "llama3-405b", "chips": 16384, "batch_tokens": 16 * 2**20},
    {"model": "deepseek-v3", "chips": 2048, "batch_tokens": 15360 * 4096},
    {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 64, "batch_tokens": 2**20},
    {
        "model": "llama3-70b", "hardware": "h100-sxm5-80", "chips": 256, "framework": "torchtitan",
        "objective": "edp",
    },
)  # fmt: skip
QUICK: tuple[Job, ...] = (
    {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 16, "batch_tokens": 2**18},
)
STAGES: tuple[Job, ...] = (
    {
        "model": "llama3-8b", "hardware": "a100-sxm4-80", "chips": 8, "batch_tokens": 2**17,
        "fix": {"pp": ["4"], "interleave": ["1"]}, "layout": "uneven", "front_points": 1,
    },
    {
        "model": "gpt3-350m", "hardware": "dgx-h100-ndr", "chips": 8, "batch_tokens": 2**16,
        "layout": "uneven", "front_points": 1,
    },
    {
        "model": "gpt3-350m", "pools": {"dgx-h100-ndr": 2, "dgx-a100-80-hdr": 2},
        "batch_tokens": 2**15, "framework": "megatron", "precision": "bf16", "layout": "uneven",
    },
)  # fmt: skip
MOST_BYTES, MOST_TIMES = 50_000_000, 10


def certified(job: Job) -> tuple[float, float, str, str]:
    """CPU seconds of the solve and of making its certificate, the certificate, the status."""
    request, trail = request_from(job), Trail()
    started = time.process_time()
    result = solve_request(request, trail=trail)
    solved = time.process_time()
    text = certificate_text(request, trail, result)
    return solved - started, time.process_time() - solved, text, result.status


def row_of(job: Job) -> dict[str, Any]:
    """A job in a row; its certificate has to hold."""
    alone = time.process_time()
    solve_request(request_from(job))
    alone_s = time.process_time() - alone
    _, write_s, text, status = certified(job)
    verdict = verify(text)
    measuring.require(verdict.verified, f"{job}: {verdict.fault}")
    return {
        "job": f"{job['model']} on {job['chips']}",
        "status": status,
        "partial plans": verdict.checked["partial plans"],
        "plans": verdict.checked["plans"],
        "MB": len(text) / 1e6,
        "solve, CPU s": alone_s,
        "write, CPU s": write_s,
        "verify, CPU s": verdict.cpu_s,
        "times the solve": verdict.cpu_s / alone_s,
    }


def archived(job: Job) -> bytes:
    """The archive of a job whose stages may differ; it has to hold."""
    request, trail = request_from(job), Trail()
    content = stage_proof(request, trail, solve_request(request, trail=trail))
    verdict = verify_stages(content)
    measuring.require(verdict.verified, f"{job}: {verdict.fault}")
    return content


def altered_rows(jobs: Sequence[Job], count: int, seed: int) -> list[dict[str, Any]]:
    """A row per kind of alteration: how many were made, and how many were refused."""
    rng = random.Random(seed)
    documents = [json.loads(certified(job)[2]) for job in jobs]

    def tried(document: dict[str, Any], name: str) -> Verdict:
        return verify(json.dumps(tampering.altered(document, name, rng)))

    return _refused(documents, tampering.possible, tried, count)


def altered_archives(jobs: Sequence[Job], count: int, seed: int) -> list[dict[str, Any]]:
    """The same of archives."""
    rng = random.Random(seed)
    contents = [archived(job) for job in jobs]

    def tried(content: bytes, name: str) -> Verdict:
        return verify_stages(stage_tampering.altered(content, name, rng))

    return _refused(contents, stage_tampering.possible, tried, count)


def _refused(
    files: Sequence[T],
    possible: Callable[[T], list[str]],
    tried: Callable[[T, str], Verdict],
    count: int,
) -> list[dict[str, Any]]:
    """A row per kind of alteration of some files in turn, each of which has to be refused."""
    rows: dict[str, dict[str, Any]] = {}
    for number in range(count):
        file = files[number % len(files)]
        names = possible(file)
        name = names[number // len(files) % len(names)]
        verdict = tried(file, name)
        measuring.require(not verdict.verified, f"{name}, number {number}: is not refused")
        row = rows.setdefault(name, {"altered": name, "made": 0, "refused": 0, "for example": ""})
        row["made"] += 1
        row["refused"] += not verdict.verified
        row["for example"] = row["for example"] or verdict.fault[:90]
    return list(rows.values())


def measured(count: int, seed: int, *, quick: bool) -> Report:
    """All tables."""
    report = Report(name="certificates")
    jobs = QUICK if quick else JOBS
    solve_request(request_from(jobs[0]))  # what is loaded with the first question
    rows = [row_of(job) for job in jobs]
    report.tables.append(Table(title="Certificates of jobs", rows=rows))
    report.tables.append(
        Table(title=f"Altered certificates, seed {seed}", rows=altered_rows(jobs, count, seed))
    )
    archives = altered_archives(STAGES[:1] if quick else STAGES, count, seed)
    report.tables.append(Table(title=f"Altered archives, seed {seed}", rows=archives))
    largest = max(row["MB"] for row in rows) * 1e6
    slowest = max(row["times the solve"] for row in rows)
    small, fast = largest <= MOST_BYTES, slowest <= MOST_TIMES
    report.notes.append(
        f"Targets: a file below {MOST_BYTES / 1e6:.0f} MB: {'met' if small else 'missed'}; a check "
        f"within {MOST_TIMES} times the solve: {'met' if fast else 'missed'}."
    )
    return report


def main() -> int:
    """Measures, prints, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument(
        "--altered", type=measuring.positive, default=200, help="how many certificates [200]"
    )
    parser.add_argument("--seed", type=int, default=None, help="of the alterations [drawn]")
    options: argparse.Namespace = parser.parse_args()
    count = 3 if options.quick else options.altered
    seed = secrets.randbelow(10**6) if options.seed is None else options.seed
    measuring.show(measured(count, seed, quick=options.quick), options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
