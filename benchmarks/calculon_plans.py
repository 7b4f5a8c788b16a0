"""A hundred plans that calculon and planner both cost, side by side, and why they differ most.

Needs a checkout of calculon (https://github.com/calculon-ai/calculon, Apache-2.0), named with
--calculon. Plans are drawn with a seed from calculon's own search space, for four of its models on
A100s, and kept where planner's rules for Megatron-LM allow them, too, and where at least one of
the two says that they fit into 80 GiB: for each model eighteen with tensor parallelism within a
node and seven with more. Both get the same tensor, pipeline and data parallelism, micro-batch,
interleaving, recomputation, sequence parallelism and sharding of the optimizer. The rest is as
calculon validates itself, and as Megatron-LM was in 2022: no offloading, nothing of tensor or data
parallelism hidden, activations not fused, the all-gather of sequence parallelism again in the
backward pass. An axis of calculon lies inside the node as far as the ranks of Megatron-LM put it
there (tensor, then data, then pipeline). calculon gets memory without end, so that it costs all.

The ratios are planner's over calculon's. For the plans of the least and of the greatest ratio,
terms of one or the other are switched one after the other; what that leaves of all ratios is
printed beside them. Published are runs of Korthikanti et al. (arXiv:2205.05198, Table 5), which
calculon validates itself against, and which some constants of planner were fitted to among others.
"""

from __future__ import annotations

import argparse
import copy
import logging
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

import calculon_space
import measuring
import numpy as np
import pages
from calculon_space import SYSTEM, Checkout, Execution, as_plan
from jobs import BenchmarkJob
from measuring import Cell, Report, Table

from planner.base.arrays import BoolArray, FloatArray
from planner.cost.breakdown import Breakdown, peak_flop_per_s
from planner.cost.context import CostModel
from planner.cost.evaluate import evaluate_table
from planner.evidence.runs.reading import read_runs
from planner.evidence.validation.predicting import predict
from planner.evidence.validation.scores import spearman
from planner.frameworks.rules import applicable
from planner.plan import Plan, PlanTable

REGION = "plans"
_NODE, _GIB = 8, 2**30
_WITHIN, _ACROSS = 18, 7
_QUANTILES = {"least": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "90 %": 0.9,
              "most": 1.0}  # fmt: skip


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
_PUBLISHED = {"22B": "megatron-22B", "175B": "gpt3-175B", "530B": "turing-530B",
              "1T": "megatron-1T"}  # fmt: skip
_MODES = {"full": "full", "selsp": "seqsel"}


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


_TIME = {
    "every_nic": "calculon: tensor parallelism across nodes over all NICs of a node",
    "bare": "planner: without embedding and head",
    "gemm_rate": "calculon: GEMMs at planner's rate",
    "ring_bytes": "calculon: collectives send the bytes of a ring",
}
_MEMORY = {
    "split_checkpoints": "calculon: checkpoints split by sequence parallelism",
    "whole_gradients": "calculon: gradients whole and of 4 bytes",
    "passing_gradients": "calculon: without gradients of activations",
    "bare": "planner: without embedding and head",
}


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
    inside = [_NODE % size == 0 for size in (tp, tp * dp, tp * dp * pp)]
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
    return min(held, float(evaluate_table(model, table).memory_per_chip_bytes[0])) <= 80 * _GIB


def draw(checkout: Checkout, name: str, seed: int, within: int, across: int) -> Drawn:
    """The plans of a job."""
    job, app = JOBS[name], checkout.llm.Application(checkout.record("models", name))
    model = job.cost_model()
    measuring.require(_same_shape(app, model), f"{name}: the models differ")
    left = {True: within, False: across}
    kept: dict[Plan, Execution] = {}
    for x in executions(checkout, app, job, seed):
        inside = x["tensor_par"] <= _NODE
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


def words(drawn: Drawn, at: int) -> str:
    """A plan in a line."""
    p = drawn.plans[at]
    sharded = "sharded optimizer" if p.sharding == "zero1" else "whole optimizer"
    sequence = "with" if p.sequence_parallel else "no"
    return (
        f"{drawn.job.model}, tp {p.tp}, pp {p.pp}, dp {p.dp}, micro-batch {p.micro_batch}, "
        f"interleave {p.interleave}, {p.recompute} recomputation, {sequence} sequence parallelism, "
        f"{sharded}"
    )


