"""Workers that are jobs of a batch system, or pods: what a file says of them, and their start."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from planner.base.errors import InputError
from planner.base.files import read_yaml_text
from planner.base.libraries import library
from planner.base.messages import Origin, one_line
from planner.base.mistakes import mistakes
from planner.studies.sweep.running.workers import CLOSE_S, CONNECT_S, Workers, imported


class ClusterFile(BaseModel):
    """The form of a file that names a cluster to start workers on."""

    model_config = ConfigDict(extra="forbid", strict=True, defer_build=True)

    kind: Literal["slurm", "pbs", "sge", "lsf", "kubernetes"] = Field(description="What runs jobs.")
    workers: int = Field(ge=1, le=100_000, description="How many to start.")
    options: dict[str, Any] = Field(
        default={},
        description="Of dask_jobqueue's cluster (queue, account, cores, memory, walltime, ...), or "
        "of dask_kubernetes' KubeCluster (name, image, namespace, resources, ...).",
    )


_CLUSTERS = {
    "slurm": ("dask_jobqueue", "SLURMCluster"),
    "pbs": ("dask_jobqueue", "PBSCluster"),
    "sge": ("dask_jobqueue", "SGECluster"),
    "lsf": ("dask_jobqueue", "LSFCluster"),
    "kubernetes": ("dask_kubernetes.operator", "KubeCluster"),
}


_AGAIN_S = 10.0
_PROGRAMS = {"slurm": "sbatch", "pbs": "qsub", "sge": "qsub", "lsf": "bsub"}


def read_cluster(path: Path) -> ClusterFile:
    """What a file says of a cluster.

    Raises:
        InputError: One line per mistake.
    """
    data, text = read_yaml_text(path)
    try:
        return ClusterFile.model_validate(data)
    except ValidationError as error:
        origin = Origin(file=str(path), content=text.content)
        lines = mistakes(error, origin.label, ClusterFile.model_fields)
        raise InputError("\n".join(lines)) from error


def _first(error: Exception) -> str:
    """The first sentence of what a library says, which says all again after it."""
    return one_line(str(error)).partition(". ")[0]


def _heard(kind: Any, hear: Callable[[str], None]) -> Any:
    """A kind of job of dask-jobqueue that says why it was refused, in place of an exception."""
    running = imported("distributed").Status.running

    async def start(self: Any) -> None:
        try:
            await kind.start(self)
        except Exception as error:  # raised, it would only be printed, with what called it
            hear(_reason(error))
            self.status = running
        else:
            hear("")

    return type(kind.__name__, (kind,), {"start": start})


def _reason(error: Exception) -> str:
    """What the program of a batch system wrote; of other mistakes, what they say."""
    said = str(error).partition("stderr:\n")[2] or str(error) or type(error).__name__
    return one_line("; ".join(line.strip() for line in said.strip().splitlines()))


def _taken(job: Any) -> bool:
    """Whether a batch system has a job."""
    return getattr(job, "job_id", None) is not None


class QueuedWorkers(Workers):
    """Workers that run as jobs of a batch system, or as pods.

    Args:
        form: What is started where.
        file: Where that was read, for messages.
    """

    patience_s = 86400.0  # jobs wait in their queue as long as they like
    renewed_after_s = 60.0

    def __init__(self, form: ClusterFile, file: str) -> None:
        super().__init__()
        self.form, self.file = form, file
        self._cluster: Any = None
        self._said, self._asked = "", time.monotonic()

    def cluster(self) -> Any:
        """The cluster of dask-jobqueue or dask-kubernetes.

        Raises:
            InputError: The package is not installed, or refuses the options.
        """
        if self._cluster is None:
            module, name = _CLUSTERS[self.form.kind]
            package = module.partition(".")[0].replace("_", "-")
            said = f"{self.form.kind} needs {package}: pip install {package}"
            found = library(module, f"cluster: {self.file}: {said}")
            make: Callable[..., Any] = getattr(found, name)
            try:
                self._cluster = make(**_options(self.form), **self._jobs(make))
            except (TypeError, ValueError) as error:
                raise InputError(f"cluster: {self.file}: options: {_first(error)}") from error
        return self._cluster

    def _connected(self) -> Any:
        distributed = imported("distributed")
        cluster, program = self.cluster(), _PROGRAMS.get(self.form.kind)
        if program is not None and shutil.which(program) is None:
            self.close()
            raise InputError(
                f"cluster: {self.file}: {program} is not here; run this where jobs are submitted"
            )
        cluster.scale(self.form.workers)
        return distributed.Client(cluster, timeout=CONNECT_S, set_as_default=False)

    def _jobs(self, make: Any) -> dict[str, Any]:
        """The kind of job of a batch system, with an ear for what it says when it takes none."""
        kind = getattr(make, "job_cls", None)
        return {} if kind is None else {"job_cls": _heard(kind, self._hear)}

    def _hear(self, said: str) -> None:
        self._said = said

    @property
    def refused(self) -> str:
        """What the batch system says; empty: a job of ours waits or runs, or none was refused."""
        jobs = {} if self._cluster is None else self._cluster.workers
        if not self._said or any(_taken(job) for job in list(jobs.values())):
            return ""
        return f"cluster: {self.file}: {_PROGRAMS[self.form.kind]} takes no job: {self._said}"

    def refill(self) -> None:
        """Asks for jobs in the place of those that have ended; those that wait count.

        Those that were refused are asked for again now and then.
        """
        with suppress(Exception):  # the batch system is asked again later
            if self._said and time.monotonic() - self._asked > _AGAIN_S:
                self._asked = time.monotonic()
                jobs = self._cluster.workers
                for name in [name for name, job in list(jobs.items()) if not _taken(job)]:
                    del jobs[name]
            self.cluster().scale(self.form.workers)

    def renew(self) -> bool:
        """Asks for the workers again; the scheduler and what it has stay."""
        self.refill()
        return False

    def close(self) -> None:
        """Ends the jobs."""
        super().close()
        cluster, self._cluster = self._cluster, None
        if cluster is not None:
            with suppress(Exception):  # the batch system ends what is left
                cluster.close(timeout=CLOSE_S)


def _options(form: ClusterFile) -> Mapping[str, Any]:
    """Options, with one thread for each process where a batch system is asked."""
    if form.kind == "kubernetes":
        return form.options
    cores = form.options.get("cores", 1)
    return {"cores": cores, "processes": cores, "memory": "4GB", **form.options}
