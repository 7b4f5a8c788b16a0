"""Where points are solved: processes of this machine, or the workers of a Dask scheduler."""

from __future__ import annotations

import logging
import os
import signal
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from typing import Any

from planner.base.counts import whole_within
from planner.base.errors import InputError, UnfinishedError
from planner.base.libraries import library
from planner.base.messages import one_line, shown
from planner.base.units import plural

PRELOADED = "planner.studies.sweep.running.warming"
CONNECT_S = 15.0
_ASK_S = 10.0
_MOST_PER_CORE = 16
CLOSE_S = 3.0
_NO_PAGE = {"dashboard": False, "dashboard_address": "127.0.0.1:0"}
_MISSING = "sweep: needs Dask: pip install 'parallelism-planner[sweep]'"
_SETTINGS = {
    "distributed.scheduler.allowed-failures": 3,
    "distributed.admin.low-level-log-length": 10,  # else 1,000 messages of each worker are kept
    "distributed.admin.tick.limit": "1h",  # a long solve holds the lock of Python
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.profile.enabled": False,
    "distributed.scheduler.work-stealing": False,
    "distributed.logging.distributed": "critical",  # of workers that start now
}

_LOGGERS = ("distributed", "distributed.client")
"""Those of Dask with a level of their own here."""


def imported(name: str) -> Any:
    """A module of Dask.

    Raises:
        InputError: It is not installed.
    """
    return library(name, _MISSING)


def processes(given: int | str | None) -> int:
    """How many processes of this machine are wanted, as typed; None: one per core.

    Raises:
        InputError: There would be none, or far more than cores.
    """
    cores = len(os.sched_getaffinity(0))
    if given is None:
        return cores
    most = _MOST_PER_CORE * cores
    return whole_within(given, "workers", 1, most, f" on {plural(cores, 'core')}")


class Workers(ABC):
    """The workers of one run.

    Attributes:
        patience_s: For how long there may be none before the run gives up.
        renewed_after_s: For how long there may be none before they are started anew, or looked
            for at a new connection.
        gone: What is said then.
    """

    patience_s = 300.0
    renewed_after_s = 10.0
    gone = "scheduler: it does not answer, or has no workers"

    def __init__(self) -> None:
        self._client: Any = None

    @property
    def client(self) -> Any:
        """The `distributed.Client` that is connected to them.

        Raises:
            UnfinishedError: No scheduler answers.
        """
        if self._client is None:
            self._client = self._connected()
        return self._client

    @abstractmethod
    def _connected(self) -> Any:
        """A new client."""

    @property
    def connected(self) -> bool:
        """Whether the scheduler is there, as far as the client knows."""
        return self._client is not None and self._client.status == "running"

    def threads(self) -> int:
        """Threads that all workers have together; 0: there are none, or the scheduler is silent."""
        try:
            scheduler = self.client.scheduler
            found = self.client.sync(scheduler.ncores, callback_timeout=_ASK_S)
        except Exception:  # whatever way a scheduler is gone: the caller watches how long
            return 0
        return sum(found.values())

    @property
    def refused(self) -> str:
        """What a batch system says that takes no job; empty: there is none, or it takes some."""
        return ""

    def refill(self) -> None:  # noqa: B027  (most have nothing to do)
        """Asks for workers that are missing, where they are ours."""

    def renew(self) -> bool:
        """Connects again; returns whether what was submitted before is lost by that."""
        with suppress(Exception):  # it is broken: what counts is that the next one works
            self._client.close(timeout=CLOSE_S)
        self._client = None
        with suppress(UnfinishedError):  # it is tried again
            self._client = self._connected()
        return True

    def close(self) -> None:
        """Lets the client go, and ends workers that are ours."""
        if self._client is not None:
            with suppress(Exception):  # at the end: nothing is lost any more
                self._client.close(timeout=CLOSE_S)
            self._client = None