def quantile_rows(sets: list[Drawn], found: list[Costs]) -> list[dict[str, Cell]]:
    """Quantiles of the ratios of each job and of all, and the rank correlation within a job."""
    across = [np.array([p.tp > _NODE for p in drawn.plans]) for drawn in sets]
    rows = []
    for drawn, cost, wide in zip(sets, found, across, strict=True):
        rows += _quantile_rows(drawn.job.title, cost, wide, ranked=True)
    return rows + _quantile_rows("all", together(found), np.concatenate(across), ranked=False)


def _quantile_rows(
    title: str, cost: Costs, across: BoolArray, *, ranked: bool
) -> list[dict[str, Cell]]:
    every = np.ones(len(across), dtype=np.bool_)
    kinds = (
        ("step time, tp within a node", ~across, *cost.sides("s")),
        ("step time, tp across nodes", across, *cost.sides("s")),
        ("memory", every, *cost.sides("bytes")),
    )
    return [
        {
            "plans of": title,
            "ratio of": what,
            "plans": int(which.sum()),
            **{
                name: float(np.quantile(ours[which] / theirs[which], share))
                for name, share in _QUANTILES.items()
            },
            "rank correlation": spearman(ours[which], theirs[which]) if ranked else None,
        }
        for what, which, ours, theirs in kinds
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Followed:
    """The plans of the least and of the greatest ratio, followed.

    Attributes:
        ends: Their numbers among all plans.
        rows: Ratios as terms are switched one after the other.
        before, after: Costs of all plans, as they are and with all terms switched.
    """

    ends: tuple[int, int]
    rows: list[dict[str, Cell]]
    before: Costs
    after: Costs


def followed(checkout: Checkout, sets: list[Drawn], steps: dict[str, str], what: str) -> Followed:
    """Follows the extreme ratios of "s" or "bytes"."""
    terms = Terms()
    rows: list[dict[str, Cell]] = []
    before = after = together([costs(checkout, one, terms) for one in sets])
    ends = (int(before.ratio(what).argmin()), int(before.ratio(what).argmax()))
    for field, title in ({"": "as they are"} | steps).items():
        if field:
            terms = replace(terms, **{field: True})
            after = together([costs(checkout, one, terms) for one in sets])
        ratios = after.ratio(what)
        rows.append(
            {
                "switched, with all above": title,
                "plan of least": float(ratios[ends[0]]),
                "plan of greatest": float(ratios[ends[1]]),
                "all: least": float(ratios.min()),
                **{
                    n: float(np.quantile(ratios, _QUANTILES[n])) for n in ("10 %", "median", "90 %")
                },
                "most": float(ratios.max()),
            }
        )
    return Followed(ends=ends, rows=rows, before=before, after=after)


def part_rows(found: Followed, what: str, unit: float) -> list[dict[str, Cell]]:
    """The parts of the two followed plans, before and after, in units."""
    columns = {
        f"{extreme}{when}: {tool}": (getattr(cost, f"{side}_{what}"), end)
        for extreme, end in zip(("least", "greatest"), found.ends, strict=True)
        for when, cost in (("", found.before), (", switched", found.after))
        for tool, side in (("planner", "ours"), ("calculon", "theirs"))
    }
    return [
        {"part": part}
        | {title: float(by[part][end]) / unit for title, (by, end) in columns.items()}
        for part in getattr(found.before, f"ours_{what}")
    ]


def published_rows(checkout: Checkout) -> list[dict[str, Cell]]:
    """The runs of Korthikanti et al., Table 5, as both predict them."""
    reading = read_runs()
    chosen = [run for run in reading.runs if run.run.key.startswith("korthikanti22")]
    predicted, _ = predict(replace(reading, runs=tuple(chosen)))
    site = predicted.with_site_factors().step_time_s
    rows: list[dict[str, Cell]] = []
    for run, ours, there in zip(predicted.runs, predicted.step_time_s, site, strict=True):
        _, size, mode = run.run.key.split("_")
        name, measured = _PUBLISHED[size], run.run.measured_step_time_s
        x = checkout.record("validation/seqsel/tab5", f"{name}_{_MODES[mode]}")
        app = checkout.llm.Application(checkout.record("models", name))
        other = theirs(checkout, app, x, Terms())["total_time"]
        off = {"planner": float(ours) / measured - 1, "calculon": other / measured - 1}
        rows.append(
            {
                "run": f"{run.run.job.model.name}, {run.run.plan.recompute}",
                "measured, s": measured,
                "planner, s": float(ours),
                "of that installation, s": float(there),
                "calculon, s": other,
                "planner off, %": 100 * off["planner"],
                "calculon off, %": 100 * off["calculon"],
                "nearer": min(off, key=lambda tool: abs(off[tool])),
            }
        )
    return rows


def _rates(drawn: Drawn) -> FloatArray:
    found = evaluate_table(drawn.bare, PlanTable.from_plans(drawn.plans))
    return gemm_rates(found, drawn.bare, drawn.job.chips)


def compared(checkout: Checkout, options: argparse.Namespace) -> Report:
    """All tables."""
    within, across = (2, 1) if options.quick else (_WITHIN, _ACROSS)
    names = list(JOBS)[:1] if options.quick else list(JOBS)
    sets = [draw(checkout, name, options.seed, within, across) for name in names]
    found = [costs(checkout, drawn, Terms()) for drawn in sets]
    every = together(found)
    report = Report(name="calculon_plans")
    report.tables = [
        Table(title="planner over calculon", rows=quantile_rows(sets, found)),
        Table(title="Published runs", rows=published_rows(checkout)),
    ]
    plans = [words(drawn, at) for drawn in sets for at in range(len(drawn.plans))]
    for what, steps, title, name, unit in (
        ("s", _TIME, "step times", "s", 1.0),
        ("bytes", _MEMORY, "memory", "GiB", float(_GIB)),
    ):
        ends = followed(checkout, sets, steps, what)
        report.tables += [
            Table(title=f"Ratios of {title} as terms are switched", rows=ends.rows),
            Table(title=f"Parts of the two plans, {name}", rows=part_rows(ends, what, unit)),
        ]
        report.notes += [
            f"{extreme} ratio of {title}: {plans[end]}."
            for extreme, end in zip(("Least", "Greatest"), ends.ends, strict=True)
        ]
    rates = np.concatenate([_rates(drawn) for drawn in sets])
    degrees = np.array([plan.tp for drawn in sets for plan in drawn.plans])
    by_degree = ", ".join(
        f"tp {tp}: {np.median(every.ratio('s')[degrees == tp]):.2f}"
        for tp in sorted(set(degrees[degrees <= _NODE].tolist()))
    )
    fits = [held <= 80 * _GIB for held in every.sides("bytes")]
    report.notes += [
        f"Median ratio of step times within a node, {by_degree}.",
        f"planner's GEMMs run at {rates.min():.2f} to {rates.max():.2f} of the peak in these "
        f"plans, {np.median(rates):.2f} in the median; calculon's at 0.60 to 0.95 by their FLOP, "
        "and their memory time comes on top.",
        f"Fit into 80 GiB: {int((fits[0] & fits[1]).sum())} of {len(plans)} plans as both say, "
        f"{int((fits[0] & ~fits[1]).sum())} as planner alone says, "
        f"{int((~fits[0] & fits[1]).sum())} as calculon alone says.",
        f"calculon {checkout.package.__version__}, commit {calculon_space.commit(checkout.path)}, "
        f"its systems/{SYSTEM}.json; plans drawn with seed {options.seed}.",
    ]
    report.facts["plans"] = [
        {"plan": plan, "step time": float(step), "memory": float(memory)}
        for plan, step, memory in zip(plans, every.ratio("s"), every.ratio("bytes"), strict=True)
    ]
    return report


def main() -> int:
    """Compares, prints or writes, and returns the exit status."""
    parser = measuring.parser(__doc__ or "", quick=True)
    parser.add_argument("--calculon", metavar="PATH", type=Path, help="a checkout of calculon")
    parser.add_argument("--seed", type=int, default=0, help="of the draw [0]")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="e.g. docs/peers.md")
    options = parser.parse_args()
    checkout = calculon_space.asked(parser, options.calculon)
    if options.write is not None:
        pages.parted(options.write, REGION)
    report = compared(checkout, options)
    if options.write is None:
        measuring.show(report, options)
    else:
        pages.put_report(
            options.write, REGION, "Costed, not timed: no figure depends on the machine.", report
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
