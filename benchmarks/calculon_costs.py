"""Plans that calculon and planner both cost, and terms of either that can be switched.

`calculon_plans` says how plans are drawn and what is held fixed, and compares them.
"""

from __future__ import annotations

import copy
import logging
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import calculon_space
import measuring
import numpy as np
from calculon_space import SYSTEM, Checkout, Execution, as_plan
from jobs import BenchmarkJob

from planner.base.arrays import FloatArray
from planner.cost.breakdown import Breakdown, peak_flop_per_s
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.frameworks.rules import applicable
from planner.plan import Plan, PlanTable

NODE, GIB = 8, 2**30
"""Chips of a node, and bytes."""


def _job(model: str, chips: int, sequences: int) -> BenchmarkJob:
    return BenchmarkJob(model=model, hardware="dgx-a100-80-hdr", chips=chips, sequences=sequences,
                        seq_len=2048, framework="megatron", era="megatron-2022")  # fmt: skip


JOBS = {
    "megatron-22B": _job("megatron-22b", 64, 256),
    "gpt3-175B": _job("gpt3-175b", 512, 1536),
    "turing-530B": _job("mt-nlg-530b", 2240, 2240),
    "megatron-1T": _job("megatron-1t", 3072, 3072),
}
_SECONDS = {
    "layers": (("compute", "memory_bound", "host"), ("fw_time", "bw_time", "recompute_time")),
    "tensor parallel": (
        ("tensor_parallel", "context_parallel", "expert_parallel"),
        ("tp_comm_exposed_time", "recomm_exposed_time"),
    ),
    "pipeline transfer": (("pipeline_transfer",), ("pp_comm_exposed_time",)),
    "bubble": (("bubble",), ("bubble_time",)),
    "data parallel": (("data_parallel",), ("dp_comm_exposed_time",)),
    "optimizer, offload": (
        ("optimizer", "offload"),
        ("optim_step_time", "fw_offload_exposed_time", "bw_offload_exposed_time"),
    ),
}
"""Parts of a step to those of planner and of calculon that make them up."""
_BYTES = {
    "weights": ("weights",),
    "gradients": ("gradients",),
    "optimizer": ("optimizer",),
    "activations": ("activations", "logits"),
    "gradients of activations, buffers": ("buffers", "constant"),
}
"""Parts of memory to those of planner; of calculon see `their_bytes`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """Terms that are switched so that both count alike; off: as each has them.

    Attributes:
        every_nic: calculon's tensor parallelism across nodes uses the NICs of all chips of a node.
        bare: planner's model has no embedding and no head, as calculon's has none.
        gemm_rate: calculon's GEMMs run at the rate that planner gives them in the same plan, with
            their memory time behind them.
        ring_bytes: calculon's collectives send what a ring of n chips sends on every network, of
            each byte (n - 1) / n in a reduce-scatter or an all-gather and twice that in an
            all-reduce; its file has 1.5 times that for the former two on NVLink, and for all
            three one byte on InfiniBand.
        split_checkpoints: calculon's activations that full recomputation begins from are split
            where sequence parallelism splits them.
        whole_gradients: calculon's gradients are whole and of 4 bytes, as Megatron-LM sums them.
        passing_gradients: calculon keeps no gradient of an activation.
    """

    every_nic: bool = False
    bare: bool = False
    gemm_rate: bool = False
    ring_bytes: bool = False
    split_checkpoints: bool = False
    whole_gradients: bool = False
    passing_gradients: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """The plans of a job, n of them, and both sides' means to cost them.

    Attributes:
        name: calculon's name of the model.
        job, model, bare: planner's job, its cost model, and that without embedding and head.
        app: calculon's model.
        executions, plans: The same plans as each has them.
    """

    name: str
    job: BenchmarkJob
    model: CostModel
    bare: CostModel
    app: Any
    executions: list[Execution]
    plans: list[Plan]


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What both say of n plans, (n,) by part.

    Attributes:
        ours_s, theirs_s: Seconds of a step by `_SECONDS`.
        ours_bytes, theirs_bytes: Of the fullest chip here, of the first stage there, by `_BYTES`.
    """

    ours_s: dict[str, FloatArray]
    theirs_s: dict[str, FloatArray]
    ours_bytes: dict[str, FloatArray]
    theirs_bytes: dict[str, FloatArray]

    def sides(self, what: str) -> tuple[FloatArray, FloatArray]:
        """The sums of planner's and of calculon's parts of "s" or "bytes", (n,) each."""
        ours, other = (getattr(self, f"{side}_{what}") for side in ("ours", "theirs"))
        return _sum(list(ours.values())), _sum(list(other.values()))

    def ratio(self, what: str) -> FloatArray:
        """What planner says over what calculon says, (n,)."""
        ours, other = self.sides(what)
        return ours / other


