"""Traces of PyTorch's profiler: Kineto's JSON in Chrome's trace format, packed by gzip or not.

    {"schemaVersion": 1, "traceEvents": [
        {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_...", "ts": 937.39, "dur": 17.2},
        {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", ...}, ...]}

Times are microseconds. Kernels, copies and fills of a GPU have the categories `kernel`,
`gpu_memcpy` and `gpu_memset`. A trace of a CPU has none; its operators (`cpu_op`), and the
collectives of gloo among the annotations, stand for them. An annotation per recorded step says how
many there are and how long they took.

Sources: pytorch/kineto libkineto/src/output_json.cpp and PyTorch 2.13.0 torch/profiler/profiler.py
(ProfilerStep); the CPU form as PyTorch 2.13.0 writes it.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from planner.base.errors import InputError
from planner.base.files import read_bytes
from planner.base.messages import one_line
from planner.base.packed import unpacked
from planner.evidence.calibration.logs.trace import DeviceTime, Spans, device_time, kinds_of
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
    """An event that has a duration."""

    name: str
    cat: str
    ts: float
    dur: float


def read_kineto(path: Path, steps: int) -> DeviceTime:
    """The time of a step of a trace.

    Args:
        path: `.json` or `.json.gz`.
        steps: Recorded steps, where the trace does not say.

    Raises:
        InputError: It is no such trace, is cut short or too large, or has no kernel.
    """
    label = one_line(str(path))
    events = _events(_text(path, label), label)
    marks = [one for one in events if one.name.startswith("ProfilerStep#")]
    marks = [one for one in marks if one.cat == "user_annotation"]
    kernels = [one for one in events if one.cat in _GPU]
    if not kernels:
        kernels = [one for one in events if one.cat == "cpu_op" or _is_gloo(one)]
    start_s = np.array([one.ts for one in kernels], dtype=np.float64) * _US
    end_s = start_s + np.array([one.dur for one in kernels], dtype=np.float64) * _US
    spans = Spans(kinds=kinds_of([one.name for one in kernels]), start_s=start_s, end_s=end_s)
    window = sum(float(one.dur) for one in marks) * _US if marks else None
    return device_time(spans, label, len(marks) or steps, window)


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


def _kept(found: dict[str, Any]) -> dict[str, Any] | _Event | None:
    """What is kept of an object while the text is read: the rest takes no memory."""
    if "traceEvents" in found:
        return found
    if "dur" in found and _is_whole(found):
        return _Event(str(found["name"]), str(found.get("cat")), found["ts"], found["dur"])
    return None


def _is_whole(event: dict[str, Any]) -> bool:
    """Whether an event has a name, a beginning and a duration that is not below zero."""
    if "ts" not in event or "name" not in event:
        return False
    begin, length = event["ts"], event["dur"]
    if type(begin) not in _NUMBERS or type(length) not in _NUMBERS:
        return False
    return bool(-_FINITE < begin < _FINITE and 0 <= length < _FINITE)
