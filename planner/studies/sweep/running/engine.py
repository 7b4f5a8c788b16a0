"""Has the points of a study solved: a window of batches on workers that may die at any time.

Only a few batches per worker are with the scheduler at once. What comes back is written to the
store before it is let go, and a batch whose workers are lost goes back to the front of the queue.
A batch that workers keep dying on is kept for the end, where its points run one at a time, with
nothing beside them; one that workers still die on is stored as failed, with the reason.
"""

from __future__ import annotations

import math
import queue
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import Any, NamedTuple

from planner.base.errors import UnfinishedError
from planner.base.log import INFO, WARNING, log
from planner.base.messages import one_line
from planner.base.progress import NotedProgress
from planner.studies.sweep.question.keys import answering_version
from planner.studies.sweep.reads import Reads
from planner.studies.sweep.running.watchdog import Watchdog
from planner.studies.sweep.running.workers import Workers
from planner.studies.sweep.store import FAILED, Solved, Store

Question = tuple[str, Mapping[str, Any]]
"""A key and the fields of the question."""
Solve = Callable[[Sequence[Question]], list[Solved]]
"""Solves questions in their order; a mistake in one is its result."""

_WINDOW = 3  # batches with the scheduler per thread
_BATCH_S = 2.0  # CPU seconds of one
_THREADS_PER_BATCH_S = 250.0  # more threads, longer batches: a scheduler starts so many a second
_MOST_IN_BATCH = 500
_TICK_S = 1.0
_RESULT_S = 60.0
_COUNT_EVERY_S = 5.0
_TRIES = 3  # to fetch what a batch has found
_KILLED = "workers died on it again and again, alone too: out of memory, or a crash"
_LATEST = 0.3  # of the mean cost of a point: the share of the latest batch


class _Batch(NamedTuple):
    """Questions that one task solves.

    Attributes:
        questions: Key, family and fields.
        alone: Whether nothing else may run beside it.
        tries: How often what it found could not be fetched.
    """

    questions: tuple[tuple[str, str, Mapping[str, Any]], ...]
    alone: bool = False
    tries: int = 0


