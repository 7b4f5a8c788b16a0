"""The trace files of a plan: one per rank, and the groups of ranks beside them.

    NAME.0.et, NAME.1.et, ...   a `GlobalMetadata`, then a `Node` after the other, each behind its
                                length as a varint
    comm_group.json             number of each group (`pg_name` of a node) to its ranks

Attributes of nodes are those that the feeder of mlcommons/chakra reads (src/feeder/
et_feeder_node.cpp, 21585d8f2d): `is_cpu_op`, `num_ops` and `tensor_size` of computing; `comm_type`,
`comm_size` and `pg_name` of collectives; `comm_src`, `comm_dst` and `comm_tag` of messages. All
that a node waits for is in `data_deps`, which that feeder reads alone. `comm_size` is what a rank
puts in, as ASTRA-sim takes it (astra-sim/system/astraccl, Ring.cc, 518bd513ae): a shard of an
all-gather, the whole of a reduce-scatter and of an all-reduce.

The seconds of computing are those of the cost model; times are whole microseconds, and what
rounding leaves is carried to the next node.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.version import __version__
from planner.cost.chakra.ranks import Ranks
from planner.cost.chakra.schema import messages
from planner.cost.chakra.stage import (
    COMPUTE,
    HOST,
    LOAD,
    RECEIVE,
    SEND,
    STORE,
    Node,
    Stage,
    expected_nodes,
    stage_nodes,
)
from planner.cost.chakra.state import state_work
from planner.cost.chakra.work import StageWork, stage_works
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluated
from planner.cost.intervals import is_prediction
from planner.cost.stages.layout import chunk_places, every_stage
from planner.cost.terms import send_bytes
from planner.cost.timeline import Timeline, timeline_of, why_not_simulated
from planner.cost.timeline.durations import chunk_layers
from planner.plan import Plan, PlanTable
from planner.schedules import schedule_of

MOST_NODES = 2_000_000
"""Of all files together: some 200 MB."""
_MORE = 1.02
"""What is counted before nodes are made leaves out those that are once per step."""
GROUPS_FILE = "comm_group.json"
_TYPES = {
    COMPUTE: "COMP_NODE", HOST: "COMP_NODE", LOAD: "MEM_LOAD_NODE", STORE: "MEM_STORE_NODE",
    SEND: "COMM_SEND_NODE", RECEIVE: "COMM_RECV_NODE",
}  # fmt: skip
_COLLECTIVES = {
    "all-gather": "ALL_GATHER", "reduce-scatter": "REDUCE_SCATTER", "all-reduce": "ALL_REDUCE",
    "all-to-all": "ALL_TO_ALL",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Traces:
    """The traces of a plan, made file by file.

    Attributes:
        plan, model: As given.
        ranks: All ranks.
        stages: The nodes of each stage.
        written: The ranks that have a file.
    """

    plan: Plan
    model: CostModel
    ranks: Ranks
    stages: tuple[tuple[Node, ...], ...] = field(repr=False)
    written: tuple[int, ...]

    @property
    def nodes(self) -> int:
        """Of all files."""
        return sum(len(self.stages[self.ranks.stage(rank)]) for rank in self.written)

    def files(self, name: str) -> Iterator[tuple[str, bytes]]:
        """Names and contents; the groups of the ranks come last.

        Args:
            name: What the names of traces begin with.
        """
        for rank in self.written:
            yield f"{name}.{rank}.et", self.content(rank)
        groups = {str(number): members for number, members in self.ranks.groups().items()}
        yield GROUPS_FILE, (json.dumps(groups) + "\n").encode()

    def content(self, rank: int) -> bytes:
        """The trace of a rank."""
        et = messages()
        stage = self.ranks.stage(rank)
        job = self.model.job
        about = {
            "planner": __version__,
            "model": job.model.name,
            "hardware": self.model.cluster.name,
            "rank": str(rank),
            "stage": str(stage),
        }
        head = et.GlobalMetadata(
            version="1.0.0",
            attr=[et.AttributeProto(name=key, string_val=text) for key, text in about.items()],
        )
        micros = _micros(self.stages[stage])
        parts = [_delimited(head)]
        for node, duration in zip(self.stages[stage], micros, strict=True):
            parts.append(_delimited(self._node(et, node, rank, stage, duration)))
        return b"".join(parts)

    def _node(self, et: Any, node: Node, rank: int, stage: int, duration: int) -> Any:
        """A node of a rank."""
        kind = _TYPES.get(node.kind, "COMM_COLL_NODE")
        found = et.Node(
            id=node.id,
            name=node.name,
            type=getattr(et, kind),
            data_deps=node.needs,
            duration_micros=duration,
        )

        def says(name: str, **value: Any) -> None:
            found.attr.append(et.AttributeProto(name=name, **value))

        says("is_cpu_op", bool_val=node.kind == HOST)
        if node.kind in (COMPUTE, HOST):
            says("num_ops", int64_val=round(node.flop))
        if node.kind in (COMPUTE, HOST, LOAD, STORE):
            says("tensor_size", uint64_val=round(node.size_bytes))
        elif node.kind in (SEND, RECEIVE):
            other = self.ranks.on_stage(rank, node.peer)
            ends = (rank, other) if node.kind == SEND else (other, rank)
            says("comm_size", int64_val=round(node.size_bytes))
            says("comm_src", int32_val=ends[0])
            says("comm_dst", int32_val=ends[1])
            says("comm_tag", int32_val=node.tag)
        else:
            members = self.ranks.members(rank, node.group)
            shares = len(members) if node.kind == "all-gather" else 1
            says("comm_type", int64_val=getattr(et, _COLLECTIVES[node.kind]))
            says("comm_size", int64_val=round(node.size_bytes / shares))
            says("pg_name", string_val=str(self.ranks.group_number(rank, node.group)))
        return found


def traces_of(
    model: CostModel, plan: Plan, *, every_rank: bool = False, most: int = MOST_NODES
) -> Traces:
    """The traces of a plan.

    Args:
        model: Its cost model.
        plan: A plan that breaks no rule of arithmetic.
        every_rank: Of all ranks; else of the first of each stage, to which the others are alike.
        most: Nodes of all files that may not be exceeded.

    Raises:
        InputError: The plan has no timeline, or runs as no trace says; there are too many nodes.
    """
    if problem := why_not_traced(model, plan):
        raise InputError(f"chakra: {problem}")
    ranks, timeline = Ranks.of(plan), timeline_of(model, plan)
    written = range(plan.chips) if every_rank else map(ranks.first_of_stage, range(plan.pp))
    stages = list(_stages(model, plan, timeline))
    files = plan.chips if every_rank else plan.pp
    expected = sum(expected_nodes(stage, timeline.micro_batches) for stage in stages)
    _check_few(files, expected * files // plan.pp, most, every_rank=every_rank)
    traces = Traces(
        plan=plan,
        model=model,
        ranks=ranks,
        stages=tuple(tuple(stage_nodes(stage, timeline)) for stage in stages),
        written=tuple(sorted(written)),
    )
    _check_few(files, traces.nodes, most, every_rank=every_rank)
    return traces


def _check_few(files: int, nodes: int, most: int, *, every_rank: bool) -> None:
    """Refuses more nodes than may be written.

    Raises:
        InputError: There are more.
    """
    if nodes > most:
        alone = "; ranks of a stage are alike: --ranks stages" if every_rank else ""
        raise InputError(
            f"chakra: {files:,} files have some {nodes:,} nodes; at most {most:,} are written "
            f"unless --max-nodes {math.ceil(nodes * _MORE)} lifts that{alone}"
        )


def why_not_traced(model: CostModel, plan: Plan) -> str:
    """Why a plan has no trace, in words; empty where it has one."""
    if not is_prediction(model.assumptions):
        return f"{model.assumptions.name} counts no layers one by one; use calibrated"
    if model.shapes.parts is not None:
        return (
            f"layers of {model.job.model.name} are made of other parts one by one, and are costed "
            "as their average"
        )
    if model.job.reference_passes:
        return "a pass of a reference model beside each of its own is not among the nodes"
    if model.job.images:
        return "a vision tower, which encodes its images, is not among the nodes"
    if schedule_of(plan.schedule).side_by_side:
        return (
            f"schedule {plan.schedule} runs two passes at once on each stage, which the nodes of a "
            "trace do not say"
        )
    return why_not_simulated(model, plan)


def _stages(model: CostModel, plan: Plan, timeline: Timeline) -> Iterator[Stage]:
    """What the nodes of each stage are made of."""
    table = PlanTable.from_plans([plan])
    x = evaluated(model, table, classes=every_stage(table, model.job.model))
    layers, places = chunk_layers(model, plan), chunk_places(plan)
    factor = float(x.step.factor[0, 0])
    tokens = table.micro_batch * model.job.seq_len / table.cp
    size = float(send_bytes(model, table.tp, tokens, table.sequence_parallel)[0])
    works: Sequence[StageWork] = stage_works(model, x, split=timeline.splits_backward)
    for index, work in enumerate(works):
        yield Stage(
            index=index,
            work=work,
            state=state_work(model, x, index, int(layers[index].sum())),
            layers=layers[index],
            places=places[index],
            chunks=places.size,
            sizes={name: int(net.flat().size[0]) for name, net in x.columns.nets.items()},
            message_bytes=size,
            host_s=factor * model.assumptions.micro_batch_s / (2 * plan.interleave),
            step_s=factor * model.assumptions.step_s,
        )


def _micros(nodes: Sequence[Node]) -> list[int]:
    """Whole microseconds of each node; their sum is that of the seconds."""
    ends = np.rint(1e6 * np.cumsum([node.seconds for node in nodes]))
    return [int(each) for each in np.diff(ends, prepend=0.0)]


def _delimited(message: Any) -> bytes:
    """A message behind its length as a varint."""
    content: bytes = message.SerializeToString(deterministic=True)
    length, head = len(content), bytearray()
    while length > 0x7F:
        head.append(length & 0x7F | 0x80)
        length >>= 7
    head.append(length)
    return bytes(head) + content
