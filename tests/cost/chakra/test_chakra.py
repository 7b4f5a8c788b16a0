"""Execution traces in Chakra's format, read back by the public schema and summed up."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from support.cases import each
from support.jobs import with_images

from planner.base.errors import InputError
from planner.cost.chakra.schema import file_of, messages, schema_text
from planner.cost.chakra.trace import GROUPS_FILE, Traces, _delimited, traces_of
from planner.cost.chakra.work import stage_works
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table, evaluated
from planner.cost.timeline import timeline_of
from planner.evidence.calibration.launches.short import of_launch
from planner.plan import Plan, PlanTable
from planner.question.request import request_from
from planner.question.resolved import resolve

ET = messages()
DENSE = {"model": "llama3-8b", "hardware": "h100-sxm5-80", "seq_len": 2048, "precision": "bf16"}
MOE = {**DENSE, "model": "mixtral-8x7b"}
COMPUTING = ("compute", "memory_bound", "host", "optimizer")
PLANS: dict[str, tuple[dict[str, Any], Plan]] = {
    "tp": (DENSE, Plan(dp=2, tp=4)),
    "no sequence parallelism": (DENSE, Plan(dp=2, tp=4, sequence_parallel=False, sharding="ddp")),
    "one chip": ({**DENSE, "model": "gpt3-1.3b"}, Plan(sharding="ddp", recompute="full")),
    "pipeline": (DENSE, Plan(dp=2, tp=2, pp=4, recompute="full", micro_batch=2)),
    "interleaved": (DENSE, Plan(dp=2, tp=2, pp=4, schedule="interleaved", interleave=2)),
    "shards": (DENSE, Plan(fsdp=8, dp=2, sharding="zero3", recompute="selective")),
    "rings": (DENSE, Plan(fsdp=4, cp=4, sharding="zero3", recompute="full")),
    "heads": (DENSE, Plan(dp=4, cp=4, cp_mode="all-to-all", sharding="zero2")),
    "weight gradients apart": (DENSE, Plan(dp=4, pp=4, schedule="zero-bubble")),
    "experts": (MOE, Plan(dp=8, ep=8, pp=2)),
    "adapters": (
        {**DENSE, "job": "dora", "lora_dropout": 0.1},
        Plan(fsdp=8, sharding="zero3", recompute="full", micro_batch=2),
    ),
}


def model_of(fields: dict[str, Any], plan: Plan) -> CostModel:
    sequences = plan.dp * plan.fsdp * plan.micro_batch * (4 if plan.pp > 1 else 2)
    tokens = sequences * fields["seq_len"]
    framework = {} if plan.cp_mode == "ring" else {"framework": "deepspeed"}
    asked = {**fields, **framework, "chips": plan.chips, "batch_tokens": tokens}
    return of_launch(resolve(request_from(asked), chips=plan.chips).cost, 8, sequences)


def read_back(content: bytes) -> list[Any]:
    """The nodes of a file, by the public schema; the metadata before them is checked."""
    found, at = [], 0
    while at < len(content):
        length = shift = 0
        while True:
            byte = content[at]
            at += 1
            length |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        kind = ET.Node if found else ET.GlobalMetadata
        found.append(kind.FromString(content[at : at + length]))
        at += length
    assert found[0].version == "1.0.0"
    return found[1:]


def said(node: Any, name: str) -> Any:
    (attribute,) = [one for one in node.attr if one.name == name]
    return getattr(attribute, attribute.WhichOneof("value"))


def has(node: Any, *kinds: str) -> bool:
    return node.type in [getattr(ET, kind) for kind in kinds]


def received(node: Any, groups: dict[str, list[int]]) -> float:
    """Bytes that arrive on a rank by a node."""
    if has(node, "COMM_RECV_NODE"):
        return float(said(node, "comm_size"))
    if not has(node, "COMM_COLL_NODE"):
        return 0.0
    members, size = len(groups[said(node, "pg_name")]), said(node, "comm_size")
    others = members - 1
    return float(
        {
            ET.ALL_GATHER: size * others,
            ET.REDUCE_SCATTER: size * others / members,
            ET.ALL_REDUCE: 2 * size * others / members,
            ET.ALL_TO_ALL: size * others / members,
        }[said(node, "comm_type")]
    )


def files_of(traces: Traces) -> tuple[dict[int, list[Any]], dict[str, list[int]]]:
    contents = dict(traces.files("job"))
    groups = json.loads(contents.pop(GROUPS_FILE))
    return {int(name.split(".")[1]): read_back(text) for name, text in contents.items()}, groups


@cache
def every_file(name: str) -> tuple[CostModel, Plan, dict[int, list[Any]], dict[str, list[int]]]:
    fields, plan = PLANS[name]
    model = model_of(fields, plan)
    return model, plan, *files_of(traces_of(model, plan, every_rank=True))


@each("name", PLANS)
def test_sums_are_those_of_the_cost_model(name: str) -> None:
    model, plan, nodes, groups = every_file(name)
    costs = evaluate_table(model, PlanTable.from_plans([plan]))
    assert sorted(nodes) == list(range(plan.chips))
    computing = [n for of_rank in nodes.values() for n in of_rank if has(n, "COMP_NODE")]
    flop = sum(said(n, "num_ops") for n in computing)
    assert flop == pytest.approx(float(costs.flop[0]), rel=1e-9)
    moved = sum(said(n, "tensor_size") for n in computing)
    assert moved == pytest.approx(float(costs.memory_traffic_bytes[0]), rel=1e-6)
    wire = sum(received(n, groups) for of_rank in nodes.values() for n in of_rank)
    over = sum(float(level[0]) for level in costs.wire_bytes.values())
    # Tokens of experts that go to one node twice cross the network once in the cost model.
    assert wire == pytest.approx(over, rel=1e-6) if name != "experts" else wire >= over
    seconds = max(1e-6 * sum(n.duration_micros for n in of_rank) for of_rank in nodes.values())
    own = sum(float(costs.time_parts[part][0]) for part in COMPUTING)
    assert seconds == pytest.approx(own, rel=0.02)


@each("name", PLANS)
def test_dependencies_are_those_of_the_schedule(name: str) -> None:
    model, plan, nodes, groups = every_file(name)
    messages_sent: dict[tuple[int, int, int], Counter[str]] = defaultdict(Counter)
    orders: dict[str, set[tuple[tuple[int, int], ...]]] = defaultdict(set)
    for rank, of_rank in nodes.items():
        assert [node.id for node in of_rank] == list(range(len(of_rank)))
        assert all(need < node.id for node in of_rank for need in node.data_deps)
        in_groups = defaultdict(list)
        for node in of_rank:
            if has(node, "COMM_SEND_NODE", "COMM_RECV_NODE"):
                ends = said(node, "comm_src"), said(node, "comm_dst")
                kind = "send" if has(node, "COMM_SEND_NODE") else "receive"
                assert ends[kind == "receive"] == rank
                messages_sent[*ends, said(node, "comm_tag")][kind] += 1
            elif has(node, "COMM_COLL_NODE"):
                assert rank in groups[said(node, "pg_name")]
                found = said(node, "comm_type"), said(node, "comm_size")
                in_groups[said(node, "pg_name")].append(found)
        for group, order in in_groups.items():
            orders[group].add(tuple(order))
    assert all(found == {"send": 1, "receive": 1} for found in messages_sent.values())
    # Ranks of a group run the same collectives in the same order: none waits for ever.
    assert all(len(order) == 1 for order in orders.values())
    alone = max(1e-6 * sum(n.duration_micros for n in of_rank) for of_rank in nodes.values())
    end_s, makespan_s = replayed(nodes), timeline_of(model, plan).makespan_s
    assert alone - 1e-5 <= end_s <= makespan_s + 1e-5
    assert plan.pp == 1 or end_s > 1.05 * alone  # the bubble


def replayed(nodes: dict[int, list[Any]]) -> float:
    """Seconds until all nodes ran where messages take no time; fails where some never can."""
    done: dict[tuple[int, int], float] = {}
    sent: dict[tuple[int, int, int], float] = {}
    at = dict.fromkeys(nodes, 0)
    while any(at[rank] < len(of_rank) for rank, of_rank in nodes.items()):
        before = dict(at)
        for rank, of_rank in nodes.items():
            while at[rank] < len(of_rank):
                node = of_rank[at[rank]]
                ready = max((done[rank, need] for need in node.data_deps), default=0.0)
                if has(node, "COMM_SEND_NODE", "COMM_RECV_NODE"):
                    key = said(node, "comm_src"), said(node, "comm_dst"), said(node, "comm_tag")
                    if has(node, "COMM_SEND_NODE"):
                        sent[key] = ready
                    elif key in sent:
                        ready = max(ready, sent[key])
                    else:
                        break
                done[rank, node.id] = ready + 1e-6 * node.duration_micros
                at[rank] += 1
        assert at != before, "nodes wait for one another"
    return max(done.values())


def test_each_pass_over_a_layer_is_that_of_the_cost_model() -> None:
    """Forward 2 FLOP a parameter and token, backward 4, in its share of the time."""
    fields, plan = PLANS["tp"]
    model = model_of(fields, plan)
    x = evaluated(model, PlanTable.from_plans([plan]))
    (work,) = stage_works(model, x, split=False)
    (layer,) = work.layers.values()
    ((_, _, times, _),) = x.kinds()
    share = float(times.forward[0, 0] / times.total[0, 0])
    seconds = layer.forward.seconds + layer.backward.seconds
    assert layer.forward.seconds == pytest.approx(share * seconds, rel=1e-9)
    assert layer.backward.linear == pytest.approx(2 * layer.forward.linear)
    scores = layer.forward.flop - layer.forward.linear
    assert layer.backward.flop - layer.backward.linear == pytest.approx(2.5 * scores)


def test_ranks_of_a_stage_are_alike() -> None:
    fields, plan = PLANS["pipeline"]
    model = model_of(fields, plan)
    few, every = (traces_of(model, plan, every_rank=which) for which in (False, True))
    # tp 2 x dp 2 ranks lie on each stage, innermost.
    assert few.written == (0, 4, 8, 12)
    assert few.content(4) == every.content(4)
    assert [every.ranks.stage(rank) for rank in range(0, 16, 4)] == [0, 1, 2, 3]
    nodes = [read_back(every.content(rank)) for rank in (4, 7)]
    assert [(n.name, n.duration_micros) for n in nodes[0]] == [
        (n.name, n.duration_micros) for n in nodes[1]
    ]


def test_what_moves_to_the_host_is_loaded_and_stored() -> None:
    plan = Plan(dp=8, sharding="zero1", offload=("optimizer", "weights"))
    model = model_of({**DENSE, "framework": "deepspeed"}, plan)
    nodes = read_back(traces_of(model, plan).content(0))
    sizes = {
        kind: sum(said(n, "tensor_size") for n in nodes if has(n, kind))
        for kind in ("MEM_LOAD_NODE", "MEM_STORE_NODE")
    }
    parameters = model.local_parameters(np.array([1]), np.array([1]))
    layers = 8 * float(np.ravel(parameters.dense_layer)[0])
    # Two passes of two micro-batches load each layer's weights, 16 bits; the optimizer its share.
    owned = float(model.job.model.total_parameters) / 8
    assert sizes["MEM_LOAD_NODE"] == pytest.approx(4 * 2 * layers + 2 * owned, rel=1e-3)
    wire = model.assumptions.gradient_wire_bytes
    assert sizes["MEM_STORE_NODE"] == pytest.approx(wire * owned, rel=1e-3)


def test_what_has_no_trace_is_refused() -> None:
    fields, plan = PLANS["pipeline"]
    model = model_of(fields, plan)
    with pytest.raises(InputError, match="at most 100 are written unless --max-nodes") as caught:
        traces_of(model, plan, every_rank=True, most=100)
    assert "--ranks stages" in str(caught.value)
    nodes = traces_of(model, plan).nodes
    traces_of(model, plan, most=nodes)
    with pytest.raises(InputError, match="--max-nodes") as caught:
        traces_of(model, plan, most=nodes // 2)
    words = str(caught.value)
    said = int(words[words.index("some ") + 5 :].split(maxsplit=1)[0].replace(",", ""))
    assert 0.95 * nodes <= said <= 1.05 * nodes  # counted before they are made
    both = Plan(dp=2, pp=4, schedule="dualpipe", interleave=2)
    with pytest.raises(InputError, match="runs two passes at once"):
        traces_of(model_of(DENSE, both), both)
    with pytest.raises(InputError, match="a vision tower, which encodes its images"):
        traces_of(with_images(model, 4), plan)
    bound = resolve(request_from({"model": "llama3-8b", "chips": 16, "assumptions": "roofline"}))
    with pytest.raises(InputError, match="roofline counts no layers"):
        traces_of(bound.cost, Plan(fsdp=16, sharding="zero3"))


@each("length", [0, 1, 127, 128, 129, 300, 16_383, 16_384, 70_000])
def test_messages_of_any_length_stand_behind_it(length: int) -> None:
    message = FileDescriptorSet()
    if length:
        message.file.add().name = "x" * max(length - 8, 0)
    content, at, found = message.SerializeToString(), 0, 0
    written = _delimited(message)
    while True:  # seven bits a byte, the lowest first; the last byte is below 128
        found |= (written[at] & 0x7F) << 7 * at
        at += 1
        if written[at - 1] < 0x80:
            break
    assert (found, written[at:]) == (len(content), content)


def test_the_schema_is_read_as_protoc_reads_it() -> None:
    """Kept: what protoc of grpcio-tools 1.85.1 makes of the published file."""
    kept = (Path(__file__).parent / "kept" / "et_def.binpb").read_bytes()
    (made,) = FileDescriptorSet.FromString(kept).file
    assert file_of(schema_text()) == made
    assert len(made.message_type) == 20
    for text in ("message A { map x = 1; }", "service S {}", "message A { int32 x 1; }"):
        with pytest.raises(ValueError, match=r"^et_def\.proto: "):
            file_of(text)