class Engine:
    """One run.

    Args:
        store: Where results go.
        todo: What is to be solved: key, family, fields; neighbours follow one another.
        of: How many there are.
        solve: What a worker calls.
        workers: Where.
        reads: What files held when their questions were asked.
        on_progress: Told after each result.
    """

    def __init__(
        self,
        store: Store,
        todo: Iterator[tuple[str, str, Mapping[str, Any]]],
        of: int,
        solve: Solve,
        workers: Workers,
        reads: Reads,
        on_progress: NotedProgress | None = None,
    ) -> None:
        self._store, self._todo, self._solve, self._workers = store, todo, solve, workers
        self._of, self._reads, self._on_progress = of, reads, on_progress
        self._ended: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._flying: dict[str, tuple[Any, _Batch]] = {}
        self._again: deque[_Batch] = deque()
        self._suspect: deque[_Batch] = deque()
        self._number = self.done = self.failed = self._threads = 0
        self._each_s: float | None = None
        self._started = self._counted = time.monotonic()
        self._todo_ended = False
        self._watchdog = Watchdog(workers)

    def run(self) -> None:
        """Solves all of them.

        Raises:
            UnfinishedError: Workers or the scheduler are gone for good, or the store cannot be
                written to; what was solved before is stored.
        """
        _ = self._workers.client  # who is not there at all is told at once, not waited for
        self._count_threads()
        self._tell()
        while True:
            self._refill()
            if not self._flying and self._todo_ended and not (self._again or self._suspect):
                return
            try:
                self._took(self._ended.get(timeout=_TICK_S))
            except queue.Empty:
                self._tell()
                self._watch()
            if time.monotonic() - self._counted > _COUNT_EVERY_S:
                self._count_threads()

    def drain(self) -> None:
        """After an interruption: stores what has come back, and gives up the rest."""
        while True:
            try:
                future = self._ended.get_nowait()
            except queue.Empty:
                break
            if future.status == "finished" and future.key in self._flying:
                with suppress(Exception):  # it is solved again when the run goes on
                    self._keep(future.result(timeout=_TICK_S), future)
        for future, _ in self._flying.values():
            with suppress(Exception):  # the scheduler is gone
                future.cancel()
        self._flying.clear()

    def _refill(self) -> None:
        """Gives the scheduler batches until the window is full."""
        alone = any(batch.alone for _, batch in self._flying.values())
        while (
            self._workers.connected
            and not alone
            and len(self._flying) < max(_WINDOW * self._threads, 2)
        ):
            batch = self._next()
            if batch is None:
                return
            self._submit(batch)
            alone = batch.alone

    def _next(self) -> _Batch | None:
        """The next batch; None: there is none now."""
        if self._again:
            return self._again.popleft()
        if not self._todo_ended and (batch := self._cut()):
            return batch
        if self._suspect and not self._flying:
            return self._suspect.popleft()
        return None

    def _cut(self) -> _Batch | None:
        """A batch of as many questions as take a worker a while; fewer near the end."""
        threads = max(self._threads, 1)
        whole_s = max(_BATCH_S, threads / _THREADS_PER_BATCH_S)
        wanted = math.ceil(whole_s / max(self._each_s or whole_s, 1e-4))
        left = self._of - self.done - sum(len(one.questions) for _, one in self._flying.values())
        size = max(1, min(wanted, _MOST_IN_BATCH, math.ceil(left / (2 * threads))))
        found = tuple(islice(self._todo, size))
        self._todo_ended = len(found) < size
        return _Batch(found) if found else None

    def _submit(self, batch: _Batch) -> None:
        self._number += 1
        questions = [(key, asked) for key, _, asked in batch.questions]
        name = f"planner-{self._number}-{batch.questions[0][0][:16]}-{id(self)}"
        future = self._workers.client.submit(self._solve, questions, key=name, pure=False)
        self._flying[name] = (future, batch)
        future.add_done_callback(self._ended.put)

    def _took(self, future: Any) -> None:
        """One future has ended, in whatever way."""
        if future.key not in self._flying:
            return
        if future.status == "finished":
            self._finished(future)
            return
        _, batch = self._flying.pop(future.key)
        if future.status != "error":  # lost with the scheduler or cancelled by it
            self._back(batch)
            return
        error = future.exception(timeout=_RESULT_S)
        if isinstance(error, ImportError):
            raise UnfinishedError(f"workers: cannot load the planner ({one_line(str(error))})")
        self._suspected(batch, error)

    def _back(self, batch: _Batch) -> None:
        """A batch that was lost, to be solved again."""
        if batch.alone:
            self._suspect.appendleft(batch)
        else:
            self._again.append(batch)

    def _finished(self, future: Any) -> None:
        """Stores what a batch has found, then lets it go."""
        try:
            results = future.result(timeout=_RESULT_S)
        except Exception as error:  # its worker died with the result, or the scheduler: once more
            _, batch = self._flying.pop(future.key)
            future.cancel()
            if batch.tries >= _TRIES:
                self._suspected(batch, error)
            else:
                self._back(batch._replace(tries=batch.tries + 1))
            return
        self._keep(results, future)

    def _keep(self, results: Sequence[Solved], future: Any) -> None:
        """Writes results.

        Raises:
            UnfinishedError: Another version of the program has found them, or files have changed.
        """
        ours, theirs = answering_version(), {one.version for one in results} or {""}
        if theirs != {ours}:
            raise UnfinishedError(
                f"workers: run planner {min(theirs - {ours})}, and this is {ours}; install it "
                "there too"
            )
        sound, why = self._reads.parted(results)
        self._store.add(sound)
        if why:
            raise UnfinishedError(why)
        log(__name__, INFO, "stored", results=len(results), cpu_s=sum(one.cpu_s for one in results))
        del self._flying[future.key]
        self._count(len(results), sum(one.status in FAILED for one in results))
        each_s = sum(one.cpu_s for one in results) / len(results)
        before = each_s if self._each_s is None else self._each_s
        self._each_s = before + _LATEST * (each_s - before)

    def _count(self, done: int, failed: int) -> None:
        self.done, self.failed = self.done + done, self.failed + failed
        self._watchdog.heard()
        self._tell()

    def _suspected(self, batch: _Batch, error: Any) -> None:
        """Workers died on a batch, or its task broke: apart at the end, then it counts."""
        log(
            __name__,
            WARNING,
            "lost",
            points=len(batch.questions),
            alone=batch.alone,
            why=str(error),
        )
        if not batch.alone:
            self._suspect.extend(_Batch((one,), alone=True) for one in batch.questions)
            return
        killed = type(error).__name__ == "KilledWorker"
        reason = _KILLED if killed else one_line(f"{type(error).__name__}: {error}")
        key = batch.questions[0][0]
        self._store.add([Solved(key, answering_version(), "failed", {"reason": reason}, 0.0, {})])
        self._count(1, 1)

    def _watch(self) -> None:
        """Nothing has come back for a moment: looks whether anybody is still at work.

        Raises:
            UnfinishedError: Nobody is, and starting anew did not help.
        """
        self._count_threads()
        if self._watchdog.renewed(self._threads):
            for _, batch in self._flying.values():
                self._back(batch)
            self._flying.clear()
            return
        for name in [name for name, (future, _) in self._flying.items() if future.status == "lost"]:
            self._back(self._flying.pop(name)[1])

    def _count_threads(self) -> None:
        self._threads, self._counted = self._workers.threads(), time.monotonic()

    def _tell(self) -> None:
        if self._on_progress is None:
            return
        passed = max(time.monotonic() - self._started, 1e-9)
        rate = self.done / passed
        left = "" if not self.done else f", {_time((self._of - self.done) / rate)} left"
        failed = f", {self.failed:,} failed" if self.failed else ""
        alone = "" if self._threads else ", no workers"
        note = f"{self.done:,} of {self._of:,}, {rate:.3g}/s{left}{failed}{alone}"
        self._on_progress("points", self.done, self._of, note)


def _time(seconds: float) -> str:
    """`3 min`: seconds for people who wait."""
    for size, unit in ((86400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"
