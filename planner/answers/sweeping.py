"""`planner.sweep`: very many questions at once, solved by Dask, kept in a store that can go on."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planner.answers.api import solve_request
from planner.base.apart import OverwriteError
from planner.base.errors import InputError
from planner.base.frozen import thawed
from planner.base.messages import one_line, shown
from planner.base.progress import NotedProgress
from planner.question.request import Request, request_from
from planner.search.sharing.session import Session
from planner.studies.sweep.answer import SweepResult
from planner.studies.sweep.kept import kept_of
from planner.studies.sweep.places import check_local, holding
from planner.studies.sweep.question.keys import Keys, answering_version
from planner.studies.sweep.question.study import Study, study_of
from planner.studies.sweep.reads import Reads
from planner.studies.sweep.running.run import Run, run_study
from planner.studies.sweep.running.workers import GivenWorkers, LocalWorkers
from planner.studies.sweep.store import FAILED, Solved, Store, json_text
from strict_yaml import contents


def sweep(
    axes: Mapping[str, Any] | None = None,
    *,
    together: Mapping[str, Any] | Sequence[Mapping[str, Any]] = (),
    points: Sequence[Mapping[str, Any]] = (),
    where: str | Sequence[str] = (),
    store: str | Path | None = None,
    client: Any = None,
    workers: int | None = None,
    refresh: bool = False,
    on_progress: NotedProgress | None = None,
    **fields: Any,
) -> SweepResult:
    """The best plan for each of very many questions; the result is read when it is looked at.

    Args:
        axes: Values by field, each crossed with each: `{"chips": [8, 16], "memory.bandwidth":
            ["1x", "2x"], "fix.pp": [1, 2]}`; a range is `{"from": 8, "to": 512, "factor": 2}`.
        together: Groups of fields that move together: `[{"seq_len": [4096, 8192], "batch_tokens":
            ["1Mi", "2Mi"]}]`.
        points: Fields of points, one by one; crossed with the axes.
        where: Conditions, e.g. `"batch_tokens / seq_len >= chips"`; other points are left out.
        store: Of the answers, e.g. `study.db`: a call that was ended goes on with it. None: a
            temporary one, which goes with the result.
        client: A `distributed.Client` of yours; None: processes of this machine.
        workers: How many of these; None: one per core.
        refresh: Whether answers of another version of the program are asked for again.
        on_progress: Called with (what, done, of, note).
        **fields: Fields that all questions have, as of `planner.solve`.

    Raises:
        InputError: A question cannot be asked as it is, or the store cannot be used.
        UnfinishedError: Workers are gone for good, or a file that is read changed meanwhile; what
            was solved is stored.
    """
    together = [together] if isinstance(together, Mapping) else together
    where = [where] if isinstance(where, str) else where
    axes = {} if axes is None else axes
    _check_kinds(axes, together, points, workers)
    study = study_of(fields, cross=axes, zipped=together, points=points, where=where)
    if client is not None and workers is not None:
        raise InputError("workers: the client has its own; leave one of the two out")
    if store is not None and not isinstance(store, str | Path):
        raise InputError(f"store: {shown(store)} is not the path of a file")
    run = Run(
        solve=solve_in_order,
        workers=LocalWorkers(workers) if client is None else GivenWorkers(client),
        refresh=refresh,
        on_progress=on_progress,
    )
    return swept(study, None if store is None else Path(store), run)


def _check_kinds(axes: Any, together: Any, points: Any, workers: Any) -> None:
    """Refuses arguments of another kind than meant.

    Raises:
        InputError: There is one.
    """
    groups = [("axes", axes), *(("together", one) for one in together)]
    for name, given in (*groups, *(("points", one) for one in points)):
        if not isinstance(given, Mapping):
            raise InputError(f"{name}: {shown(given)} is not fields with their values")
    if workers is not None and (isinstance(workers, bool) or not isinstance(workers, int)):
        raise InputError(f"workers: {shown(workers)}: must be a whole number")


def swept(study: Study, store: Path | None, run: Run) -> SweepResult:
    """A study that was run; arguments and errors as of `sweep`."""
    if store is not None:
        run_study(study, store, run)
        return SweepResult(store)
    folder = TemporaryDirectory(prefix="planner-sweep-")
    path = Path(folder.name) / "study.db"
    try:
        run_study(study, path, run)
    except BaseException:
        folder.cleanup()
        raise
    return SweepResult(path, kept=folder)


def solve_in_order(questions: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Solved]:
    """What a worker does with a batch: solves its questions in their order.

    Neighbours in a batch are neighbours in the study, mostly of one model on one cluster: they
    share a session, which stays in the thread for the next batch. No answer depends on it.

    Args:
        questions: Key and fields of each.
    """
    return [_noted(key, fields, _session()) for key, fields in questions]


class Answers:
    """What is kept of the answers to questions, asked one by one.

    Args:
        store: Where answers are looked for, and kept once they are solved here; None: nowhere.
    """

    def __init__(self, store: Store | None = None) -> None:
        self._store, self._keys = store, Keys()
        self._reads = Reads(self._keys.files)
        self.read = 0

    def __call__(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """`status`, `best`, `front` and the rest, as `planner.studies.sweep.kept` says.

        Args:
            fields: Of a question, as of `planner.solve`.

        Raises:
            InputError: It cannot be asked, or the store cannot be used.
            UnfinishedError: A file changed after the first question that it is part of.
        """
        request = request_from(fields)
        if self._store is None:
            return kept_of(solve_request(request, session=_session()))
        key = self._keys.key(request)
        known = self._store.result(key, answering_version())
        if known is not None and self._reads.changed(known.read):
            self._store.drop(key, answering_version())
        elif known is not None and known.status not in FAILED:
            self.read += 1
            return known.answer
        with contents.noting() as notes:
            found = _found(key, request, _session())
        self._store.add([self._reads.kept(found._replace(read=(*notes.items(),)))])
        return found.answer


@contextmanager
def answering(path: Path | None) -> Iterator[Answers]:
    """Answers that are looked for and kept in a store of `sweep`; the points of its study stay.

    Args:
        path: Of the store, made where it is missing; None: nothing is kept.

    Raises:
        InputError: The store cannot be used, or a run holds it.
    """
    if path is None:
        yield Answers()
        return
    check_local(path)
    with holding(path), Store(path, write=True, flag="store") as store:
        yield Answers(store)


_OF_THREAD = threading.local()


def _session() -> Session:
    """That of this thread: a session is not for several threads at once."""
    if not hasattr(_OF_THREAD, "session"):
        _OF_THREAD.session = Session()
    found: Session = _OF_THREAD.session
    return found


def _noted(key: str, fields: Mapping[str, Any], session: Session) -> Solved:
    """One question, with what was read for it."""
    with contents.noting() as notes:
        found = _solved(key, fields, session)
    return found._replace(read=(*notes.items(),))


def _solved(key: str, fields: Mapping[str, Any], session: Session) -> Solved:
    """One question; what goes wrong with it is its result."""
    started = time.process_time()
    try:
        found = _found(key, request_from(fields), session)
        json_text(found.answer)  # raises here, not where the results of all are kept
        return found
    except (InputError, OverwriteError) as error:
        status, reason = "refused", str(error)
    except (KeyboardInterrupt, SystemExit, MemoryError):  # alone it may have room
        raise
    except BaseException as error:  # a bug: the other points of the study are not to be lost by it
        status, reason = "failed", f"{type(error).__name__}: {error}"
    lines = "; ".join(map(one_line, reason.split("\n")))
    cpu_s, answer = time.process_time() - started, {"reason": lines}
    return Solved(key, answering_version(), status, answer, cpu_s, _where())


def _found(key: str, request: Request, session: Session) -> Solved:
    """What was found for one question.

    Raises:
        InputError: It cannot be asked.
    """
    started, wall = time.process_time(), time.perf_counter()
    result = solve_request(request, session=session)
    return Solved(
        key=key,
        version=answering_version(),
        status=result.status,
        answer=kept_of(result),
        cpu_s=time.process_time() - started,
        run={
            "seconds": time.perf_counter() - wall,
            **_where(),
            **thawed(result.candidates.counts),
        },
    )


def _where() -> dict[str, Any]:
    """The machine, and the process on it."""
    return {"host": socket.gethostname(), "process": os.getpid()}
