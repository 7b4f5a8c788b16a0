"""Fields that a question changes: each counts or is refused, and what is changed leaves the fit."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import planner
from hardware_db import load_chip, load_cluster, record_text
from planner.base.errors import InputError
from planner.cost.evaluate import evaluate_table
from planner.cost.intervals import situation
from planner.plan import Plan, PlanTable
from planner.question.changes.changes import fields_of
from planner.question.changes.leaves import Leaf
from planner.question.options import SpaceOptions
from planner.question.request import Request, request_from
from planner.question.resolved import Resolved, resolve
from planner.search.changes import effects
from planner.search.changes.effects import notes_of_changes

JOB: dict[str, Any] = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 16}
PLAN = Plan(dp=8, tp=2, micro_batch=1, sharding="zero1")
LEAVES = fields_of(JOB["model"], JOB["hardware"])[0]
OTHERS = {"switch": "true", "word": "x", "words": "x", "numbers": "0.5x"}
GIVEN = {"B": "64MiB", "B/s": "100GB/s", "FLOP/s": "1TFLOP/s"}
STRIDE = 13
"""Of the many constants that a job does not read, so many are passed over."""


def _value(leaf: Leaf) -> str:
    """Another value of a field."""
    if leaf.form != "number":
        return "false" if leaf.value is True else OTHERS[leaf.form]
    later = leaf.record == "assumptions"
    return "2x" if leaf.value or later else GIVEN.get(leaf.unit, f"2{leaf.unit}")


def _outcome(text: str) -> list[str]:
    """What is said of a change: nothing where it moves the plan, else why not."""
    try:
        resolved = resolve(request_from({**JOB, "set": [text]}))
        return notes_of_changes(resolved, PlanTable.from_plans([PLAN]), SpaceOptions(), 16)
    except InputError as error:
        return str(error).split("\n")


def test_every_path_counts_or_says_why_not() -> None:
    every = [leaf for leaf in LEAVES if leaf.record in ("chip", "cluster", "model")]
    absent = [leaf for leaf in every if leaf.value is None]
    mine = [leaf for leaf in every if leaf.value is not None] + absent[::4]
    constants = [leaf for leaf in LEAVES if leaf.record not in ("chip", "cluster", "model")]
    counted, refused = [], []
    for leaf in (*mine, *constants[::STRIDE]):
        text = f"{leaf.full_path}={_value(leaf)}"
        said = _outcome(text)
        assert all(line.startswith("set: ") for line in said), said
        (refused if said else counted).append(text)
    assert {"chip.memory.bandwidth=2x", "cluster.levels.leaf.bandwidth=2x", "model.layers=2x",
            "chip.power.wait=2x", "cluster.levels.nvlink.bandwidth=2x"} <= {*counted}  # fmt: skip
    assert {"chip.scale_up.bandwidth=2x", "cluster.levels.core.bandwidth=2x"} <= {*refused}
    assert min(len(counted), len(refused)) > 30


@each(
    "text, words",
    [
        ("memory.bandwith=2x", "did you mean 'memory.bandwidth'?"),
        ("scale_up.bandwidth=900GB/s", "use levels.nvlink.bandwidth"),
        ("levels.core.latency=1ms", "16 chips do not reach the level core"),
        ("pe.count=264", "--pes of planner solve changes the processing elements"),
        ("levels.leaf.energy=0.5x", "moves only the split of energy"),
        ("peak.fp8=2x", "the job computes in bf16"),
        ("memory.bandwidth=3GiBs", "is not B/s or a multiple"),
        ("on_chip.sram=2x", "give a value in B"),
        ("layers=1.01x", "is not a whole number; nearest: 12"),
        ("kv_heads=5", "5 does not divide the 12 heads"),
        ("memory.bandwidth=-1GB/s", "a positive number is required"),
        ("memory.bandwidth=900", "900 has no unit; did you mean 900GB/s? It is 3.35 TB/s now"),
        ("levels.leaf.bandwidth=400G", "400G has no unit; did you mean 400GB/s?"),
        ("l2=50", "did you mean 50MiB? It is 52.4 MB now"),
        ("power.tdp=800", "did you mean 800W? It is 700 W now"),
        ("levels.leaf.latency=2", "did you mean 2us?"),
        ("step_s=0.01", "0.01 has no unit; did you mean 0.01s?"),
        ("die.area=900", "900 has no unit; write it like 814mm2"),
        ("memory.bandwidth=-1x", "a positive number is required, not -3.35e+12"),
        ("memory=2x", "a group of fields; give one, e.g. memory.capacity or memory.bandwidth"),
        ("l2.capacity=2x", "did you mean 'l2'?"),
        ("pes=264", "is a field of the question, not of a record; planner solve takes --pes"),
        ("title=mine", "is a label"),
        ("assumptions.memory_efficiency=0.5", "did you mean 'calibration.memory_efficiency'?"),
        ("memory_efficiency=-1", "must be above 0 and at most 1"),
        ("memory_efficiency=50", "must be above 0 and at most 1"),
        ("calibration.jitter=-1", "must be above 0"),
        ("tp_overlap=1.5", "must be at most 1"),
        ("latencies=true", "it is true already"),
        ("assumptions.local_runs=3", "planner calibrate knows them"),
    ],
)
def test_what_is_said(text: str, words: str) -> None:
    (line,) = _outcome(text)
    assert line.startswith("set: ")
    assert words in line


@each(
    "texts, words",
    [
        (["l2=2x", "chip.on_chip.l2=4x"], "is the same field as l2; give one of them"),
        (["levels.nvlink.bandwidth=2x", "levels.nvlink.link_bandwidth=2x"],
         "the other changes say the same"),
        (["scale_up.bandwidth=2x", "memory.bandwidth=2x"], "the levels of"),
    ],
)  # fmt: skip
def test_changes_that_meet(texts: list[str], words: str) -> None:
    with pytest.raises(InputError) as refused:
        planner.solve(**JOB, set=texts)
    assert all(words in line for line in str(refused.value).split("\n"))


def test_a_change_that_cannot_be_asked_alone_is_refused_for_a_reason_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is said of what it would do without the others, as that is not known."""
    texts = ("levels.nvlink.bandwidth=2x", "levels.nvlink.link_bandwidth=2x", "memory.bandwidth=2x")
    resolved = resolve(request_from({**JOB, "set": texts}))

    def of_several(request: Request, chips: int) -> Resolved:
        if len(request.set) == 1:
            raise InputError("set: this change needs another")
        return resolve(request, chips=chips)

    monkeypatch.setattr(effects, "resolve", of_several)
    with pytest.raises(InputError) as refused:
        notes_of_changes(resolved, PlanTable.from_plans([PLAN]), SpaceOptions(), 16)
    lines = str(refused.value).split("\n")
    assert [line.split()[1] for line in lines] == list(texts[:2])
    assert not any("the other changes say the same" in line for line in lines)


