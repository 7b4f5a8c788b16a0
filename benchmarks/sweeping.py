"""Studies of `planner sweep`: killed at random, their overhead, and the limit of a scheduler.

    python benchmarks/sweeping.py kills --points 100000 --kills 50
    python benchmarks/sweeping.py overhead --points 100,1000,10000,100000
    python benchmarks/sweeping.py scheduler --tasks 20000

`kills` runs a study of small questions on two workers and kills workers and the run itself with
SIGKILL, at random over all of the study; the same command goes on each time. At the end every point
has one answer, one in a hundred is solved again alone and has to be equal, and no process of any
run may be left.
`overhead` runs studies whose points do nothing, so that all CPU time is that of the machinery.
`scheduler` gives a scheduler tasks that do nothing. With `--idle` points of `kills` wait instead of
being solved: what is tried then is the machinery alone.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import measuring
from measuring import Report, Table

from planner.answers.sweeping import solve_in_order
from planner.base.errors import InputError
from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.question.study import Study, study_of
from planner.studies.sweep.running.run import Run, run_study
from planner.studies.sweep.running.workers import LocalWorkers, configured
from planner.studies.sweep.store import Solved, Store

WORKERS = 2
IDLE_S = 0.02
LOOK_S = 0.2
OF_RUNS = 0.25  # the share of the kills that hit the run itself
CHIPS, OBJECTIVES = (8, 16, 32, 64), ("time", "energy")
SEQUENCES = 64  # in the smallest batch


SMALL_JOB = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "clocks": False, "axes": "dp",
    "runnable_in": "any", "fix": {"micro_batch": ["1"], "recompute": ["none"],
                                  "sharding": ["zero1"], "schedule": ["1f1b"]},
}  # fmt: skip
"""A declared small space: data parallelism alone, at full clock."""


def crossed(points: int) -> dict[str, list[Any]]:
    """Axes of at least so many points."""
    batches = -(-points // (len(CHIPS) * len(OBJECTIVES)))
    return {
        "batch_tokens": [SEQUENCES * 2048 * (1 + at) for at in range(batches)],
        "chips": [*CHIPS],
        "objective": [*OBJECTIVES],
    }


def small_study(points: int) -> Study:
    """A study of that space."""
    return study_of(SMALL_JOB, cross=crossed(points))


def idle(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Solved]:
    """In the place of a solve: waits as long as a small one takes."""
    time.sleep(IDLE_S * len(questions))
    return [Solved(key, answering_version(), "optimal", {"asked": dict(fields)}, IDLE_S, {})
            for key, fields in questions]  # fmt: skip


def nothing(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Solved]:
    """In the place of a solve: the answer at once, as large as one is."""
    answer = {"status": "optimal", "text": "x" * 3000}
    return [Solved(key, answering_version(), "optimal", answer, IDLE_S, {}) for key, _ in questions]


SOLVES = {"real": solve_in_order, "idle": idle, "nothing": nothing}


def run(points: int, store: Path, solve: str) -> None:
    """What a process does that is killed: goes on with the study."""
    run_study(small_study(points), store, Run(solve=SOLVES[solve], workers=LocalWorkers(WORKERS)))


class Process(NamedTuple):
    """A process of this machine."""

    pid: int
    parent: int
    session: int


def processes() -> Iterator[Process]:
    """All that are there, but those that have ended and only wait to be noticed."""
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parts = (folder / "stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        except OSError:
            continue
        if parts[0] != "Z":
            yield Process(int(folder.name), int(parts[1]), int(parts[3]))


def workers_of(pid: int) -> list[int]:
    """Worker processes of a run."""
    found = []
    for process in processes():
        if process.parent == pid:
            try:
                words = Path(f"/proc/{process.pid}/cmdline").read_bytes()
            except OSError:
                continue
            if b"spawn_main" in words:
                found.append(process.pid)
    return found


def answers(store: Path) -> int:
    """How many a store has by now."""
    try:
        with Store(store) as opened:
            return opened.results()
    except InputError:  # it has not begun
        return 0


class Killed(NamedTuple):
    """What became of a study that was killed.

    Attributes:
        runs: Commands that it took.
        workers, clients: Kills of each.
        seconds: Wall time.
        sessions: That the processes of all runs belong to.
    """

    runs: int
    workers: int
    clients: int
    seconds: float
    sessions: frozenset[int]


def killed(points: int, kills: int, store: Path, solve: str, seed: int) -> Killed:
    """Runs a study to its end and kills what runs it, so many times."""
    chance, started = random.Random(seed), time.monotonic()
    moments = sorted(chance.uniform(0, 0.95) * points for _ in range(kills))
    of_workers = of_clients = runs = 0
    sessions = set[int]()
    while True:
        runs += 1
        client = subprocess.Popen(
            [sys.executable, __file__, "run", "--points", str(points), "--store", str(store),
             "--solve", solve],
            start_new_session=True,
        )  # fmt: skip
        sessions.add(client.pid)
        while client.poll() is None:
            time.sleep(chance.uniform(0, 2 * LOOK_S))
            if not moments:
                client.wait()
                break
            if answers(store) < moments[0] or client.poll() is not None:
                continue
            moments.pop(0)
            if chance.random() < OF_RUNS:
                client.kill()
                client.wait()
                of_clients += 1
            elif found := workers_of(client.pid):
                os.kill(chance.choice(found), signal.SIGKILL)
                of_workers += 1
            else:
                moments.insert(0, 0.0)  # none has started yet
        if client.returncode == 0:
            seconds = time.monotonic() - started
            return Killed(runs, of_workers, of_clients, seconds, frozenset(sessions))
        if client.returncode != -signal.SIGKILL:
            raise SystemExit(f"error: the run ended with status {client.returncode}")


def verified(store: Path, killed_: Killed, solve: str, seed: int) -> dict[str, Any]:
    """Counts points, solves some again alone, and looks for processes that are left."""
    again = wrong = 0
    chance = random.Random(seed)
    places = list[int]()
    with Store(store) as opened:
        for row in opened.rows(answering_version()):
            places.append(row.place)
            if chance.random() < 0.01:
                again += 1
                found = SOLVES[solve]([(row.key, row.asked)])[0]
                wrong += json.loads(json.dumps(found.answer)) != row.answer
        results = opened.results()
    deadline = time.monotonic() + 30.0  # workers notice that their run is gone
    while True:
        left = [one.pid for one in processes() if one.session in killed_.sessions]
        if not left or time.monotonic() > deadline:
            break
        time.sleep(0.2)
    return {
        "points": len(places),
        "answers": results,
        "places twice": len(places) - len(set(places)),
        "solved again": again,
        "different": wrong,
        "processes left": len(left),
    }


def kills_table(options: argparse.Namespace) -> Table:
    """The study that is killed."""
    solve = "idle" if options.idle else "real"
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "study.db"
        found = killed(options.points, options.kills, store, solve, options.seed)
        checked = verified(store, found, solve, options.seed)
    row = {
        "points": checked.pop("points"),
        "workers killed": found.workers,
        "runs killed": found.clients,
        "commands": found.runs,
        "minutes": found.seconds / 60.0,
        **checked,
    }
    return Table(title=f"A study of {solve} solves on {WORKERS} workers, killed", rows=[row])


def overhead_row(points: int) -> dict[str, Any]:
    """CPU of everything but the solves, and the memory of the run, in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "measured", "--points", str(points), "--store",
                   str(Path(folder) / "study.db")]  # fmt: skip
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found = json.loads(done.stdout.splitlines()[-1])
    each = {name: 1e3 * found[name] / points for name in ("questions_s", "run_s", "children_s")}
    return {
        "points": points,
        "questions, ms": each["questions_s"],
        "run, ms": each["run_s"],
        "workers, ms": each["children_s"],
        "peak MB of the run": found["peak_bytes"] / 1e6,
        "MB of the store": found["store_bytes"] / 1e6,
    }


