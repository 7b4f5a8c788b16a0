"""`planner sweep run`."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from planner.base.errors import InputError, UnfinishedError
from planner.cli.interruption import hear
from planner.cli.options import OUTPUT, AsJson, option
from planner.cli.output import print_json, standing_bar
from planner.report.printing import print_lines

if TYPE_CHECKING:
    from planner.studies.sweep.question.study import Study
    from planner.studies.sweep.rows import Age
    from planner.studies.sweep.running.workers import Workers

_WHERE = "Where it runs"


def run(
    study: Annotated[Path, typer.Argument(help="Study file (YAML); planner schema study.")],
    *,
    output: Annotated[
        Path | None,
        option("The store, e.g. study.db; a run that was ended goes on.", OUTPUT, "-o", "--output"),
    ] = None,
    dry_run: Annotated[
        bool,
        option(
            "Count the points, solve a few, estimate CPU hours; write nothing.", None, "--dry-run"
        ),
    ] = False,
    refresh: Annotated[
        bool, option("Solve points again whose answers are of another version.", None, "--refresh")
    ] = False,
    retry: Annotated[
        bool, option("Solve points again that failed or were refused.", None, "--retry")
    ] = False,
    workers: Annotated[
        str | None,
        option("Processes on this machine (default: one per core).", _WHERE, metavar="NUMBER"),
    ] = None,
    scheduler: Annotated[
        str | None,
        option(
            "Use the workers of a Dask scheduler, e.g. tcp://10.0.0.1:8786.",
            _WHERE,
            metavar="ADDRESS",
        ),
    ] = None,
    cluster: Annotated[
        Path | None,
        option(
            "Start workers as this file says: Slurm, PBS, SGE, LSF or Kubernetes.",
            _WHERE,
            metavar="FILE",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Solve every point of a study, and keep the answers in a store.

    Examples:
      planner sweep run study.yaml --dry-run

      planner sweep run study.yaml -o study.db

      planner sweep run study.yaml -o study.db --refresh --workers 4
    """  # fmt: skip
    from planner.studies.sweep.question.study import read_study  # noqa: PLC0415  (numpy; not for --help)

    where = _workers(workers, scheduler, cluster)
    asked = read_study(study)
    if dry_run:
        if output is not None:
            _check_store(output)
        _estimate(asked, as_json=as_json)
        return
    if output is None:
        raise InputError("output: is missing; name the store, e.g. -o study.db, or give --dry-run")
    _run(asked, output, where, refresh=refresh, retry=retry, as_json=as_json)


def _check_store(path: Path) -> None:
    """Refuses a store that a run would refuse before it begins; writes nothing.

    Raises:
        InputError: It is none, or cannot be there.
    """
    from planner.base.apart import updating  # noqa: PLC0415
    from planner.base.files import check_writable, is_file  # noqa: PLC0415  (not for --help)
    from planner.studies.sweep.places import check_local  # noqa: PLC0415
    from planner.studies.sweep.store import Store  # noqa: PLC0415

    check_local(path)
    if not is_file(path):
        check_writable(path)
        return
    updating(path, "store", "output")
    with Store(path):
        pass


def _workers(count: str | None, scheduler: str | None, cluster: Path | None) -> Workers:
    """Where points are solved.

    Raises:
        InputError: Two places are named, or a number that cannot be.
    """
    from planner.studies.sweep.running import queued  # noqa: PLC0415  (not for --help)
    from planner.studies.sweep.running import workers as kinds  # noqa: PLC0415

    given = {"workers": count, "scheduler": scheduler, "cluster": cluster}
    named = [name for name, value in given.items() if value is not None]
    if len(named) > 1:
        raise InputError(f"{named[1]}: says where it runs, as {named[0]} does; leave one out")
    if scheduler is not None:
        return kinds.ScheduledWorkers(scheduler)
    if cluster is not None:
        return queued.QueuedWorkers(queued.read_cluster(cluster), str(cluster))
    return kinds.LocalWorkers(kinds.processes(count))


def _estimate(asked: Study, *, as_json: bool) -> None:
    """Counts points and says what a run would take."""
    from planner.answers.sweeping import solve_in_order  # noqa: PLC0415  (numpy; not for --help)
    from planner.question.provenance import stamped  # noqa: PLC0415
    from planner.studies.sweep.running.run import estimated  # noqa: PLC0415

    with standing_bar(wanted=not as_json, verb="trying") as told:
        found = estimated(asked, solve_in_order, told)
    if as_json:
        print_json(stamped(found.to_dict()))
        return
    from planner.report.tables.sweep import estimate_view  # noqa: PLC0415
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(estimate_view(asked, found))


def _run(
    asked: Study, store: Path, where: Workers, *, refresh: bool, retry: bool, as_json: bool
) -> None:
    """Runs the study, then says how far it is."""
    from planner.answers.sweeping import solve_in_order  # noqa: PLC0415  (numpy; not for --help)
    from planner.studies.sweep.answer import SweepResult  # noqa: PLC0415
    from planner.studies.sweep.running.run import Run, run_study  # noqa: PLC0415

    try:
        with _ending_cleanly(), standing_bar(wanted=not as_json, verb="solving") as told:
            run_study(
                asked,
                store,
                Run(solve=solve_in_order, workers=where, refresh=refresh, retry=retry,
                    on_progress=told),
            )  # fmt: skip
    except KeyboardInterrupt as stopped:
        if (kept := _stored(store)) is None:
            raise
        raise UnfinishedError(f"interrupted: {kept}") from stopped
    show(SweepResult(store), as_json=as_json)


@contextmanager
def _ending_cleanly() -> Iterator[None]:
    """Inside of it what ends programs is as Ctrl-C: workers end too, and it says how far it came.

    That is SIGTERM of services, and SIGHUP of a terminal that is gone; who has one ignored
    (`nohup`) keeps that.
    """
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    taken = [number for number in numbers if before[number] not in (signal.SIG_IGN, None)]
    for number in taken:
        signal.signal(number, hear)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, before[number])


def _stored(store: Path) -> str | None:
    """How far a run came that was interrupted; None: nothing is stored yet."""
    from planner.studies.sweep.answer import SweepResult  # noqa: PLC0415  (not for --help)

    try:
        counts = SweepResult(store).counts
    except InputError:
        return None
    return f"{counts.done:,} of {counts.points:,} points are stored; the same command goes on"


def show(result: Any, *, as_json: bool) -> None:
    """Prints how far a study is."""
    if as_json:
        print_json(result.to_dict())
        return
    from planner.report.tables.sweep import status_view  # noqa: PLC0415  (rich)
    from planner.report.tables.tables import print_view  # noqa: PLC0415

    print_view(status_view(result))


def say_age(age: Age) -> None:
    """Says on standard error which of the points shown are of another version."""
    if age.words:
        print_lines(age.words, to=sys.stderr)
