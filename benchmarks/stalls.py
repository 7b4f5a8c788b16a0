"""What nanotron's runs over several nodes took, and what of it was their installation.

  python benchmarks/stalls.py            prints the tables
  python benchmarks/stalls.py --page P   and puts them into the regions of a page

Half of the runs of the split `fit` on more than one node, every second, gives the constants of
nanotron's era (priors of refit_priors.yaml) and of the stalls (`planner.evidence.runs.stalls`); the
other half is predicted with them. Whether a run stalled is one bit: it is taken from the measured
time in the columns "bit known", and from the plan alone in "by the plan".
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from accuracy import as_markdown, rewritten_pages
from joint_fit import Floats, Problem, Row, log_times, noise_of, shares, with_values
from refit import all_rows, settings

from hardware_db import Calibration, load_calibration
from planner.base.files import write_all
from planner.cost.job import Job
from planner.evidence.runs.stalls import Counts, has_stalled, is_expected, most_stall_s
from planner.plan import Plan
from planner.report.tables.validation_tables import Table, percent

_GROUP = "stall.huggingface"
_START = {"receive_s": 0.5, "layer_s": 0.05}
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Half:
    """Rows of one half with what they took."""

    rows: Sequence[Row]

    @property
    def measured(self) -> Floats:
        """(n,) seconds."""
        return np.array([row.run.measured_step_time_s for row in self.rows])

    def predicted(self, constants: Calibration) -> Floats:
        """(n,) seconds without stalls."""
        return np.exp(log_times(self.rows, constants))

    def stall(self, constants: Calibration) -> Floats:
        """(n,) seconds of a stall."""
        return np.array([most_stall_s(row.run, constants) for row in self.rows])

    def stalled(self, constants: Calibration) -> np.ndarray:
        """(n,) whether each is nearer to its prediction with the stall."""
        every = zip(self.rows, self.predicted(constants), self.stall(constants), strict=True)
        return np.array([has_stalled(row.run, float(p), float(s)) for row, p, s in every])


def far_rows(rows: Sequence[Row]) -> list[Row]:
    """Runs of an installation with stalls, of the split `fit`, on more than one node."""
    return [
        row
        for row in rows
        if row.run.profile.stalls
        and row.split == "fit"
        and row.run.plan.chips > row.run.cluster.node_chips
    ]


def fitted(half: Half) -> Calibration:
    """The constants of nanotron's era and of the stalls, from one half alone."""
    priors, noise = settings()
    own = [prior for prior in priors if prior.path.startswith("era.nanotron.")]
    constants = with_values(
        load_calibration(),
        {p.path: p.prior for p in own} | {f"{_GROUP}.{k}": v for k, v in _START.items()},
    )
    for _ in range(_ROUNDS):
        stalled = half.stalled(constants)
        normal = [row for row, bad in zip(half.rows, stalled, strict=True) if not bad]
        problem = Problem(
            rows=normal, priors=own, constants=constants, share=shares(normal),
            noise=noise_of(normal, noise), site_spread=1.0,
        )  # fmt: skip
        constants = _with_stalls(half, problem.at(problem.solve().z), stalled)
    return constants


def _with_stalls(half: Half, constants: Calibration, stalled: np.ndarray) -> Calibration:
    """The constants with the median stall per message and per layer of the rows that stalled."""
    added = half.measured - half.predicted(constants)
    counts = [Counts.of(row.run) for row in half.rows]
    found = {}
    for name, units in (("receive_s", "receives"), ("layer_s", "layers")):
        number = np.array([getattr(count, units) for count in counts])
        some = stalled & (number > 0)
        found[f"{_GROUP}.{name}"] = float(np.median(added[some] / number[some]))
    return with_values(constants, found)


def halves_table(rows: Sequence[Row]) -> Table:
    """Each half of the runs, predicted by the other."""
    header = ("predicted half", "rows", "stalled", "seconds per message", "seconds per layer",
              "no stall: mean %", "stall: mean %", "bit known: mean %", "by the plan: mean %",
              "by the plan: median %")  # fmt: skip
    lines = []
    for name, own in (("even", slice(0, None, 2)), ("odd", slice(1, None, 2))):
        other = slice(1, None, 2) if name == "even" else slice(0, None, 2)
        constants, half = fitted(Half(rows[other])), Half(rows[own])
        stalled, stall = half.stalled(constants), half.stall(constants)
        expected = np.array([is_expected(row.run, constants) for row in half.rows])
        known, by_plan = (
            np.abs((half.predicted(constants) + where * stall) / half.measured - 1)
            for where in (stalled, expected)
        )
        lines.append(
            [name, f"{len(stalled)}", f"{stalled.sum()}",
             *(f"{constants.value(f'{_GROUP}.{key}'):.3f}" for key in _START),
             percent(float(known[~stalled].mean())), percent(float(known[stalled].mean())),
             percent(float(known.mean())), percent(float(by_plan.mean())),
             percent(float(np.median(by_plan)))]
        )  # fmt: skip
    return "One half of the runs on several nodes, predicted by the other", header, lines


def nodes_table(rows: Sequence[Row]) -> Table:
    """How many runs stalled by the number of nodes."""
    half = Half(rows)
    stalled = half.stalled(load_calibration())
    found: dict[int, list[bool]] = defaultdict(list)
    wide: list[bool] = []
    for row, bad in zip(rows, stalled.tolist(), strict=True):
        plan, node = row.run.plan, row.run.cluster.node_chips
        if plan.pp > 1 and plan.tp >= 4 * node:
            wide.append(bad)
        else:
            found[plan.chips // node].append(bad)
    lines = [
        [f"{nodes}", f"{len(bits)}", percent(float(np.mean(bits)))]
        for nodes, bits in sorted(found.items())
    ]
    lines.append(
        ["tp over 4 nodes, with a pipeline", f"{len(wide)}", percent(float(np.mean(wide)))]
    )
    return "Runs that stalled", ("nodes", "runs", "stalled %"), lines


def repeats_table(rows: Sequence[Row]) -> Table:
    """Plans that were published twice: how far two measurements of one plan are apart."""
    found: dict[tuple[Job, Plan], list[float]] = defaultdict(list)
    for row in rows:
        key = (row.run.job, row.run.plan)
        found[key].append(row.run.measured_step_time_s)
    lines = []
    for (job, plan), seconds in found.items():
        if len(seconds) > 1:
            mesh = f"dp {plan.dp}, tp {plan.tp}, pp {plan.pp}, micro-batch {plan.micro_batch}"
            low, high = min(seconds), max(seconds)
            lines.append([job.model.name, mesh, f"{low:.3g}", f"{high:.3g}", f"{high / low:.2f}"])
    return "Plans published twice", ("model", "plan", "s", "s", "ratio"), lines


def main() -> None:
    """Prints, and writes where asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--page", type=Path, help="page whose regions get the tables")
    options = parser.parse_args()
    rows = far_rows(all_rows())
    tables = {
        "stalls-halves": as_markdown(halves_table(rows)),
        "stalls-nodes": as_markdown(nodes_table(rows)),
        "stalls-repeats": as_markdown(repeats_table(rows)),
    }
    print("\n\n".join(tables.values()))
    if options.page is not None:
        write_all(rewritten_pages(options.page, tables))


if __name__ == "__main__":
    main()
