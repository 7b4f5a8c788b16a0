"""Reports of Nsight Systems as SQLite files, as `nsys export --type sqlite report.nsys-rep` writes.

    CUPTI_ACTIVITY_KIND_KERNEL    start, end (nanoseconds), deviceId, shortName, demangledName, ...
    StringIds                     id, value: the names

Tables are made only where a report has something for them.

Source: NVIDIA, Nsight Systems, SQLite Export Schema Reference, 2021.5 and later,
https://docs.nvidia.com/nsight-systems/ (the schema of exports).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from planner.base.errors import InputError
from planner.base.messages import one_line
from planner.evidence.calibration.logs.trace import DeviceTime, Spans, device_time, mean_time
from strict_yaml.limits import larger_than, largest

LARGEST_BYTES = 2**30
_TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
_QUERY = f"""
    SELECT k.deviceId, s.value, k.start, k.end FROM {_TABLE} AS k
    JOIN StringIds AS s ON s.id = k.demangledName
    WHERE typeof(k.deviceId) = 'integer' AND typeof(s.value) = 'text'
    AND typeof(k.start) = 'integer' AND typeof(k.end) = 'integer' ORDER BY k.deviceId
"""


def read_nsight(path: Path, steps: int) -> DeviceTime:
    """The time of a step, the mean over the devices of a report.

    Args:
        path: The SQLite file.
        steps: Recorded steps.

    Raises:
        InputError: It is no such file, is too large, or has no kernels.
    """
    label = one_line(str(path))
    rows = _rows(path, label)
    times = []
    for device in sorted({row[0] for row in rows}):
        mine = [row for row in rows if row[0] == device]
        ends = np.array([row[2:] for row in mine], dtype=float) * 1e-9
        spans = Spans(names=[row[1] for row in mine], start_s=ends[:, 0], end_s=ends[:, 1])
        times.append(device_time(spans, label, steps))
    return mean_time(times)


def _rows(path: Path, label: str) -> list[tuple[int, str, int, int]]:
    """Device, name, start and end of every kernel.

    Raises:
        InputError: The file does not tell.
    """
    import sqlite3  # noqa: PLC0415  (not in every build of Python)

    try:
        limit = largest(LARGEST_BYTES)
        if path.stat().st_size > limit:
            raise InputError(f"{label}: {larger_than(limit)}; or record fewer steps")
        connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{label}: cannot be read ({error})") from error
    try:
        rows = connection.execute(_QUERY).fetchall()
    except sqlite3.OperationalError as error:
        hint = "trace with nsys profile -t cuda,nvtx, and export with nsys export --type sqlite"
        raise InputError(f"{label}: is no report with kernels ({error}); {hint}") from error
    except sqlite3.DatabaseError as error:
        raise InputError(f"{label}: is no SQLite file ({error})") from error
    finally:
        connection.close()
    if not rows:
        raise InputError(f"{label}: has no kernel")
    return rows