def test_a_lower_rated_power_slows_what_a_higher_one_speeds_up() -> None:
    times, powers = [], []
    for watts in (400, 600, 700, 800):
        job = {**JOB, "model": "llama3-8b", "set": [f"power.tdp={watts}W"]}
        cost = resolve(request_from(job)).cost
        plan = PlanTable.from_plans([Plan(dp=16, micro_batch=1, sharding="zero3")])
        found = evaluate_table(cost, plan)
        times.append(found.step_time_s[0])
        powers.append(cost.chip.busy_w)
    assert times == sorted(times, reverse=True)
    assert powers == sorted(powers)
    assert len({*times}) == len({*powers}) == 4


def _figures(answer: Any) -> str:
    """An answer without the question, and without how long it took."""
    data = answer.to_dict()
    del data["question"], data["candidates"]["seconds"], data["digest"]
    return json.dumps(data)


def test_once_a_number_is_the_number() -> None:
    texts = ["memory.bandwidth=1x", "levels.leaf.bandwidth=1x", "layers=1x", "tp_overlap=1x",
             "memory_efficiency=1x", "l2=50MiB"]  # fmt: skip
    assert _figures(planner.solve(**JOB, set=texts)) == _figures(planner.solve(**JOB))


def test_powers_that_are_given_stay(tmp_path: Path) -> None:
    def chip(*texts: str, **fields: Any) -> Any:
        return resolve(request_from({**JOB, "set": texts, **fields})).cost.chip

    record, faster = chip(), chip("memory.bandwidth=2x")
    for same in ("power.tdp=1x", "power.tdp=700W"):
        assert chip(same) == record
        held = chip("memory.bandwidth=2x", same)
        assert faster.tdp_w > held.tdp_w == record.tdp_w
        assert held.busy_w == pytest.approx(record.busy_w)
    lower = chip("power.tdp=0.6x")
    assert lower.busy_w == pytest.approx(0.6 * record.busy_w)
    (said,) = _outcome("power.tdp=0.1x")
    assert "power.wait: 140 W is above power.busy" in said
    names = [value for name, value, _ in
             resolve(request_from({**JOB, "set": ["layers=24", "power.tdp=1x"]})).defaults
             if name == "set"]  # fmt: skip
    assert names == ["layers=24"]


