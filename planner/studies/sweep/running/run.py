"""One run of a study: its points into the store, those without a result to the workers."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError, PlannerError, UnfinishedError
from planner.base.progress import NotedProgress
from planner.studies.sweep.places import check_local, holding
from planner.studies.sweep.question.keys import Keys, answering_version
from planner.studies.sweep.question.points import counted, points_of
from planner.studies.sweep.question.study import Study
from planner.studies.sweep.reads import Reads
from planner.studies.sweep.running.engine import Engine, Question, Solve
from planner.studies.sweep.running.workers import Workers, configured
from planner.studies.sweep.store import Counts, Solved, Store

_CHUNK = 1000
_SAMPLED = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """How a study is run.

    Attributes:
        solve: What a worker does with a batch.
        workers: Where.
        refresh: Whether points whose results are all stale are solved again.
        retry: Whether points whose result is no answer are solved again.
        on_progress: Told how far it is.
    """

    solve: Solve
    workers: Workers
    refresh: bool = False
    retry: bool = False
    on_progress: NotedProgress | None = None


def run_study(study: Study, path: Path, run: Run) -> Counts:
    """Solves what is to do of a study, and keeps it.

    Args:
        study: Its points replace those that the store has of another study; results stay.
        path: Of the store.
        run: How.

    Raises:
        InputError: A point cannot be asked, or the store cannot be used.
        UnfinishedError: The run stopped; what was solved is stored.
        KeyboardInterrupt: Somebody stopped it; what was solved is stored.
    """
    check_local(path)
    keys = Keys()
    digest = keys.of_study(study)  # what it reads is known before anything is written
    with holding(path):
        existed = path.exists()  # before that another run may have made it
        with Store(path, write=True, flag="output") as store:
            try:
                return _run(store, study, run, (keys, digest), new=not existed)
            except UnfinishedError as error:
                said = f"{error}; {_kept(store)}; the same command goes on"
                raise UnfinishedError(said) from error


def _run(store: Store, study: Study, run: Run, known: tuple[Keys, str], *, new: bool) -> Counts:
    """Fills and solves a store that this run holds; `known`: keys, and the digest of the study."""
    if not new:
        store.check()
    _fill(store, study, run.on_progress, known, new=new)
    if run.retry:
        store.drop_failed()
    reads = Reads(known[0].files)
    store.drop_read(reads.changed)
    counts = store.counts(answering_version())
    left = counts.points - counts.done + (counts.stale if run.refresh else 0)
    if left:
        _solve(store, run, left, reads)
    return store.counts(answering_version())


def _kept(store: Store) -> str:
    """What is stored when a run stops."""
    try:
        counts = store.counts(answering_version())
    except PlannerError:  # it is the store that cannot be used
        return "what was stored stays"
    if not counts.points:
        return "nothing is stored yet"
    return f"{counts.done:,} of {counts.points:,} points are stored"


def _fill(
    store: Store,
    study: Study,
    on_progress: NotedProgress | None,
    known: tuple[Keys, str],
    *,
    new: bool,
) -> None:
    """Writes the points of a study, where the store does not have just these.

    Args:
        store: What it has stays where a point cannot be asked.
        study: Of the points.
        on_progress: Told how far it is.
        known: Keys, and the digest of the study.
        new: Whether the store goes again where it gets no points.

    Raises:
        InputError: A point cannot be asked, or there is none.
    """
    keys, digest = known
    if store.noted("digest") == digest:
        return
    points = counted(points_of(study, on_progress), study)
    notes = {"digest": digest, "axes": json.dumps(study.names), "file": study.file}
    try:
        with store.new_points(**notes) as add:
            while chunk := list(islice(points, _CHUNK)):
                add(
                    (at.place, at.values, keys.key(at.request), at.family, json.dumps(at.asked))
                    for at in chunk
                )
    except (InputError, KeyboardInterrupt):
        if new:
            store.discard()
        raise


def _solve(store: Store, run: Run, left: int, reads: Reads) -> None:
    """Has everything solved that is left."""
    todo = store.to_do(answering_version(), refresh=run.refresh)
    with configured():
        engine = Engine(store, todo, left, run.solve, run.workers, reads, run.on_progress)
        try:
            engine.run()
        except (KeyboardInterrupt, UnfinishedError):
            engine.drain()
            raise
        finally:
            run.workers.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """What a run would take.

    Attributes:
        points: That no condition leaves out.
        left_out: By conditions.
        families: Pairs of a model and a cluster.
        solved: A few of them: values of the axes, what was found, CPU seconds.
    """

    points: int
    left_out: int
    families: int
    solved: tuple[tuple[Mapping[str, Any], Solved], ...]

    @property
    def cpu_s(self) -> float:
        """CPU seconds of all points, from those of the few."""
        spent = [found.cpu_s for _, found in self.solved]
        return self.points * sum(spent) / len(spent) if spent else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "points": self.points,
            "left_out": self.left_out,
            "families": self.families,
            "cpu_s": self.cpu_s,
            "solved": [
                {"axes": dict(values), "status": found.status, "answer": dict(found.answer),
                 "cpu_s": found.cpu_s}
                for values, found in self.solved
            ],
        }  # fmt: skip


def estimated(study: Study, solve: Solve, on_progress: NotedProgress | None = None) -> Estimate:
    """Counts the points of a study and solves a few of them here, from its start to its end.

    Args:
        study: The study.
        solve: As of `Run`.
        on_progress: Told how far it is.

    Raises:
        InputError: A point cannot be asked.
    """
    started = time.perf_counter()
    families, points = set[str](), 0
    for one in counted(points_of(study, on_progress), study):
        families.add(one.family)
        points += 1
    few = _spread(points)
    chosen = [one for at, one in enumerate(points_of(study)) if at in few]
    asked: Sequence[Question] = [("", one.asked) for one in chosen]
    solve(asked[:1])  # a worker loads what solves once; it is not to count
    found = []
    for at, (one, question) in enumerate(zip(chosen, asked, strict=True)):
        if on_progress is not None:
            note = f"{time.perf_counter() - started:.0f} s"
            on_progress("points", at, len(chosen), note)
        found.append((one.values, solve([question])[0]))
    return Estimate(
        points=points,
        left_out=study.combinations - points,
        families=len(families),
        solved=tuple(found),
    )


def _spread(points: int) -> set[int]:
    """A few places from the first to the last."""
    most = min(points, _SAMPLED)
    return {round(at * (points - 1) / max(most - 1, 1)) for at in range(most)}