def _sum(parts: list[FloatArray]) -> FloatArray:
    return np.asarray(np.sum(parts, axis=0))


def without_ends(model: CostModel) -> CostModel:
    """The same job with the smallest vocabulary: neither embedding nor head costs anything."""
    job = replace(model.job, model=replace(model.job.model, vocab_size=1))
    return CostModel.build(job, model.cluster, model.assumptions)


def placed(llm: Any, x: Execution) -> Execution:
    """An execution with what the drawing fixes: see the docstring of this module."""
    tp, pp, dp = x["tensor_par"], x["pipeline_par"], x["data_par"]
    kind = x["tensor_par_comm_type"] if tp > 1 else "ar"
    inside = [NODE % size == 0 for size in (tp, tp * dp, tp * dp * pp)]
    return {
        **x,
        "tensor_par_comm_type": kind,
        "seq_par_ag_redo": llm.can_redo_ag(kind, x["activation_recompute"]),
        "tensor_par_net": 0 if inside[0] else 1,
        "data_par_net": 0 if inside[1] else 1,
        "pipeline_par_net": 0 if inside[2] else 1,
        "tensor_par_overlap": "none",
        "data_par_overlap": False,
        "fused_activation": False,
        "weight_offload": False,
        "activations_offload": False,
        "optimizer_offload": False,
    }


def system_of(checkout: Checkout, terms: Terms, rate: float) -> Any:
    """The A100s of calculon, memory without end, terms switched; `rate`: of GEMMs, of the peak."""
    record = copy.deepcopy(checkout.record("systems", SYSTEM))
    nvlink, fabric = record["networks"]
    record["mem1"]["GiB"] = 1e6
    record["networks"].append({**fabric, "bandwidth": nvlink["size"] * fabric["bandwidth"]})
    for network in record["networks"] if terms.ring_bytes else ():
        halves = {"reduce_scatter": [1.0, -1], "all_gather": [1.0, -1]}
        network["ops"] = {**network["ops"], **halves, "all_reduce": [2.0, -1]}
    if terms.gemm_rate:
        record["matrix"]["float16"]["gflops_efficiency"] = [[0, rate]]
        record["processing_mode"] = "roofline"
    return checkout.package.System(record)


def theirs(
    checkout: Checkout, app: Any, x: Execution, terms: Terms, rate: float = 1.0
) -> dict[str, float]:
    """What calculon says of an execution.

    Raises:
        Llm.Error: It refuses it.
    """
    if terms.every_nic and x["tensor_par_net"] == 1:
        x = {**x, "tensor_par_net": 2}
    model = checkout.llm(app, logging.Logger("calculon"))
    model.compile(system := system_of(checkout, terms, rate), checkout.llm.Execution.from_json(x))
    model.run(system)
    said: dict[str, float] = model.get_stats_json(include_layers=False)
    return said


def their_bytes(said: dict[str, float], x: Execution, terms: Terms) -> dict[str, float]:
    """Bytes of the first stage in calculon, by `_BYTES`."""
    begun, gradients = said["act_checkpoint_size"], said["weight_grad_space"]
    if terms.split_checkpoints and x["tensor_par_comm_type"] == "rs_ag":
        begun /= x["tensor_par"]
    if terms.whole_gradients:
        gradients = 2 * said["weight_space"]
    passing = 0.0 if terms.passing_gradients else said["act_grad_space"]
    return dict(zip(_BYTES, (said["weight_space"], gradients, said["optimizer_space"],
                             said["act_space"] + begun, passing), strict=True))  # fmt: skip


