"""Asks many questions in processes of their own; one that hangs or crashes stops no other."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import Any

from answering.asking import Outcome, ask
from answering.questions import Question


@dataclass(slots=True)
class _Worker:
    """A process with the question that it works on."""

    process: Any
    pipe: Any
    question: Question | None = None
    started: float = 0.0


def _serve(pipe: Any) -> None:
    """The loop of a worker: a question in, its outcomes and CPU seconds out."""
    while (question := pipe.recv()) is not None:
        before = time.process_time()
        outcomes = ask(question)
        pipe.send((outcomes, time.process_time() - before))


def _start() -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    theirs.close()
    return _Worker(process=process, pipe=ours)


def ask_all(
    questions: list[Question], jobs: int, limit_s: float
) -> Iterator[tuple[Question, list[Outcome], float]]:
    """Each question with its outcomes and CPU seconds, in the order in which they end.

    A question that takes longer than `limit_s` seconds of wall time, or whose process ends, has
    one outcome with the exit code -2 that says so.
    """
    waiting = list(reversed(questions))
    workers = [_start() for _ in range(min(jobs, len(questions)))]
    try:
        while waiting or any(worker.question for worker in workers):
            for worker in workers:
                if worker.question is None and waiting:
                    worker.question, worker.started = waiting.pop(), time.monotonic()
                    worker.pipe.send(worker.question)
            yield from _ended(workers, limit_s)
    finally:
        for worker in workers:
            _stop(worker)


def _ended(
    workers: list[_Worker], limit_s: float
) -> Iterator[tuple[Question, list[Outcome], float]]:
    """The questions that ended within a second, or ran out of time."""
    ready = connection.wait([worker.pipe for worker in workers if worker.question], timeout=1.0)
    for index, worker in enumerate(workers):
        question = worker.question
        if question is None:
            continue
        late = time.monotonic() - worker.started > limit_s
        if worker.pipe in ready:
            worker.question = None
            try:
                outcomes, seconds = worker.pipe.recv()
                yield question, outcomes, seconds
            except EOFError:
                workers[index] = _start()
                yield question, [_lost("the process ended")], 0.0
        elif late:
            _stop(worker)
            workers[index] = _start()
            yield question, [_lost(f"no answer within {limit_s:g} s")], limit_s


def _lost(why: str) -> Outcome:
    return Outcome(kind="", code=-2, document=None, text="", errors=(why,))


def _stop(worker: _Worker) -> None:
    worker.process.terminate()
    worker.process.join()
    worker.pipe.close()
