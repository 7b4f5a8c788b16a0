"""Spaces that give a freedom away hold no plan that is slower than today's best."""

import json
import subprocess
import sys
from pathlib import Path

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


def test_a_relaxation_is_no_slower_than_the_best_plan_of_today() -> None:
    command = [sys.executable, "-c", SEARCHES]
    done = subprocess.run(command, cwd=BENCHMARKS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert len(found) == 2
    for title, rows in found.items():
        today = rows.pop("today")
        assert 0 < today < 1e6, title
        for name, bound in rows.items():
            assert 0 < bound <= today * (1 + 1e-9), (title, name)
        assert rows["no_memory"] <= rows["free_sharding"] * (1 + 1e-9), title
