"""Reports of Nsight Systems as SQLite files, as `nsys export --type sqlite report.nsys-rep` writes.

    CUPTI_ACTIVITY_KIND_KERNEL    start, end (nanoseconds), deviceId, shortName, demangledName, ...
    StringIds                     id, value: the names

Tables are made only where a report has something for them.

Source: NVIDIA, Nsight Systems, SQLite Export Schema Reference, 2021.5 and later,
https://docs.nvidia.com/nsight-systems/ (the schema of exports).
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from planner.base.apart import reading
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.base.files import LARGEST_FILE_BYTES, is_file
from planner.base.messages import one_line
from planner.base.sqlite_files import check_whole, guarded, heeding_signals, plain_tables
from planner.evidence.calibration.logs.trace import (
    MOST_DEVICES,
    DeviceTime,
    Spans,
    device_time,
    kinds_of,
    mean_time,
)
from strict_yaml.limits import HINT, larger_than, largest, raised

if TYPE_CHECKING:
    import sqlite3

LARGEST_BYTES = 2**30
MOST_KERNELS = 4_000_000
"""Of a report; 32 bytes of memory each, and several times that while those of a device are used."""
_KERNELS, _NAMES = "CUPTI_ACTIVITY_KIND_KERNEL", "StringIds"
_COLUMNS = ("deviceId", "demangledName", "start", "end")
_QUERY = f"""
    SELECT {", ".join(_COLUMNS)} FROM {_KERNELS}
    WHERE {" AND ".join(f"typeof({name}) = 'integer'" for name in _COLUMNS)} LIMIT ?
"""
_NAMED = f"SELECT id, value FROM {_NAMES} WHERE typeof(id) = 'integer' AND typeof(value) = 'text'"
_FEWER = "or record fewer steps"
_HINT = "trace with nsys profile -t cuda,nvtx, and export with nsys export --type sqlite"


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
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    first = np.flatnonzero(np.diff(rows[:, 0])) + 1
    if len(first) >= MOST_DEVICES:
        raise InputError(f"{label}: has kernels of more than {MOST_DEVICES:,} devices")
    times = []
    for mine in np.split(rows, first):
        at_s = mine[:, 2:].astype(np.float64) * 1e-9
        spans = Spans(kinds=mine[:, 1], start_s=at_s[:, 0], end_s=at_s[:, 1])
        times.append(device_time(spans, label, steps))
    return mean_time(times)


def _rows(path: Path, label: str) -> IntArray:
    """(n, 4) device, kind, start and end (ns) of every kernel with a name.

    Raises:
        InputError: The file does not tell, or has too much of them.
    """
    import sqlite3  # noqa: PLC0415  (not in every build of Python)

    reading(path)
    try:
        if not is_file(path):
            raise InputError(f"{label}: cannot be read (it is no regular file)")
        limit = largest(LARGEST_BYTES)
        if path.stat().st_size > limit:
            raise InputError(f"{label}: {larger_than(limit)}; {_FEWER}")
        database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    except (OSError, sqlite3.Error) as error:
        raise InputError(f"{label}: cannot be read ({error})") from error
    try:
        with heeding_signals(database):
            rows = _read(database, label)
    except sqlite3.OperationalError as error:
        raise InputError(f"{label}: is no report with kernels ({error}); {_HINT}") from error
    except sqlite3.DataError as error:
        most = larger_than(largest(LARGEST_FILE_BYTES))
        raise InputError(f"{label}: has a text or row that is {most}") from error
    except sqlite3.DatabaseError as error:
        raise InputError(f"{label}: is no SQLite file ({error})") from error
    finally:
        database.close()
    if not len(rows):
        raise InputError(f"{label}: has no kernel")
    return rows


def _read(database: sqlite3.Connection, label: str) -> IntArray:
    """What `_rows` gives.

    Raises:
        InputError: The file is damaged, has more than tables, or too many rows.
    """
    guarded(database)
    if missing := {_KERNELS, _NAMES} - plain_tables(database, label):
        lacks = f"no table {min(missing)}"
        raise InputError(f"{label}: is no report with kernels ({lacks}); {_HINT}")
    check_whole(database, label)
    kept = array("q")
    for row in database.execute(_QUERY, (-1 if raised() else MOST_KERNELS + 1,)):
        kept.extend(row)
    rows = np.frombuffer(kept, dtype=np.int64).reshape(-1, len(_COLUMNS))
    if len(rows) > MOST_KERNELS and not raised():
        raise InputError(f"{label}: has more than {MOST_KERNELS:,} kernels; {HINT}; {_FEWER}")
    different, place = np.unique(rows[:, 1], return_inverse=True)
    used = set(different.tolist())
    kinds = {key: int(kinds_of([name])[0]) for key, name in database.execute(_NAMED) if key in used}
    rows[:, 1] = np.array([kinds.get(key, -1) for key in different.tolist()], dtype=np.int64)[place]
    return rows[rows[:, 1] >= 0]
