"""Profiler traces: Kineto's JSON and Nsight Systems' SQLite, and how time is divided."""

import gzip
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from support.cases import each

from evidence.calibration.launched import KERNELS, trace_of
from planner.base.errors import InputError
from planner.evidence.calibration.logs import kineto, nsight
from planner.evidence.calibration.logs.kineto import read_kineto
from planner.evidence.calibration.logs.nsight import read_nsight
from planner.evidence.calibration.logs.trace import Spans, device_time, kind_of, kinds_of

KEPT = Path(__file__).parent / "kept" / "gloo-rank0_trace.json.gz"
"""One layer over gloo, one recorded step, as PyTorch 2.13.0 wrote it on a CPU (arguments cut)."""
PARTS = np.array([0.120, 0.030, 0.040, 0.015, 0.025])
SCHEMA = """
CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT NOT NULL, end INT NOT NULL,
  deviceId INT NOT NULL, contextId INT NOT NULL, streamId INT NOT NULL, correlationId INT,
  globalPid INT,
  demangledName INT NOT NULL, shortName INT NOT NULL);
"""
"""The columns that are read, and their neighbours, as the reference of exports lists them."""


@each(("name", "kind"), [
    (KERNELS[0], "gemm"), (KERNELS[1], "attention"), (KERNELS[2], "other"),
    (KERNELS[3], "communication"), ("ampere_bf16_s16816gemm_bf16_128x256", "gemm"),
    ("Cijk_Ailk_Bljk_BBS_BH_MT128x128x64", "gemm"), ("fmha_v2_flash_attention_bf16", "attention"),
    ("void cutlass::Kernel2<cutlass_80_tensorop>", "gemm"), ("triton_poi_fused_add_1", "other"),
    ("aten::addmm", "gemm"), ("aten::mm", "gemm"), ("aten::mul", "other"), ("aten::sum", "other"),
    ("gloo:all_reduce", "communication"), ("Memcpy DtoD (Device -> Device)", "other"),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", "attention"),
])  # fmt: skip
def test_kinds_of_kernels(name: str, kind: str) -> None:
    assert kind_of(name) == kind


def test_time_is_counted_once() -> None:
    spans = Spans(
        kinds=kinds_of(["gemm", "elementwise", "ncclKernel", "ncclKernel"]),
        start_s=np.array([0.0, 1.5, 1.0, 4.0]),
        end_s=np.array([2.0, 3.0, 4.0, 5.0]),
    )
    time = device_time(spans, "trace", steps=1, window_s=6.0)
    assert (time.gemm_s, time.other_s, time.attention_s) == (2.0, 1.0, 0.0)
    assert (time.communication_s, time.exposed_s, time.idle_s) == (4.0, 2.0, 1.0)
    assert time.step_s == 6.0
    assert device_time(spans, "trace", steps=5).idle_s == 0.0


def written(folder: Path, *, packed: bool = True) -> Path:
    """A trace of two steps on a GPU."""
    text = json.dumps(trace_of(PARTS)).encode()
    path = folder / "rank0_trace.json"
    path.write_bytes(gzip.compress(text) if packed else text)
    return path


@each("packed", [True, False])
def test_kineto(tmp_path: Path, packed: bool) -> None:
    time = read_kineto(written(tmp_path, packed=packed), steps=99)  # it says itself: 2
    found = (time.gemm_s + time.attention_s, time.attention_s, time.other_s, time.exposed_s)
    assert (*found, time.idle_s) == pytest.approx(PARTS)
    assert time.communication_s == pytest.approx(0.015 + 0.090 / 2)


Kernel = tuple[float, float, int]
ONCE = [(8.0, 9.0), (9.0, 10.0)]
LATE: list[Kernel] = [(8.0, 8.6, 0), (9.0, 9.6, 0)]


def trace_file(path: Path, kernels: Sequence[Kernel], marks: Sequence[tuple[float, float]]) -> Path:
    """A trace with multiplications from a second to another on a device, and marked steps."""
    events = [
        {"cat": "user_annotation", "name": f"ProfilerStep#{int(at)}", "ts": 1e6 * at,
         "dur": 1e6 * (end - at)} for at, end in marks
    ] + [
        {"cat": "kernel", "name": "gemm", "ts": 1e6 * at, "dur": 1e6 * (end - at),
         "args": {"device": device, "stream": 7}} for at, end, device in kernels
    ]  # fmt: skip
    path.write_text(json.dumps({"traceEvents": events}))
    return path


