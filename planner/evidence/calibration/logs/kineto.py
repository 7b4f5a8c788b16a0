"""Traces of PyTorch's profiler: Kineto's JSON in Chrome's trace format, packed by gzip or not.

    {"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_...", "ts": 937.39, "dur": 17.2,
         "args": {"device": 0, ...}},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", ...}, ...]}

Times are microseconds. Kernels, copies and fills of a GPU have the categories `kernel`,
`gpu_memcpy` and `gpu_memset`. A trace of a CPU has none; its operators (`cpu_op`), and the
collectives of gloo among the annotations, stand for them. An annotation per recorded step says how
many there are and how long they took; threads may repeat it. Kernels count while a step is marked,
since kernels before the first one are recorded too, and each device by itself.

Sources: pytorch/kineto libkineto/src/output_json.cpp and PyTorch 2.13.0 torch/profiler/profiler.py
(ProfilerStep); the CPU form as PyTorch 2.13.0 writes it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from planner.base.arrays import FloatArray
from planner.base.errors import InputError
from planner.base.files import read_bytes
from planner.base.messages import one_line
from planner.base.packed import unpacked
from planner.evidence.calibration.logs.trace import (
    MOST_DEVICES,
    DeviceTime,
    Spans,
    device_time,
    kinds_of,
    mean_time,
)
from strict_yaml.limits import HINT, raised

LARGEST_BYTES = 256 * 2**20
"""Of the unpacked text, which takes several times as much memory as it is long."""
MOST_TIMES = 50
"""How many times as large as packed a trace may be. Those whose sizes are published are 11 to 19
times (pull requests InternLM/lmdeploy 4747, pytorch/torchtitan 3483, xdit-project/xDiT 649)."""
MOST_VALUES = 4
"""Values for a packed byte, as commas and brackets are counted; one layer over gloo has 0.7."""
_FEW_VALUES = 1000
_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_US = 1e-6
_NUMBERS = (int, float)
_FINITE = 1e300  # us; what is above, infinite or no number is no time


class _Event(NamedTuple):
    """An event that has a duration; one that names no device is of device -1."""

    name: str
    cat: str
    ts: float
    dur: float
    device: int = -1


def read_kineto(path: Path, steps: int) -> DeviceTime:
    """The time of a step of a trace, the mean over the devices that it has kernels of.

    Args:
        path: `.json` or `.json.gz`.
        steps: Recorded steps, where the trace does not say.

    Raises:
        InputError: It is no such trace, is cut short or too large, or has no kernel in its steps.
    """
    label = one_line(str(path))
    events = _events(_text(path, label), label)
    marks = [one for one in events if one.name.startswith("ProfilerStep#")]
    marks = [one for one in marks if one.cat == "user_annotation"]
    kernels = [one for one in events if one.cat in _GPU]
    if not kernels:
        kernels = [one for one in events if one.cat == "cpu_op" or _is_gloo(one)]
    of_devices: dict[int, list[_Event]] = {}
    for one in kernels:
        of_devices.setdefault(one.device, []).append(one)
    if len(of_devices) > MOST_DEVICES:
        raise InputError(f"{label}: has kernels of more than {MOST_DEVICES:,} devices")
    found = [_spans(mine) for mine in of_devices.values()]
    if marks:
        return _marked_time(found, marks, label)
    return mean_time([device_time(one, label, steps) for one in found or [_spans([])]])


def _spans(kernels: Sequence[_Event]) -> Spans:
    start_s, end_s = _times(kernels)
    return Spans(kinds=kinds_of([one.name for one in kernels]), start_s=start_s, end_s=end_s)


def _times(events: Sequence[_Event]) -> tuple[FloatArray, FloatArray]:
    """(n,) seconds at which n events begin and end."""
    start_s = np.array([one.ts for one in events], dtype=np.float64) * _US
    return start_s, start_s + np.array([one.dur for one in events], dtype=np.float64) * _US


def _marked_time(found: Sequence[Spans], marks: Sequence[_Event], label: str) -> DeviceTime:
    """The time of a step of the kernels of some devices, as far as they run in a marked one.

    Raises:
        InputError: None does.
    """
    begin, end = map(np.sort, _times(marks))
    edges = np.unique(np.concatenate([begin, end]))
    open_ = np.searchsorted(begin, edges, "right") > np.searchsorted(end, edges, "right")
    marked = np.concatenate([[0.0], np.cumsum(np.diff(edges) * open_[:-1])])
    inside = [one.by_clock(edges, marked) for one in found]
    inside = [one for one in inside if (one.end_s > one.start_s).any()]
    if not inside:
        raise InputError(f"{label}: has no kernel in the steps that it marks")
    steps = len({one.name for one in marks})
    return mean_time([device_time(one, label, steps, float(marked[-1])) for one in inside])


def _is_gloo(event: _Event) -> bool:
    return event.cat == "user_annotation" and event.name.startswith("gloo:")


def _text(path: Path, label: str) -> bytes:
    """The unpacked trace.

    Raises:
        InputError: It is too large, or has more values than its size allows.
    """
    content = read_bytes(path, LARGEST_BYTES)
    text = unpacked(content, label, LARGEST_BYTES, MOST_TIMES)
    most = MOST_VALUES * len(content) + _FEW_VALUES
    if sum(map(text.count, (b",", b"[", b"{"))) > most and not raised():
        raise InputError(
            f"{label}: has more than {most:,} values in {len(content):,} bytes; {HINT}"
        )
    return text


def _events(content: bytes, label: str) -> list[_Event]:
    """The events that have a duration.

    Raises:
        InputError: The text is no trace.
    """
    import json  # noqa: PLC0415  (beside the reader that refuses what traces may hold)

    try:
        data = json.loads(content, object_hook=_kept)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{label}: is no whole JSON; was the run stopped early?") from error
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise InputError(f"{label}: is no trace of PyTorch's profiler: traceEvents is missing")
    return [one for one in events if isinstance(one, _Event)]


def _kept(found: dict[str, Any]) -> dict[str, Any] | _Event | int | None:
    """What is kept of an object while the text is read: the rest takes no memory.

    Of arguments of an event it is the device.
    """
    if "traceEvents" in found:
        return found
    if "dur" in found and _is_whole(found):
        device = found.get("args")
        named = (device,) if type(device) is int else ()
        return _Event(str(found["name"]), str(found.get("cat")), found["ts"], found["dur"], *named)
    return found["device"] if type(found.get("device")) is int else None


def _is_whole(event: dict[str, Any]) -> bool:
    """Whether an event has a name, a beginning and a duration that is not below zero."""
    if "ts" not in event or "name" not in event:
        return False
    begin, length = event["ts"], event["dur"]
    if type(begin) not in _NUMBERS or type(length) not in _NUMBERS:
        return False
    return bool(-_FINITE < begin < _FINITE and 0 <= length < _FINITE)
