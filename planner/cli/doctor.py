"""`planner doctor`."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Annotated

import typer

from planner.cli.output import print_json

_PACKAGES = ("numpy", "ortools", "networkx", "pydantic", "typer", "rich", "PyYAML")
_OPTIONAL = ("plotly", "dask", "matplotlib")


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def doctor(
    *, as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False
) -> None:
    """Versions, databases, and a small job solved and checked on this machine.

    Example:
      planner doctor
    """
    from planner.api import solve, versions  # noqa: PLC0415  (numpy; not for --help)

    answer = solve(model="gpt3-125m", hardware="dgx-h100-ndr", chips=16, chips_exact=True)
    checks = {
        "solves a small job to proof": answer.status == "optimal" and answer.gap == 0.0,
        "parts of the step add up": answer.best is not None
        and abs(sum(answer.best.time_s.values()) / answer.best.step_time_s - 1) < 1e-9,
    }
    facts = {
        "python": platform.python_version(),
        **versions(),
        **{name: _installed(name) or "missing" for name in _PACKAGES},
        **{name: _installed(name) or "not installed (optional)" for name in _OPTIONAL},
    }
    if as_json:
        print_json({"versions": facts, "checks": checks, "ok": all(checks.values())})
    else:
        _print(facts, checks)
    if not all(checks.values()) or "missing" in facts.values():
        raise typer.Exit(1)


def _print(facts: dict[str, str], checks: dict[str, bool]) -> None:
    from rich.table import Table  # noqa: PLC0415  (only for people)

    from planner.report.terminal import console  # noqa: PLC0415

    table = Table(box=None, show_header=False, pad_edge=False)
    for name, value in facts.items():
        table.add_row(name, value)
    for name, ok in checks.items():
        table.add_row(name, "ok" if ok else "FAILED")
    console().print(table)