@each(("kernels", "marks", "gemm"), [
    (LATE, ONCE, 0.6),
    ([(float(n), n + 0.6, 0) for n in range(12)], ONCE, 0.6),  # before and behind the marks
    ([(7.0, 8.6, 0), (9.0, 13.0, 0)], ONCE, 0.8),
    ([*LATE, (8.5, 9.1, 1), (9.5, 10.1, 1)], ONCE, 0.575),  # the mean of two devices
    ([*LATE, (7.0, 7.5, 1)], ONCE, 0.6),
    (LATE, ONCE * 2, 0.6),  # by two threads
    (LATE, [(8.0, 9.0), (9.0, 10.0), (8.0, 8.9)], 0.6),
    ([(8.0, 8.6, 0), (9.0, 9.6, 0), (10.0, 10.6, 0)], [(8.0, 9.0), (10.0, 11.0)], 0.6),
])  # fmt: skip
def test_kernels_count_in_the_marked_steps_of_their_device(
    tmp_path: Path, kernels: list[Kernel], marks: list[tuple[float, float]], gemm: float
) -> None:
    time = read_kineto(trace_file(tmp_path / "trace.json", kernels, marks), steps=99)
    assert (time.gemm_s, time.idle_s) == pytest.approx((gemm, 1 - gemm))


def test_times_that_cannot_be_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    with pytest.raises(InputError, match="has no kernel in the steps that it marks"):
        read_kineto(trace_file(path, [(108.0, 109.0, 0)], ONCE), 1)
    spans = Spans(kinds=kinds_of(["gemm"]), start_s=np.zeros(1), end_s=np.ones(1))
    with pytest.raises(InputError, match=r"trace: kernels take 1 s, its 2 steps 0\.9 s"):
        device_time(spans, "trace", 2, window_s=0.9)
    monkeypatch.setattr(kineto, "MOST_DEVICES", 1)
    with pytest.raises(InputError, match="of more than 1 devices"):
        read_kineto(trace_file(path, [*LATE, (8.0, 9.0, 1)], ONCE), 1)


def test_kineto_of_a_cpu() -> None:
    time = read_kineto(KEPT, steps=99)
    assert time.gemm_s > time.attention_s > 0
    assert time.other_s > 0
    assert time.communication_s >= time.exposed_s > 0
    with gzip.open(KEPT) as file:
        events = json.load(file)["traceEvents"]
    (step,) = [one for one in events if one["name"].startswith("ProfilerStep#")]
    assert time.step_s == pytest.approx(step["dur"] * 1e-6, rel=0.02)


def sqlite_of(path: Path, devices: int = 2) -> Path:
    """A report of two devices, the second one slower by half."""
    base = sqlite3.connect(path)
    base.executescript(SCHEMA)
    base.executemany("INSERT INTO StringIds VALUES (?, ?)", enumerate(KERNELS))
    for device in range(devices):
        at, factor = 0, 1 + 0.5 * device
        for name, milliseconds in enumerate((90, 30, 40, 15)):
            end = at + int(milliseconds * factor * 1e6)
            row = (at, end, device, 1, 7, 1, 1, name, name)
            base.execute(f"INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ({'?,' * 8}?)", row)
            at = end + int(5e6 * factor)
    base.commit()
    base.close()
    return path


def test_nsight(tmp_path: Path) -> None:
    time = read_nsight(sqlite_of(tmp_path / "report.sqlite"), steps=1)
    found = (time.gemm_s, time.attention_s, time.other_s, time.exposed_s, time.idle_s)
    assert found == pytest.approx(tuple(1.25 * one for one in (0.09, 0.03, 0.04, 0.015, 0.015)))


def test_wrong_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text, empty = tmp_path / "text.sqlite", tmp_path / "empty.sqlite"
    text.write_text("no database " * 100, encoding="utf-8")
    sqlite3.connect(empty).close()
    none = sqlite_of(tmp_path / "none.sqlite", devices=0)
    for path, words in ((text, "is no SQLite file"), (empty, "is no report with kernels"),
                        (none, "has no kernel"), (tmp_path / "no", "cannot be read")):  # fmt: skip
        with pytest.raises(InputError, match=words):
            read_nsight(path, 1)
    monkeypatch.setattr("planner.evidence.calibration.logs.nsight.LARGEST_BYTES", 10)
    with pytest.raises(InputError, match="record fewer steps"):
        read_nsight(none, 1)


def test_reports_that_compute(tmp_path: Path) -> None:
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n)"
    kernels = f"{endless} SELECT 1 AS deviceId, 1 AS demangledName, i AS start, i AS end FROM n"
    cases = {
        f"CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS {kernels}": "'CUPTI_ACTIVITY_KIND_KERNEL'",
        f"CREATE VIEW beside AS {kernels}": "'beside' is no plain table",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT, end INT, deviceId INT, "
        "demangledName AS (start))": "has a computed column",
        "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INT)": "no such column",
    }  # fmt: skip
    for number, (statement, words) in enumerate(cases.items()):
        path = sqlite_of(tmp_path / f"{number}.sqlite")
        with sqlite3.connect(path) as base:
            if "CUPTI" in statement:
                base.execute("DROP TABLE CUPTI_ACTIVITY_KIND_KERNEL")
            base.execute(statement)
        base.close()
        with pytest.raises(InputError, match=words):
            read_nsight(path, 1)
    os.mkfifo(tmp_path / "pipe.sqlite")
    with pytest.raises(InputError, match="no regular file"):
        read_nsight(tmp_path / "pipe.sqlite", 1)


