"""A timeline in the Trace Event Format, which ui.perfetto.dev and chrome://tracing open.

One process is the pipeline of data rank 0, one thread a stage (numbered from 1: 0 means the idle
thread to some readers). Complete events ("X") are operations, flow events ("s" to "f") messages
between stages, counter events ("C") bytes per chip of a stage; metadata ("M") names them. Times
are whole nanoseconds written in microseconds, so that an operation that follows another does not
overlap it by rounding. Source: Trace Event Format (Google, 2016), JSON object format.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from planner.base.arrays import BoolArray, IntArray
from planner.cost.timeline.timeline import Timeline
from planner.schedules.orders import BACKWARD, FORWARD, KINDS, WEIGHT_GRAD

MOST_TRACED = 50_000
"""Operations beyond which a trace leaves out the middle of the step."""
_PROCESS = 1
_SHORT = ("F", "B", "W", "reduction", "optimizer", "overhead")


def trace_text(timeline: Timeline, about: Mapping[str, Any] | None = None) -> str:
    """A trace as JSON text; see `chrome_trace`."""
    document = chrome_trace(timeline, about)
    return json.dumps(document, allow_nan=False, separators=(",", ":")) + "\n"


def trace_gzip(text: str) -> bytes:
    """The same compressed, the same bytes for the same trace."""
    return gzip.compress(text.encode("utf-8"), mtime=0)


def chrome_trace(
    timeline: Timeline, about: Mapping[str, Any] | None = None, most: int = MOST_TRACED
) -> dict[str, Any]:
    """A trace as one JSON-ready object.

    Args:
        timeline: What is shown.
        about: Stands in `otherData` beside the figures of the step: the plan, versions.
        most: Operations beyond which only the first and the last of each stage are shown.
    """
    kept = _kept(timeline, most)
    begin_ns, end_ns = (
        np.rint(1e9 * seconds).astype(np.int64) for seconds in (timeline.start_s, timeline.end_s)
    )
    timed = [
        *_operations(timeline, kept, begin_ns, end_ns),
        *_gaps(timeline, kept, begin_ns, end_ns),
        *_messages(timeline, kept, begin_ns, end_ns),
        *_memory(timeline, kept, begin_ns, end_ns),
        *_clocks(timeline, kept, begin_ns),
    ]
    timed.sort(key=lambda event: event["ts"])
    left_out = int((~kept).sum())
    other = {
        **(about or {}),
        "simulated_step_time_s": timeline.makespan_s,
        "modelled_step_time_s": timeline.modelled_s,
        "idle_s": timeline.idle_s.tolist(),
        "operations_left_out": left_out,
    }
    return {
        "displayTimeUnit": "ms",
        "otherData": other,
        "traceEvents": [*_names(timeline), *timed],
    }


def _kept(timeline: Timeline, most: int) -> BoolArray:
    """(n,) the operations that are shown: all, or the first and the last of each stage."""
    if len(timeline.stage) <= most:
        return np.ones(len(timeline.stage), dtype=bool)
    half = max(most // timeline.stages // 2, 1)
    kept = np.zeros(len(timeline.stage), dtype=bool)
    for stage in range(timeline.stages):
        here = np.flatnonzero(timeline.of_stage(stage))
        kept[here[:half]] = kept[here[-half:]] = True
    return kept


def _names(timeline: Timeline) -> list[dict[str, Any]]:
    """Metadata: what the process and the threads are called, and their order."""

    def named(what: str, thread: int, **args: Any) -> dict[str, Any]:
        return {"name": what, "ph": "M", "pid": _PROCESS, "tid": thread, "args": args}

    words = f"pipeline of data rank 0 ({timeline.schedule}, {timeline.micro_batches} micro-batches)"
    events = [named("process_name", 0, name=words)]
    for stage in range(timeline.stages):
        layers = int(timeline.layers[stage].sum())
        events.append(named("thread_name", stage + 1, name=f"stage {stage} ({layers} layers)"))
        events.append(named("thread_sort_index", stage + 1, sort_index=stage))
    return events


def _at(nanoseconds: int) -> float:
    """Microseconds, exact to the nanosecond."""
    return nanoseconds / 1000


def _event(phase: str, name: str, stage: int, ns: int, **more: Any) -> dict[str, Any]:
    return {"name": name, "ph": phase, "pid": _PROCESS, "tid": stage + 1, "ts": _at(ns), **more}


def _operations(
    timeline: Timeline, kept: BoolArray, begin_ns: IntArray, end_ns: IntArray
) -> list[dict[str, Any]]:
    events = []
    for at in np.flatnonzero(kept).tolist():
        stage, kind = int(timeline.stage[at]), int(timeline.kind[at])
        number, chunk = int(timeline.micro_batch[at]), int(timeline.chunk[at])
        args: dict[str, Any] = {}
        if number >= 0:
            args = {
                "micro_batch": number,
                "chunk": chunk,
                "layers": int(timeline.layers[stage, chunk]),
            }
        if kind in (FORWARD, BACKWARD):
            args["message_us"] = round(1e6 * timeline.send_s, 3)
        look: dict[str, Any] = {}
        if timeline.clock is not None and not np.isnan(timeline.clock[at]):
            args["clock"] = float(timeline.clock[at])
            look["cname"] = _clock_colour(timeline, args["clock"])
        name = _SHORT[kind] + (f"{number}" if number >= 0 else "")
        name += f".{chunk}" if number >= 0 and timeline.interleave > 1 else ""
        events.append(
            _event(
                "X", name, stage, int(begin_ns[at]),
                dur=_at(int(end_ns[at] - begin_ns[at])), cat=_category(timeline, kind), args=args,
                **look,
            )
        )  # fmt: skip
    return events


_COLOURS = ("rail_response", "rail_load", "thread_state_running", "rail_idle", "rail_animation")
"""Colours of chrome://tracing from the lowest to the highest clock; Perfetto has the counters."""


