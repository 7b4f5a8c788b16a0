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
import sys
from dataclasses import dataclass, replace
from pathlib import Path

import calculon_space
import measuring
import numpy as np
import pages
from calculon_costs import (
    GIB,
    JOBS,
    NODE,
    Costs,
    Drawn,
    Terms,
    costs,
    draw,
    gemm_rates,
    theirs,
    together,
)
from calculon_space import SYSTEM, Checkout
from measuring import Cell, Report, Table

from planner.base.arrays import BoolArray, FloatArray
from planner.cost.evaluate import evaluate_table
from planner.evidence.runs.reading import read_runs
from planner.evidence.validation.predicting import predict
from planner.evidence.validation.scores import spearman
from planner.plan import PlanTable

REGION = "plans"
_WITHIN, _ACROSS = 18, 7
_QUANTILES = {"least": 0.0, "10 %": 0.1, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "90 %": 0.9,
              "most": 1.0}  # fmt: skip
_PUBLISHED = {"22B": "megatron-22B", "175B": "gpt3-175B", "530B": "turing-530B",
              "1T": "megatron-1T"}  # fmt: skip
_MODES = {"full": "full", "selsp": "seqsel"}
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
    across = [np.array([p.tp > NODE for p in drawn.plans]) for drawn in sets]
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
        ("bytes", _MEMORY, "memory", "GiB", float(GIB)),
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
        for tp in sorted(set(degrees[degrees <= NODE].tolist()))
    )
    fits = [held <= 80 * GIB for held in every.sides("bytes")]
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