class LocalWorkers(Workers):
    """A process per core of this machine, one thread each.

    Args:
        count: Processes; None: as many as there are cores to use.

    Raises:
        InputError: There would be none, or far more than cores.
    """

    patience_s = 60.0
    renewed_after_s = 15.0
    gone = "workers: all have ended, and new ones do not come to work"

    def __init__(self, count: int | None = None) -> None:
        super().__init__()
        self.count = processes(count)
        self._cluster: Any = None

    def _connected(self) -> Any:
        distributed = imported("distributed")
        if self._cluster is None:
            self._cluster = self._started(distributed)
        return distributed.Client(self._cluster, timeout=CONNECT_S, set_as_default=False)

    def _started(self, distributed: Any) -> Any:
        """A cluster whose workers begin to start; Ctrl-C is for this process, not for them."""
        logging.getLogger("asyncio").addFilter(_of_ours)
        with _interruptions_wait():
            cluster = distributed.LocalCluster(
                n_workers=0, threads_per_worker=1, processes=True, silence_logs=50,
                preload=[PRELOADED], scheduler_kwargs=_NO_PAGE,
            )  # fmt: skip
        cluster.scale(self.count)
        return cluster

    def refill(self) -> None:
        """Asks for the workers that are missing."""
        if self._cluster is not None:
            with suppress(Exception):  # a cluster that is broken is renewed instead
                self._cluster.scale(self.count)

    def renew(self) -> bool:
        """A new cluster in place of one whose workers are gone."""
        self.close()
        self._client = self._connected()
        return True

    def close(self) -> None:
        """Ends the processes at once: what they are at is not wanted any more."""
        super().close()
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            for process in _processes(cluster):
                with suppress(Exception):  # it has ended
                    process.kill()
            cluster.shutdown_on_close = False  # not once more at the end of the program
            with suppress(Exception):  # nothing runs there any more
                cluster.close(timeout=CLOSE_S)


def _of_ours(record: logging.LogRecord) -> bool:
    """Whether a line of the log is to be seen: not that workers ended by us did not start."""
    return "Nanny" not in record.getMessage()


@contextmanager
def _interruptions_wait() -> Iterator[None]:
    """Inside of it Ctrl-C waits, and threads that start there never hear it, nor do their children.

    So a worker that starts is not broken by it at any time, and whoever runs the study ends it.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # it would let interruptions in when it starts later
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _processes(cluster: Any) -> Iterator[Any]:
    """The processes of the workers of a local cluster."""
    for nanny in cluster.workers.values():
        process = getattr(getattr(nanny, "process", None), "process", None)
        inner = getattr(process, "_process", None)
        if inner is not None:
            yield inner


class ScheduledWorkers(Workers):
    """The workers of a scheduler that somebody runs.

    Args:
        address: Such as `tcp://10.0.0.1:8786`.
    """

    def __init__(self, address: str) -> None:
        super().__init__()
        self.address = address

    def _connected(self) -> Any:
        distributed = imported("distributed")
        try:
            return distributed.Client(self.address, timeout=CONNECT_S, set_as_default=False)
        except (OSError, TimeoutError) as error:
            raise UnfinishedError(
                f"scheduler: {one_line(self.address)}: no Dask scheduler answers there"
            ) from error
        except ValueError as error:
            raise InputError(f"scheduler: {one_line(self.address)}: {error}") from error


class GivenWorkers(Workers):
    """The workers of a client that a caller has: it stays open.

    Args:
        client: A `distributed.Client`.

    Raises:
        InputError: It is none, or none that can be waited for.
    """

    def __init__(self, client: Any) -> None:
        super().__init__()
        if not isinstance(client, imported("distributed").Client) or client.asynchronous:
            said = "is no distributed.Client that waits for results, as Client(address) gives it"
            raise InputError(f"client: {shown(client)}: {said}")
        self._client = client

    def _connected(self) -> Any:
        raise UnfinishedError("client: it is closed")

    def renew(self) -> bool:
        """The client connects again by itself, or never."""
        return False

    def close(self) -> None:
        """The client is its caller's."""


@contextmanager
def configured() -> Iterator[None]:
    """Inside of it Dask is set up for solves: long, of one thread, on workers that may die.

    It logs nothing: that connections are lost is seen, and told once it is for good.
    """
    dask = imported("dask")
    imported("distributed")  # its own settings are there before they are changed for a while
    loggers = [logging.getLogger(name) for name in _LOGGERS]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.CRITICAL)
    try:
        with dask.config.set(_SETTINGS):
            yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)
