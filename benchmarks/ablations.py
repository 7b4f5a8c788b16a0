"""What each term of the time model is worth: errors and regret with it switched off.

  python benchmarks/ablations.py                          prints the table
  python benchmarks/ablations.py --page docs/accuracy.md  puts it between its marks there

Nothing is fitted again, so that a term whose loss other constants could make up looks worth more
than it is. Every published run with a step time counts, without site factors.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import measuring
import numpy as np
import pages
from measuring import Report, Table

from hardware_db import load_calibration
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import BoolArray, FloatArray
from planner.evidence.left_out.outcomes import FAULTY
from planner.evidence.runs.reading import MeasuredRun, read_runs
from planner.evidence.runs.rows import Run
from planner.evidence.validation.predicting import (
    Constants,
    Costed,
    Predictions,
    costs_by_table,
    predict,
)
from planner.evidence.validation.scores import (
    choice_groups,
    choice_of,
    is_moe,
    names_of,
    of_sources,
)

TERMS: dict[str, dict[str, float | bool | tuple[str, ...]]] = {
    "nothing": {},
    "small products are slow": {
        "half_k": 0.0, "half_mn": 0.0, "matmul_overhead_s": 0.0, "wave_exponent": 0.0,
    },
    "traffic of elementwise operations": {"elementwise": 0.0, "score_bytes": 0.0},
    "launches by the host": {
        "host_s_per_layer": 0.0, "host_s_per_tp_rank": 0.0, "moe_host_s": 0.0,
        "expert_host_s": 0.0,
    },
    "fixed time of layers, micro-batches and steps": {
        "fixed_s_per_layer": 0.0, "micro_batch_s": 0.0, "step_s": 0.0,
    },
    "latency of collectives": {"latencies": False, "bucket_hop_s": 0.0},
    "links below their rate": {"scale_up_efficiency": 1.0, "scale_out_efficiency": 1.0},
    "choice of the algorithm: rings only": {"collective_algorithms": ("ring",)},
    "overlap of tensor parallelism": {"tp_overlap": 0.0},
    "overlap of the gradient reduction": {"dp_overlap": 0.0},
    "bubble of the pipeline": {"bubbles": False},
    "traffic of the optimizer": {"optimizer_traffic_bytes": 0.0, "accumulation_bytes": 0.0},
    "products of experts below dense ones": {"expert_efficiency": 1.0},
    "routing of tokens": {"routing_bytes": 0.0},
    "all-to-all below the links' rate": {"exchange_efficiency": 1.0},
    "jitter of many chips": {"jitter": 0.0},
    "stragglers among tensor ranks": {"far_host_s_per_tp_rank": 0.0, "far_tp_wait_s": 0.0},
    "slices of zero1": {"slice_s": 0.0},
}  # fmt: skip
"""What is switched off: fields of the assumptions, and what they are then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Without(Constants):
    """The shipped constants with some fields of the assumptions replaced."""

    fields: Mapping[str, object] = field(default_factory=dict)

    def assumptions(self, run: Run) -> Assumptions:
        return replace(Constants.assumptions(self, run), **self.fields)  # type: ignore[arg-type]


def step_times(runs: Sequence[MeasuredRun], fields: Mapping[str, object]) -> FloatArray:
    """(n,) predicted seconds; NaN where the model refuses the plan."""
    found = np.full(len(runs), np.nan)
    for rows, costed in costs_by_table(
        runs, _Without(calibration=load_calibration(), fields=fields)
    ):
        if isinstance(costed, Costed):
            found[rows] = costed.costs.step_time_s
    return found


def scores(
    p: Predictions,
    sources: Sequence[BoolArray],
    groups: Sequence[np.ndarray],
    predicted: FloatArray,
) -> list[float]:
    """Mean error of dense sources and of those with experts, in %, and mean regret, in %.

    Args:
        p: n runs.
        sources: (n,) rows of each source that counts.
        groups: Rows of each job that was measured with several plans.
        predicted: (n,) seconds.
    """
    errors, experts = np.abs(predicted / p.measured_s - 1), is_moe(p)
    means = []
    for kind in (~experts, experts):
        rows = [of_source & kind for of_source in sources]
        means.append(100 * float(np.mean([errors[some].mean() for some in rows if some.any()])))
    found = choice_of(predicted, p.measured_s, groups)
    assert found is not None
    return [*means, 100 * found.regret_1]


def main() -> None:
    """Predicts with each term switched off, prints the table, and puts it into a page."""
    parser = measuring.parser(__doc__ or "")
    parser.add_argument("--page", type=Path, help="page whose region `ablations` gets the table")
    options = parser.parse_args()
    p, _ = predict(read_runs())
    names = [name for name in names_of(p) if name not in FAULTY]
    sources = [of_sources(p, [name]) for name in names]
    groups = choice_groups(p, of_sources(p, names))
    rows: list[dict[str, measuring.Cell]] = []
    for name, fields in TERMS.items():
        dense, experts, chosen = scores(p, sources, groups, step_times(p.runs, fields))
        rows.append({"switched off": name, "dense, %": dense, "experts, %": experts,
                     "regret, %": chosen})  # fmt: skip
    report = Report(name="ablations")
    report.tables.append(Table(title="Mean error of sources, and mean regret", rows=rows))
    measuring.show(report, options)
    if options.page is not None:
        pages.put(options.page, "ablations", measuring.as_markdown(report))


if __name__ == "__main__":
    main()