def test_pages_that_stand_for_many_rows(tmp_path: Path) -> None:
    path = sqlite_of(tmp_path / "report.sqlite", devices=100)
    base = sqlite3.connect(path)
    (size,) = base.execute("PRAGMA page_size").fetchone()
    (page,) = base.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'CUPTI_ACTIVITY_KIND_KERNEL'"
    ).fetchone()
    base.close()
    content = bytearray(path.read_bytes())
    at = (page - 1) * size
    first, second = (
        at + int.from_bytes(content[at + 12 + 2 * n : at + 14 + 2 * n], "big") for n in (0, 1)
    )
    assert content[at] == 5  # a page of a tree that has others below it
    content[second : second + 4] = content[first : first + 4]
    path.write_bytes(content)
    with pytest.raises(InputError, match="is damaged"):
        read_nsight(path, 1)


def test_reports_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = sqlite_of(tmp_path / "report.sqlite", devices=3)
    monkeypatch.setattr(nsight, "MOST_KERNELS", 12)
    whole = read_nsight(path, 1)
    monkeypatch.setattr(nsight, "MOST_KERNELS", 11)
    with pytest.raises(InputError, match=r"more than 11 kernels; --largest-file .* fewer steps"):
        read_nsight(path, 1)
    monkeypatch.setenv("PLANNER_LARGEST_FILE_BYTES", "1000")
    assert read_nsight(path, 1) == whole
    monkeypatch.setattr(nsight, "MOST_DEVICES", 3)
    assert read_nsight(path, 1) == whole
    monkeypatch.setattr(nsight, "MOST_DEVICES", 2)
    with pytest.raises(InputError, match="of more than 2 devices"):
        read_nsight(path, 1)
    monkeypatch.undo()
    with sqlite3.connect(path) as base:
        base.execute("UPDATE StringIds SET value = printf('%11000000d', id) WHERE id = 1")
    base.close()
    with pytest.raises(InputError, match="a text or row that is larger than 10 MiB"):
        read_nsight(path, 1)


def test_wrong_traces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path)
    whole = path.read_bytes()
    cases = {
        b"": "is no whole JSON",
        b"[1, 2": "is no whole JSON",
        b'{"a": 1}': "traceEvents is missing",
        b'{"traceEvents": []}': "has no kernel",
        **{
            b'[{"cat": "kernel", "name": "gemm", "ts": 1, "dur": %b}]' % length: "has no kernel"
            for length in (b"0", b"-5", b"NaN")
        },
        b'{"traceEvents": [{"ph": "X", "cat": "kernel", "name": "a", "ts": "now"}]}': "no kernel",
        whole[: len(whole) // 2]: "not a whole gzip file",
        gzip.decompress(whole)[:-50]: "is no whole JSON; was the run stopped early?",
    }
    for content, words in cases.items():
        path.write_bytes(content)
        with pytest.raises(InputError, match=words) as caught:
            read_kineto(path, 1)
        assert "\n" not in str(caught.value)
    path.write_bytes(whole)
    monkeypatch.setattr(kineto, "LARGEST_BYTES", len(whole) + 1)  # unpacked it is larger
    with pytest.raises(InputError, match="larger than"):
        read_kineto(path, 1)


def test_packed_traces_have_limits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(b'{"traceEvents": [' + b"{}," * 2**14 + b"{}]}"))
    with pytest.raises(InputError, match="more than 50 times as large as packed; --largest-file"):
        read_kineto(path, 1)
    monkeypatch.setattr(kineto, "MOST_TIMES", 10**6)
    with pytest.raises(
        InputError, match=r"more than [\d,]+ values in [\d,]+ bytes; --largest-file"
    ):
        read_kineto(path, 1)
    monkeypatch.setenv("PLANNER_LARGEST_FILE_BYTES", "1000")
    with pytest.raises(InputError, match="has no kernel"):
        read_kineto(path, 1)


def test_what_is_no_event_is_not_kept() -> None:
    inner = {"dur": 1, "ts": 1, "name": "a", "cat": "kernel"}
    data = {"traceEvents": [inner, {**inner, "args": inner}, {"a": [inner]}, [inner], 5], "b": {}}
    found = kineto._events(json.dumps(data).encode(), "trace")
    assert found == [("a", "kernel", 1, 1, -1)] * 2