def test_values_that_are_given_are_those_with_all_pes() -> None:
    def machine(*texts: str, **fields: Any) -> Any:
        return resolve(request_from({**JOB, "pes": 264, "set": texts, **fields})).cost.cluster

    record, wide = load_chip("h100-sxm5-80"), machine().chip
    assert wide.tdp_w > record.tdp_w
    for text in ("power.tdp=700W", "power.tdp=1x"):
        held = machine(text).chip
        assert held.tdp_w == record.tdp_w
        assert held.busy_w == pytest.approx(record.busy_w)
    assert record.tdp_w < machine("power.tdp=0.9x").chip.tdp_w < wide.tdp_w
    assert machine("peak.bf16=1PFLOP/s").chip.peak_flop_per_s["bf16"] == 1e15
    assert machine("peak.bf16=1PFLOP/s").chip.peak_flop_per_s["fp8"] == wide.peak_flop_per_s["fp8"]
    for size in ("50MiB", "10MiB"):
        assert machine(f"l2={size}").chip.l2_bytes == float(size[:2]) * 2**20
    more = {"scale": ("memory", "network")}
    given = machine("memory.bandwidth=3.35TB/s", "levels.leaf.bandwidth=50GB/s", **more)
    assert given.chip.memory_bandwidth_bytes_per_s == record.memory_bandwidth_bytes_per_s
    assert given.chip.memory_bytes == 2 * record.memory_bytes
    rates = {
        level.name: level.bandwidth_bytes_per_s for level in load_cluster(JOB["hardware"]).levels
    }
    times = {"nvlink": 1, "leaf": 1}
    assert {level.name: level.bandwidth_bytes_per_s for level in given.levels} == {
        name: times.get(name, 2) * rate for name, rate in rates.items()
    }
    idle = resolve(request_from({**JOB, "pes": 264, "set": ["memory.bandwidth=3.35TB/s"]}))
    assert idle.cost.cluster.chip == wide
    with pytest.raises(InputError, match="300 W is below half of the 1138 W"):
        machine("power.tdp=300W")


def test_local_powers_of_a_chip_of_ones_own_stay(tmp_path: Path) -> None:
    own, local = tmp_path / "own.yaml", tmp_path / "local.yaml"
    own.write_text(
        "like: h100-sxm5-80\nname: mine\nmemory: {bandwidth: {value: 6.7e+12, unit: B/s, "
        "kind: assumed, note: a wish}}\n"
    )
    fields = {**JOB, "hardware": str(own)}
    assert resolve(request_from(fields)).cost.chip.busy_w > 700
    local.write_text(
        "based_on: default\ndate: '2026-01-01'\nchips: [mine]\nconstants:\n"
        "  power: {busy_share_of_tdp: {value: 0.5, unit: '1', prior: 0.9, sigma: 0.03, n: 5}}\n"
    )
    chip = resolve(request_from({**fields, "calibration": str(local)})).cost.chip
    assert chip.busy_w == pytest.approx(350)


def test_the_answer_keeps_its_changes(tmp_path: Path) -> None:
    asked = {"memory.bandwidth": "2x", "levels.leaf.bandwidth": "0.5x"}
    texts = [f"{path}={value}" for path, value in asked.items()]
    answer = planner.solve(**JOB, set=asked)
    assert answer.to_dict()["question"]["asked"]["set"] == texts
    assert [value for name, value, _ in answer.notes.defaults if name == "set"] == texts
    assert answer.best is not None
    again = planner.evaluate(answer.best.plan, **JOB, set=asked)
    assert again.result.step_time_s == answer.best.step_time_s
    base = planner.evaluate(answer.best.plan, **JOB)
    assert base.result.step_time_s > again.result.step_time_s


