"""Traces: what a reader of the Trace Event Format relies on."""

import gzip
import json
from collections import defaultdict
from functools import cache
from itertools import pairwise
from typing import Any

import numpy as np
from cost.cases import case_of
from support.cases import each

from planner.cost.timeline import Timeline, timeline_of
from planner.cost.timeline.trace import chrome_trace, trace_gzip, trace_text
from planner.plan import Plan

SCHEDULES = ["gpipe", "1f1b", "interleaved", "zero-bubble", "dualpipe"]


@cache
def timeline(schedule: str = "1f1b", batch: int = 24) -> Timeline:
    """Twelve layers on four stages."""
    job = case_of("llama3-8b", layers=12, batch=batch, seq_len=2048)
    v = 3 if schedule == "interleaved" else 1
    return timeline_of(job.model, Plan(pp=4, dp=2, schedule=schedule, interleave=v))


def events(document: dict[str, Any], phase: str) -> list[dict[str, Any]]:
    return [event for event in document["traceEvents"] if event["ph"] == phase]


def ns(microseconds: float) -> int:
    """Whole nanoseconds; anything finer would be lost by a reader."""
    found = round(microseconds * 1000)
    assert abs(found - microseconds * 1000) < 1e-3
    return found


@each("schedule", SCHEDULES)
def test_operations_are_sorted_and_do_not_overlap_on_a_thread(schedule: str) -> None:
    step = timeline(schedule)
    document = chrome_trace(step)
    timed = [event for event in document["traceEvents"] if event["ph"] != "M"]
    assert [event["ts"] for event in timed] == sorted(event["ts"] for event in timed)
    threads = defaultdict(list)
    for event in events(document, "X"):
        threads[event["tid"]].append((ns(event["ts"]), ns(event["ts"]) + ns(event["dur"])))
    assert sorted(threads) == [1, 2, 3, 4]
    for spans in threads.values():
        assert all(after[0] >= before[1] for before, after in pairwise(spans))
    assert sum(map(len, threads.values())) == len(step.stage)
    last = max(end for spans in threads.values() for _, end in spans)
    assert last == round(1e9 * step.makespan_s)
    assert document["otherData"]["simulated_step_time_s"] == step.makespan_s
    assert document["otherData"]["modelled_step_time_s"] == step.modelled_s


@each("schedule", SCHEDULES)
def test_messages_leave_within_an_operation_and_arrive_at_the_next(schedule: str) -> None:
    step = timeline(schedule)
    document = chrome_trace(step)
    leaving = {event["id"]: event for event in events(document, "s")}
    arriving = {event["id"]: event for event in events(document, "f")}
    assert leaving.keys() == arriving.keys()
    assert len(leaving) == int((step.needs >= 0).sum()) == len(events(document, "s"))
    operations = defaultdict(dict)
    for event in events(document, "X"):
        operations[event["tid"]][ns(event["ts"])] = event
    for at, leaves in leaving.items():
        arrives = arriving[at]
        assert leaves["name"] == arrives["name"]
        assert leaves["tid"] != arrives["tid"]
        assert leaves["ts"] <= arrives["ts"]
        assert arrives["bp"] == "e"
        target = operations[arrives["tid"]][ns(arrives["ts"])]
        sources = [
            one for start, one in operations[leaves["tid"]].items()
            if start <= ns(leaves["ts"]) < start + ns(one["dur"])
        ]  # fmt: skip
        assert len(sources) == 1
        assert sources[0]["args"]["micro_batch"] == target["args"]["micro_batch"]
        assert sources[0]["cat"] == target["cat"]
        assert (leaves["name"] == "activations") == (target["cat"] == "forward")


@each("schedule", SCHEDULES)
def test_memory_rises_and_falls_with_the_micro_batches_in_flight(schedule: str) -> None:
    step = timeline(schedule)
    tracks = defaultdict(list)
    for event in events(chrome_trace(step), "C"):
        tracks[event["name"]].append(event["args"]["bytes"])
    assert sorted(tracks) == [f"memory of stage {stage}" for stage in range(4)]
    for stage in range(4):
        held = tracks[f"memory of stage {stage}"]
        each = step.activation_bytes[stage].sum()
        full = step.fixed_bytes[stage] + step.in_flight[stage] * each
        assert max(held) == round(full)
        assert held[-1] == round(step.fixed_bytes[stage])
        steps = np.abs(np.diff(held)) / (each / step.interleave)
        assert np.allclose(steps, 1.0, atol=1e-6)


def test_names_of_threads_and_operations() -> None:
    document = chrome_trace(timeline("interleaved"), {"plan": {"schedule": "interleaved"}})
    named = {e["tid"]: e["args"]["name"] for e in events(document, "M") if "name" in e["args"]}
    assert named == {
        0: "pipeline of data rank 0 (interleaved, 12 micro-batches)",
        **{stage + 1: f"stage {stage} (3 layers)" for stage in range(4)},
    }
    first = next(event for event in events(document, "X") if event["tid"] == 1)
    assert (first["name"], first["cat"], first["ts"]) == ("F0.0", "forward", 0.0)
    assert first["args"].keys() == {"micro_batch", "chunk", "layers", "message_us"}
    assert first["args"]["layers"] == 1
    split = events(chrome_trace(timeline("zero-bubble")), "X")
    assert {event["cat"] for event in split} >= {"forward", "input-gradient", "weight-gradient"}
    assert document["otherData"]["plan"] == {"schedule": "interleaved"}


def test_a_long_step_is_shown_at_both_ends() -> None:
    step = timeline("1f1b", 480)
    document = chrome_trace(step, most=400)
    shown = events(document, "X")
    gaps = [event for event in shown if event["cat"] == "left-out"]
    assert [event["tid"] for event in gaps] == [1, 2, 3, 4]
    assert document["otherData"]["operations_left_out"] == len(step.stage) - 400
    assert len(shown) == 400 + 4
    assert sum(int(event["name"].split()[0]) for event in gaps) == len(step.stage) - 400
    assert {event["id"] for event in events(document, "s")} == {
        event["id"] for event in events(document, "f")
    }
    for stage in range(1, 5):
        spans = [(ns(e["ts"]), ns(e["ts"]) + ns(e["dur"])) for e in shown if e["tid"] == stage]
        assert all(after[0] >= before[1] for before, after in pairwise(spans))


def test_text_and_compressed_text_are_the_same_document() -> None:
    text = trace_text(timeline(), {"job": {"model": "llama3-8b"}})
    document = json.loads(text)
    assert document["otherData"]["job"] == {"model": "llama3-8b"}
    assert document == chrome_trace(timeline(), {"job": {"model": "llama3-8b"}})
    assert document["displayTimeUnit"] == "ms"
    assert gzip.decompress(trace_gzip(text)).decode() == text
    assert trace_gzip(text) == trace_gzip(text)