def _clock_colour(timeline: Timeline, clock: float) -> str:
    """The colour of a clock among those of the step."""
    assert timeline.clock is not None
    low, high = np.nanmin(timeline.clock), np.nanmax(timeline.clock)
    share = (clock - low) / (high - low) if high > low else 1.0
    return _COLOURS[round(share * (len(_COLOURS) - 1))]


def _clocks(timeline: Timeline, kept: BoolArray, begin_ns: IntArray) -> list[dict[str, Any]]:
    """The clock of every stage, whenever it changes."""
    if timeline.clock is None:
        return []
    events = []
    for stage in range(timeline.stages):
        last = -1.0
        here = timeline.of_stage(stage) & kept & ~np.isnan(timeline.clock)
        for at in np.flatnonzero(here).tolist():
            if (clock := float(timeline.clock[at])) != last:
                name, args = f"clock of stage {stage}", {"clock": clock}
                events.append(_event("C", name, stage, int(begin_ns[at]), args=args))
                last = clock
    return events


def _category(timeline: Timeline, kind: int) -> str:
    split = kind == BACKWARD and timeline.splits_backward
    return "input-gradient" if split else KINDS[kind]


def _gaps(
    timeline: Timeline, kept: BoolArray, begin_ns: IntArray, end_ns: IntArray
) -> list[dict[str, Any]]:
    """One event per stage over the operations that are left out."""
    events = []
    for stage in range(timeline.stages):
        hidden = np.flatnonzero(timeline.of_stage(stage) & ~kept)
        if len(hidden):
            first, last = int(begin_ns[hidden[0]]), int(end_ns[hidden[-1]])
            words = f"{len(hidden)} operations left out"
            events.append(
                _event("X", words, stage, first, dur=_at(last - first), cat="left-out", args={})
            )
    return events


def _messages(
    timeline: Timeline, kept: BoolArray, begin_ns: IntArray, end_ns: IntArray
) -> list[dict[str, Any]]:
    """Flow events from where a message leaves, within its operation, to where it is used."""
    events = []
    send_ns = round(1e9 * timeline.send_s)
    for at in np.flatnonzero(kept & (timeline.needs >= 0)).tolist():
        source = int(timeline.needs[at])
        if not kept[source]:
            continue
        name = "activations" if timeline.kind[at] == FORWARD else "gradients"
        leaves = max(int(begin_ns[source]), int(end_ns[source]) - max(send_ns, 1))
        both = {"cat": "message", "id": at}
        events.append(_event("s", name, int(timeline.stage[source]), leaves, **both))
        arrives = int(begin_ns[at])
        events.append(_event("f", name, int(timeline.stage[at]), arrives, bp="e", **both))
    return events


def _memory(
    timeline: Timeline, kept: BoolArray, begin_ns: IntArray, end_ns: IntArray
) -> list[dict[str, Any]]:
    """Bytes per chip of every stage, whenever they change."""
    gives = timeline.kind == (WEIGHT_GRAD if timeline.splits_backward else BACKWARD)
    given = timeline.activation_bytes[timeline.stage, timeline.chunk] * gives
    after = timeline.held_bytes - given
    events = []
    for stage in range(timeline.stages):
        fixed, last = timeline.fixed_bytes[stage], -1
        for at in np.flatnonzero(timeline.of_stage(stage) & kept).tolist():
            for held, ns in ((timeline.held_bytes[at], begin_ns[at]), (after[at], end_ns[at])):
                if (size := round(float(fixed + held))) != last:
                    args = {"bytes": size}
                    name = f"memory of stage {stage}"
                    events.append(_event("C", name, stage, int(ns), args=args))
                    last = size
    return events