def test_what_is_changed_leaves_the_fit(tmp_path: Path) -> None:
    def class_of(**fields: Any) -> str:
        cost = resolve(request_from({**JOB, **fields})).cost
        return situation(cost.job, cost.cluster).name

    measured, unmeasured = "dense.megatron-core", ", other_chips, unseen, unmeasured"
    chip = record_text("h100-sxm5-80")
    own, copied, named, wished = (tmp_path / f"{name}.yaml" for name in "abcd")
    own.write_text(chip.replace("value: 3.35e+12", "value: 3.36e+12"))
    copied.write_text(chip)
    named.write_text("like: h100-sxm5-80\nname: my-h100\n")
    wish = "{{value: {}, unit: {}, kind: assumed, note: a wish}}".format
    wished.write_text(
        f"name: mine\npeak: {{bf16: {wish('1.0e+15', 'FLOP/s')}}}\n"
        f"memory: {{capacity: {wish('9.6e+10', 'B')}, bandwidth: {wish('4.0e+12', 'B/s')}}}\n"
        f"power: {{tdp: {wish(700, 'W')}}}\ndefault_cluster: dgx-h100-ndr\n"
    )
    network = record_text("dgx-h100-ndr").replace("name: dgx-h100-ndr", "name: ours")
    smaller, slower = tmp_path / "smaller.yaml", tmp_path / "slower.yaml"
    smaller.write_text(re.sub(r"(max_chips:\s+value: )[0-9]+", r"\g<1>64", network))
    slower.write_text(network.replace("value: 5.0e+10", "value: 2.5e+10"))
    assert slower.read_text() != network != smaller.read_text()
    for fields in ({}, {"hardware": str(copied)}, {"hardware": str(named)},
                   {"hardware": str(smaller)}):  # fmt: skip
        assert class_of(**fields) == measured
    for fields in ({"set": ["l2=2x"]}, {"set": ["levels.leaf.latency=9us"]},
                   {"hardware": str(own)}, {"hardware": str(wished)}, {"hardware": str(slower)},
                   {"topology": "ring"}, {"degrade_link": "leaf:3=0.5"}):  # fmt: skip
        assert class_of(**fields) == measured + unmeasured
    for text in ("tp_overlap=0.5x", "calibration.gemm_efficiency.h100=0.9x"):
        by_hand = planner.solve(**JOB, set=[text])
        assert by_hand.notes.spread is not None
        assert by_hand.notes.spread.situation == f"{measured}, other_chips, unseen, by-hand"
        assert "not of these constants, which are changed by hand" in str(by_hand)
        assert by_hand.best is not None
        said = str(by_hand.best.export("megatron", allow_lossy=True))
        assert f"under {text} over calibrated" in said
    spread = planner.solve(**{**JOB, "hardware": str(own)}).notes.spread
    assert spread is not None
    assert not spread.is_measured
    reasons = {name: why for name, _, why in
               resolve(request_from({**JOB, "hardware": str(wished)})).defaults}  # fmt: skip
    assert "power.idle" in reasons["chip"]


def test_numbers_that_say_the_same_follow() -> None:
    faster = [{"name": "nvlink", "bandwidth": _node(9e11, "B/s")}]
    chip = {"name": "x", "clock": _node(2 * 1.83e9, "Hz")}
    changes = {"name": "y", "chip": chip, "levels": faster}
    before, after = load_cluster("h100-sxm5-80"), load_cluster("h100-sxm5-80", changes)
    assert after.levels[0].link_bandwidth_bytes_per_s == 2 * 2.5e10
    assert dict(after.chip.peak_flop_per_s) == {
        name: 2 * rate for name, rate in before.chip.peak_flop_per_s.items()
    }
    assert after.chip.base is not None
    assert dataclasses.replace(after.chip.base) == load_chip("h100-sxm5-80")
    assert after.levels[1:] == before.levels[1:]


def _node(value: float, unit: str) -> dict[str, Any]:
    return {"value": value, "unit": unit, "kind": "assumed", "note": "a wish"}


@each(
    "content, words",
    [
        ("like: h100-sxm5-8\nname: q\n", "line 1: like: unknown name 'h100-sxm5-8'; did you mean"),
        ("like: mine.yaml\nname: q\n", "line 1: like: 'mine.yaml' leads back to itself"),
        ("like: h100-sxm5-80\nname: q\nfoo: 1\n", "line 3: foo: unknown field"),
        ("like: h100-sxm5-80\npeak: {bf16: {value: 1, unit: FLOP/s, kind: assumed, note: n}}\n",
         "name: what differs from h100-sxm5-80 has a name of its own"),
        ("like: h100-sxm5-80\nname: q\nlevels: []\n", "line 1: like: 'h100-sxm5-80' is a chip"),
        ("like: dgx-h100-ndr\nname: q\nlevels:\n- name: leef\n",
         "line 4: levels[0].name: 'leef' is no level of the base; did you mean 'leaf'?"),
        ("name: q\npeak: {bf16: 1e15}\nmemory: {}\n",
         "line 2: peak.bf16: a mapping with value, unit and kind is required, not 100000"),
        ("like: 3\nname: q\n", "line 1: like: the name of a record or a file is required"),
    ],
)  # fmt: skip
def test_files_that_are_like_nothing(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(content)
    with pytest.raises(InputError) as caught:
        planner.solve(**{**JOB, "hardware": str(path)})
    assert f"{path}: {words}" in str(caught.value)
