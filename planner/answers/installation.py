"""Whether this installation works, and what a report of a defect needs to say of it.

Versions, the machine, optional packages, databases, and a small job whose answer is held against
the one that is kept in `small_job.json` (`benchmarks/small_job.py` writes it).
"""

from __future__ import annotations

import functools
import json
import math
import os
import platform
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from frozen_records import dataclass
from planner.base.version import SCHEMA_VERSION

if TYPE_CHECKING:
    from planner.results.result import SolveResult

_PACKAGES = (
    "numpy", "ortools", "networkx", "scipy", "pydantic", "typer", "rich", "ruamel.yaml",
    "platformdirs", "jinja2",
)  # fmt: skip
EXTRAS = {
    "viz": ("resvg-py",),
    "dataframe": ("pandas",),
    "chakra": ("protobuf",),
    "sweep": ("dask", "distributed", "pyarrow"),
    "jobqueue": ("dask", "distributed", "pyarrow", "dask-jobqueue"),
}
"""What each extra for users installs."""
KEPT = Path(__file__).with_name("small_job.json")
_FIGURES = ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes", "mfu")
_SAME = 1e-9
_CGROUP = Path("/sys/fs/cgroup")
_SMALL_JOB: dict[str, Any] = {
    "model": "gpt3-125m",
    "hardware": "dgx-h100-ndr",
    "chips": 16,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What was found about an installation.

    Attributes:
        versions: Version by program, database and package; `missing` for one that is needed.
        environment: The system, its cores and its memory; None: not known here.
        extras: Versions of the packages of each extra; `missing` for those that are not there.
        checks: Whether it passed, by check.
        failures: What is wrong, one line each, with what to do where that is known.
    """

    versions: dict[str, str]
    environment: dict[str, str | int | None]
    extras: dict[str, dict[str, str]]
    checks: dict[str, bool]
    failures: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "schema_version": SCHEMA_VERSION,
            "versions": self.versions,
            "environment": self.environment,
            "extras": self.extras,
            "checks": self.checks,
            "failures": list(self.failures),
            "ok": not self.failures,
        }


def examine() -> Findings:
    """Runs every check; takes a second or two."""
    needed = {name: _installed(name) or "missing" for name in _PACKAGES}
    extras = {
        extra: {name: _installed(name) or "missing" for name in names}
        for extra, names in EXTRAS.items()
    }
    failures = [
        f"{name} is not installed: python -m pip install {name}"
        for name, found in needed.items()
        if found == "missing"
    ]
    checks = {"required packages are installed": not failures}
    for name, check in _CHECKS.items():
        failure = _failure(check)
        checks[name] = failure is None
        failures += [] if failure is None else [f"{name}: {failure}"]
    return Findings(
        versions={"python": platform.python_version(), **_versions(), **needed},
        environment=_environment(),
        extras=extras,
        checks=checks,
        failures=tuple(failures),
    )


def _environment() -> dict[str, str | int | None]:
    """The system, the cores that this process may use, and its memory in bytes."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "system": f"{platform.system()} {platform.release()}",
        "architecture": platform.machine(),
        "cores": usable,
        "memory_bytes": _memory("MemTotal", "SC_PHYS_PAGES"),
        "free_memory_bytes": _free_memory(),
    }


def _free_memory() -> int | None:
    """Bytes that a new program may take: of the machine, or what its container leaves."""
    left = []
    with suppress(OSError, ValueError):  # no container, or one without a limit ("max")
        most = int((_CGROUP / "memory.max").read_text())
        left.append(most - int((_CGROUP / "memory.current").read_text()))
    free = _memory("MemAvailable", "SC_AVPHYS_PAGES")
    return min([max(one, 0) for one in (*left, *([] if free is None else [free]))], default=None)


def _memory(name: str, pages: str) -> int | None:
    """Bytes of a line of Linux's list, elsewhere in pages as POSIX counts them."""
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split()[1]) * 1024
    with suppress(AttributeError, OSError, ValueError):
        return os.sysconf(pages) * os.sysconf("SC_PAGE_SIZE")
    return None


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _failure(check: Callable[[], str | None]) -> str | None:
    """What is wrong according to a check; one that cannot be run has failed as well."""
    try:
        return check()
    except Exception as error:  # a broken installation may raise anything
        return f"{type(error).__name__}: {error}"


def _versions() -> dict[str, str]:
    try:
        from planner.question.provenance import versions  # noqa: PLC0415  (numpy may be what is missing)
    except ImportError:
        return {}
    return versions()


def _databases() -> str | None:
    """Loads every record."""
    import hardware_db  # noqa: PLC0415  (may be what is broken, as below)
    import models_db  # noqa: PLC0415

    for name in hardware_db.list_chips():
        hardware_db.load_chip(name)
    for name in hardware_db.list_clusters():
        hardware_db.load_cluster(name)
    for name in models_db.list_models():
        models_db.load_model(name)
    return None


@functools.cache
def _solved() -> SolveResult:
    """The answer to the small job, which several checks look at."""
    from planner.answers.api import solve  # noqa: PLC0415  (what is checked may not import)

    return solve(**_SMALL_JOB)


def _proof() -> str | None:
    """Solves a small job and reads its plan again."""
    from planner.answers.api import evaluate  # noqa: PLC0415  (what is checked may not import)

    answer = _solved()
    if answer.best is None or answer.status != "optimal" or answer.gap != 0.0:
        return f"status {answer.status}, gap {answer.gap}"
    again = evaluate(answer.best.plan, **_SMALL_JOB).result
    if again != answer.best:
        return f"{answer.best.step_time_s} s, but {again.step_time_s} s when evaluated again"
    return None


def small_answer() -> dict[str, Any]:
    """What is kept of the answer to the small job: its plan, its figures, and the databases.

    Raises:
        ValueError: There is no plan.
    """
    from planner.question.files.plan_text import plan_fields  # noqa: PLC0415  (numpy)

    best = _solved().best
    if best is None:
        raise ValueError("the small job has no plan")
    return {
        "asked": _SMALL_JOB,
        "plan": plan_fields(best.plan),
        "figures": {name: getattr(best, name) for name in _FIGURES},
        "versions": _versions(),
    }


def _kept() -> str | None:
    """Holds the small job's answer against the one that is kept with this version."""
    kept, found = json.loads(KEPT.read_text(encoding="utf-8")), small_answer()
    lines = [
        f"{name} is {found['figures'][name]:.12g}, kept {value:.12g}"
        for name, value in kept["figures"].items()
        if not math.isclose(found["figures"][name], value, rel_tol=_SAME)
    ]
    if json.loads(json.dumps(found["plan"])) != kept["plan"]:
        lines.insert(0, "another plan is best")
    changed = [
        name for name in ("hardware_db", "models_db", "constants")
        if found["versions"].get(name) != kept["versions"].get(name)
    ]  # fmt: skip
    if lines and changed:
        lines.append(f"{' and '.join(changed)} differ from those of this version")
    return "; ".join(lines) or None


def _sums() -> str | None:
    """Compares a step with the sum of its parts."""
    best = _solved().best
    if best is None:
        return "no plan"
    parts = sum(best.time_s.values())
    if abs(parts / best.step_time_s - 1) > 1e-9:
        return f"parts of {parts} s in a step of {best.step_time_s} s"
    return None


_CHECKS: dict[str, Callable[[], str | None]] = {
    "every chip, cluster and model loads": _databases,
    "solves a small job to proof, and evaluates it to the same digits": _proof,
    "parts of the step add up": _sums,
    "the small job has the answer that is kept": _kept,
}