def gemm_rates(found: Breakdown, model: CostModel, chips: int) -> FloatArray:
    """FLOP per second of computing over the peak in planner, where stages are alike, (n,)."""
    return np.asarray(found.flop / (chips * peak_flop_per_s(model) * found.time_parts["compute"]))


def costs(checkout: Checkout, drawn: Drawn, terms: Terms) -> Costs:
    """What both say of the plans of a job."""
    table = PlanTable.from_plans(drawn.plans)
    bare = evaluate_table(drawn.bare, table)
    found = bare if terms.bare else evaluate_table(drawn.model, table)
    rates = gemm_rates(bare, drawn.bare, drawn.job.chips)
    said = [
        theirs(checkout, drawn.app, x, terms, float(rate))
        for x, rate in zip(drawn.executions, rates, strict=True)
    ]
    held = [their_bytes(one, x, terms) for one, x in zip(said, drawn.executions, strict=True)]
    times, parts = found.time_parts, found.memory_parts
    return Costs(
        ours_s={part: _sum([times[n] for n in own]) for part, (own, _) in _SECONDS.items()},
        theirs_s={
            part: np.array([sum(one[name] for name in other) for one in said])
            for part, (_, other) in _SECONDS.items()
        },
        ours_bytes={part: _sum([parts[n] for n in own]) for part, own in _BYTES.items()},
        theirs_bytes={part: np.array([one[part] for one in held]) for part in _BYTES},
    )


def together(parts: Sequence[Costs]) -> Costs:
    """The plans of several jobs."""

    def joined(name: str) -> dict[str, FloatArray]:
        sides = [getattr(part, name) for part in parts]
        return {part: np.concatenate([side[part] for side in sides]) for part in sides[0]}

    return Costs(**{f.name: joined(f.name) for f in fields(Costs)})


def executions(checkout: Checkout, app: Any, job: BenchmarkJob, seed: int) -> Iterator[Execution]:
    """Executions drawn from calculon's space without end, each as `placed` has it."""
    system = system_of(checkout, Terms(), 1.0)
    space = list(calculon_space.products(checkout.llm, app, system, job.chips, job.sequences))
    sizes = [len(part) for part in space]
    drawn = random.Random(seed)
    while True:
        (part,) = drawn.choices(space, weights=sizes)
        split = part.fixed["tensor_par_comm_type"] == "p2p_rs_ag"
        if not split and job.sequences % part.fixed["data_par"] == 0:
            yield placed(checkout.llm, part.at(drawn.randrange(len(part))))


def is_kept(checkout: Checkout, app: Any, model: CostModel, x: Execution) -> bool:
    """Whether both take a plan, and one of them says that it fits."""
    table = PlanTable.from_plans([as_plan(x)])
    if not all(np.all(rule.holds(model, table)) for rule in applicable(model.framework)):
        return False
    try:
        held = theirs(checkout, app, x, Terms())["proc_mem_tier1_cap_req"]
    except checkout.llm.Error:
        return False
    return min(held, float(evaluate_table(model, table).memory_per_chip_bytes[0])) <= 80 * GIB


def draw(checkout: Checkout, name: str, seed: int, within: int, across: int) -> Drawn:
    """The plans of a job."""
    job, app = JOBS[name], checkout.llm.Application(checkout.record("models", name))
    model = job.cost_model()
    measuring.require(_same_shape(app, model), f"{name}: the models differ")
    left = {True: within, False: across}
    kept: dict[Plan, Execution] = {}
    for x in executions(checkout, app, job, seed):
        inside = x["tensor_par"] <= NODE
        if left[inside] and as_plan(x) not in kept and is_kept(checkout, app, model, x):
            kept[as_plan(x)] = x
            left[inside] -= 1
        if not any(left.values()):
            break
    return Drawn(name=name, job=job, model=model, bare=without_ends(model), app=app,
                 executions=list(kept.values()), plans=list(kept))  # fmt: skip


def _same_shape(app: Any, model: CostModel) -> bool:
    ours = model.job.model
    dense = ours.mlp.hidden if ours.mlp is not None else 0
    return (app.hidden, app.feedforward, app.attn_heads, app.attn_size, app.num_blocks) == (
        ours.hidden, dense, ours.heads, ours.head_dim, ours.layers)  # fmt: skip