def measured(points: int, store: Path) -> dict[str, Any]:
    """One study whose points do nothing; starting the workers is not counted."""
    workers = LocalWorkers(WORKERS)
    with configured():
        workers.client.wait_for_workers(WORKERS)
        workers.client.submit(nothing, [("k", {})]).result()
        begun = time.process_time()
        before = os.times()
        marks = list[float]()
        run_study(
            small_study(points), store,
            Run(solve=nothing, workers=workers,
                on_progress=lambda what, *_: marks.append(time.process_time())
                if what == "questions" else None),
        )  # fmt: skip
    after = os.times()
    return {
        "questions_s": marks[-1] - begun,
        "run_s": time.process_time() - marks[-1],
        "children_s": after.children_user + after.children_system
        - before.children_user - before.children_system,
        "peak_bytes": measuring.peak_bytes(),
        "store_bytes": store.stat().st_size,
    }  # fmt: skip


def scheduler_rows(tasks: int) -> list[dict[str, Any]]:
    """Tasks of no work through one scheduler, each of so many questions."""
    rows = []
    workers = LocalWorkers(WORKERS)
    with configured():
        client = workers.client
        client.wait_for_workers(WORKERS)
        client.submit(nothing, [("k", {})]).result()
        for batch in (1, 10, 100):
            count = max(tasks // batch, 10)
            questions = [("k" * 64, {"model": "gpt3-125m"})] * batch
            begun, cpu = time.perf_counter(), time.process_time()
            flying = [client.submit(nothing, questions, key=f"{batch}-{at}") for at in range(count)]
            client.gather(flying)
            seconds, spent = time.perf_counter() - begun, time.process_time() - cpu
            del flying
            rows.append({
                "questions in a task": batch,
                "tasks": count,
                "tasks a second": count / seconds,
                "client and scheduler, CPU ms a task": 1e3 * spent / count,
                "shortest task for 1,000 workers, s": 1000.0 * spent / count,
            })  # fmt: skip
        workers.close()
    return rows


def main() -> None:
    """Runs what is asked for and prints its table."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument(
        "what", nargs="?", default="kills",
        choices=("kills", "overhead", "scheduler", "run", "measured"),
    )  # fmt: skip
    parser.add_argument(
        "--points", default="1000", help="of the study; overhead: several, 100,1000"
    )
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--tasks", type=measuring.positive, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--idle", action="store_true", help="points wait in place of being solved")
    parser.add_argument("--store", type=Path)
    parser.add_argument("--solve", choices=tuple(SOLVES), default="real")
    options = parser.parse_args()
    sizes = [measuring.positive(size) for size in options.points.split(",")]
    options.points = sizes[0]
    if options.what == "run":
        run(options.points, options.store, options.solve)
        return
    if options.what == "measured":
        print(json.dumps(measured(options.points, options.store)))
        return
    if options.quick:
        options.points, options.kills, options.idle, options.tasks = 60, 1, True, 100
        sizes = [50]
    if options.what == "kills":
        table = kills_table(options)
    elif options.what == "overhead":
        rows = [overhead_row(size) for size in sizes]
        table = Table(title="What the machinery takes per point, beside the solve", rows=rows)
    else:
        table = Table(title="Tasks of no work", rows=scheduler_rows(options.tasks))
    measuring.show(Report(name="sweeping", tables=[table]), options)


if __name__ == "__main__":
    main()
