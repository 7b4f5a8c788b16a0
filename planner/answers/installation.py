"""Whether this installation works: versions, databases, and a small job solved and checked."""

from __future__ import annotations

import platform
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from frozen_records import dataclass
from planner.base.version import SCHEMA_VERSION

_PACKAGES = ("numpy", "ortools", "networkx", "pydantic", "typer", "rich", "ruamel.yaml")
_OPTIONAL = ("dask", "resvg-py")
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
        checks: Whether it passed, by check.
        failures: What is wrong, one line each, with what to do where that is known.
    """

    versions: dict[str, str]
    checks: dict[str, bool]
    failures: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "schema_version": SCHEMA_VERSION,
            "versions": self.versions,
            "checks": self.checks,
            "failures": list(self.failures),
            "ok": not self.failures,
        }


def examine() -> Findings:
    """Runs every check; takes a second or two."""
    needed = {name: _installed(name) or "missing" for name in _PACKAGES}
    others = {name: _installed(name) or "not installed (optional)" for name in _OPTIONAL}
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
    versions = {"python": platform.python_version(), **_versions(), **needed, **others}
    return Findings(versions=versions, checks=checks, failures=tuple(failures))


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


def _proof() -> str | None:
    """Solves a small job and reads its plan again."""
    from planner.answers.api import evaluate, solve  # noqa: PLC0415  (what is checked may not import)

    answer = solve(**_SMALL_JOB)
    if answer.best is None or answer.status != "optimal" or answer.gap != 0.0:
        return f"status {answer.status}, gap {answer.gap}"
    again = evaluate(answer.best.plan, **_SMALL_JOB).result
    if again != answer.best:
        return f"{answer.best.step_time_s} s, but {again.step_time_s} s when evaluated again"
    return None


def _sums() -> str | None:
    """Compares a step with the sum of its parts."""
    from planner.answers.api import solve  # noqa: PLC0415  (what is checked may not import)

    best = solve(**_SMALL_JOB).best
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
}
