"""The Pareto front as a file: CSV, JSON, SVG or a self-contained HTML page."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

from planner.errors import InputError
from planner.results import SolveResult
from planner.version import SCHEMA_VERSION


def front_csv(result: SolveResult) -> str:
    """One row per plan; nested fields have dotted names."""
    rows = [_flat(point.to_dict()) for point in result.front]
    names = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.DictWriter(text, fieldnames=names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def _flat(fields: dict[str, object], prefix: str = "") -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in fields.items():
        if isinstance(value, dict):
            flat |= _flat(value, f"{prefix}{name}.")
        elif isinstance(value, list):
            flat[prefix + name] = " ".join(map(str, value))
        else:
            flat[prefix + name] = value
    return flat


def front_json(result: SolveResult) -> str:
    """The job, the versions and the full plans."""
    fields = {
        "schema_version": SCHEMA_VERSION,
        "job": dict(result.job),
        "plan_job": dict(result.plan_job),
        "versions": dict(result.versions),
        "objectives": list(result.front_objectives),
        "complete": result.front_complete,
        "note": result.front_note,
        "front": [point.to_dict() for point in result.front],
    }
    return json.dumps(fields, indent=2, allow_nan=False) + "\n"


def writer_for(path: Path) -> Callable[[SolveResult], str]:
    """The writer that belongs to a file's ending.

    Raises:
        InputError: The ending is not one of .csv, .json, .svg, .html.
    """
    from planner.report.html import front_page  # noqa: PLC0415  (only for pictures)
    from planner.report.svg import front_svg  # noqa: PLC0415

    writers: dict[str, Callable[[SolveResult], str]] = {
        ".csv": front_csv,
        ".json": front_json,
        ".svg": front_svg,
        ".html": front_page,
    }
    if path.suffix.lower() not in writers:
        raise InputError(f"{path}: the front is written as {', '.join(writers)}")
    return writers[path.suffix.lower()]
