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
from typing import Any

import numpy as np

from planner.base.errors import InputError
from planner.base.files import read_unpacked
from planner.base.messages import one_line
from planner.base.units import printed_number
from planner.evidence.calibration.logs.trace import DeviceTime, Spans, device_time, kinds_of

LARGEST_BYTES = 256 * 2**20
"""Of the unpacked text, which takes several times as much memory as it is long."""
_GPU = ("kernel", "gpu_memcpy", "gpu_memset")
_US = 1e-6


def read_kineto(path: Path, steps: int) -> DeviceTime:
    """The time of a step of a trace.

    Args:
        path: `.json` or `.json.gz`.
        steps: Recorded steps, where the trace does not say.

    Raises:
        InputError: It is no such trace, is cut short or too large, or has no kernel.
    """
    label = one_line(str(path))
    events = _events(read_unpacked(path, LARGEST_BYTES), label)
    marks = [one for one in events if str(one.get("name", "")).startswith("ProfilerStep#")]
    marks = [one for one in marks if one.get("cat") == "user_annotation"]
    kernels = [one for one in events if one.get("cat") in _GPU]
    if not kernels:
        kernels = [one for one in events if one.get("cat") == "cpu_op" or _is_gloo(one)]
    times = np.array([(one["ts"], one["ts"] + one["dur"]) for one in kernels], dtype=float)
    times = times.reshape(-1, 2) * _US
    spans = Spans(
        kinds=kinds_of([str(one["name"]) for one in kernels]),
        start_s=times[:, 0],
        end_s=times[:, 1],
    )
    window = sum(float(one["dur"]) for one in marks) * _US if marks else None
    return device_time(spans, label, len(marks) or steps, window)


def _is_gloo(event: dict[str, Any]) -> bool:
    return event.get("cat") == "user_annotation" and str(event["name"]).startswith("gloo:")


def _events(content: bytes, label: str) -> list[dict[str, Any]]:
    """The events that have a duration.

    Raises:
        InputError: The text is no trace.
    """
    import json  # noqa: PLC0415  (beside the reader that refuses what traces may hold)

    try:
        data = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{label}: is no whole JSON; was the run stopped early?") from error
    events = data.get("traceEvents") if isinstance(data, dict) else data
    if not isinstance(events, list):
        raise InputError(f"{label}: is no trace of PyTorch's profiler: traceEvents is missing")
    return [one for one in events if isinstance(one, dict) and _is_whole(one)]


def _is_whole(event: dict[str, Any]) -> bool:
    """Whether an event has a name, a beginning and a duration that is not below zero."""
    numbers = (event.get("ts"), event.get("dur"))
    real = all(isinstance(one, int | float) and printed_number(one) is not None for one in numbers)
    return "name" in event and real and event["dur"] >= 0
