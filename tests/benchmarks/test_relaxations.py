"""Spaces that give a freedom away hold no plan that is slower than today's best."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SEARCHES = """
import json
import measuring  # before numpy
from jobs import BenchmarkJob
from freedoms import (
    Searches, best_placed, free_recomputation, free_sharding, no_memory, spread_ends
)
from uneven import QUICK, job_of
from uneven_jobs import Asked

found = {}
for job in (*QUICK[:1], job_of("mixtral-8x7b", "dgx-h100-ndr", 16, 64, 2048)):
    of = Searches(Asked.of(job, 60.0))
    every = (best_placed, free_recomputation, free_sharding, no_memory, spread_ends)
    found[job.title] = {"today": of.today(), **{one.__name__: one(of) for one in every}}
print(json.dumps(found))
"""


STAGES = """
import json
from dataclasses import replace
import measuring  # before numpy
from freedom_searches import Searches, uneven_s
from freedoms_of_stages import EveryChunk, PooledJob, SearchesOfPools, SmallPipeline, any_chunks
from jobs import BenchmarkJob
from relaxations import never_waiting, other_tp_of_kinds_s
from uneven import job_of
from uneven_jobs import Asked

of = Searches(Asked.of(job_of("deepseek-v2-lite", "dgx-h100-ndr", 8, 32, 2048), 60.0))
kinds = [of.today(), other_tp_of_kinds_s(of.asked), any_chunks(of)]
pooled = PooledJob(
    model="llama3.2-1b", pools={"dgx-h100-ndr": 4, "dgx-a100-80-hdr": 4}, sequences=8, seq_len=2048
)
of = SearchesOfPools.of(pooled, 60.0)
pools = [of.today(), of.bound(own=False), of.bound(own=True)]
one = SmallPipeline(model="llama3-8b", layers=6, pp=2, v=2, sequences=4)
every = EveryChunk(one)
asked = Asked.of(every.job, 60.0)
fixed = {name: frozenset({1}) for name in ("tp", "cp", "dp", "fsdp", "micro_batch")}
fixed |= {"pp": frozenset({2}), "recompute": frozenset({0})}
with never_waiting(replace(asked, options=replace(asked.options, fixed=fixed))) as relaxed:
    chunks = [every.nearly_equal(), every.every(), uneven_s(relaxed, bound=True)]
print(json.dumps({"kinds": kinds, "pools": pools, "chunks": chunks}))
"""


def ran(script: str) -> dict[str, Any]:
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_bounds_of_stages_that_differ_more_are_below_plans() -> None:
    """Those of one tp above those of several; all chunks of a small pipeline, simulated."""
    found = ran(STAGES)
    today, kinds, chunks = found["kinds"]
    assert 0 < kinds <= today * (1 + 1e-9)
    assert 0 < chunks <= today * (1 + 1e-9)
    today, one, each = found["pools"]
    assert 0 < each <= one * (1 + 1e-9)
    assert one <= today * (1 + 1e-9)
    nearly_equal, every, bound = found["chunks"]
    assert every <= nearly_equal
    assert 0.5 * every < bound <= every * (1 + 1e-9)


def test_a_relaxation_is_no_slower_than_the_best_plan_of_today() -> None:
    found = ran(SEARCHES)
    assert len(found) == 2
    for title, rows in found.items():
        today = rows.pop("today")
        assert 0 < today < 1e6, title
        for name, bound in rows.items():
            assert 0 < bound <= today * (1 + 1e-9), (title, name)
        assert rows["no_memory"] <= rows["free_sharding"] * (1 + 1e-9), title
