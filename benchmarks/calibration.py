"""What a few runs of an installation bring: error of its other runs after calibrating with some.

Draws runs of one published source at random, calibrates with them as `planner calibrate --runs`
does, and predicts the others. The shipped constants were fitted to some of these runs as well, so
the column without calibration is better than a new installation would see.
"""

from __future__ import annotations

import argparse
from collections import defaultdict

import numpy as np

from hardware_db import Calibration, HardwareError, load_calibration
from planner.assumptions.local_file import SITE_FACTOR
from planner.base.errors import InputError
from planner.evidence.calibration.runs import RunSet, fit_runs, with_values
from planner.evidence.csvfile import published
from planner.evidence.runs.rows import Run, run_of

SETS = ("bloomtune", "simumax", "vtrain-multi", "mpt", "titan", "kempner", "tpurec")
COUNTS = (1, 3, 5)


def runs_by_set() -> dict[str, list[Run]]:
    """The usable runs of every set."""
    rows = {row["id"]: row for row in published("runs")}
    found: dict[str, list[Run]] = defaultdict(list)
    for entry in published("sets"):
        row = rows[entry["id"]]
        if not row["step_time_s"]:
            continue
        try:
            found[entry["set"]].append(run_of(row))
        except (InputError, HardwareError):
            continue
    return found


def error_of_others(runs: list[Run], chosen: np.ndarray, base: Calibration, what: str) -> float:
    """Mean absolute error of the runs that were not chosen."""
    mine = [runs[index] for index in chosen]
    others = RunSet.of([run for index, run in enumerate(runs) if index not in set(chosen)])
    fit = fit_runs(RunSet.of(mine), base, {}, what)
    values = {p.path: float(v) for p, v in zip(fit.priors, fit.values, strict=True)}
    seconds = others.predicted_s(with_values(base, values)) * values[SITE_FACTOR]
    return float(np.abs(seconds / others.measured_s - 1).mean())


def main() -> None:
    """Prints a table, one line per set."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sets", default=",".join(SETS), help="names of sets, with commas")
    parser.add_argument("--counts", default=",".join(map(str, COUNTS)), help="runs to draw")
    parser.add_argument("--draws", type=int, default=20, help="draws per set and count")
    asked = parser.parse_args()
    counts = [int(text) for text in asked.counts.split(",")]
    base, every = load_calibration(), runs_by_set()
    rng = np.random.default_rng(0)
    print("| source | runs | shipped | " + " | ".join(f"after {n}" for n in counts) + " |")
    print("|---|---|---|" + "---|" * len(counts))
    for name in asked.sets.split(","):
        runs = every.get(name, [])
        if len(runs) <= max(counts):
            parser.error(f"--sets: {name!r} has {len(runs)} runs; known: {', '.join(every)}")
        together = RunSet.of(runs)
        shipped = np.abs(together.predicted_s(base) / together.measured_s - 1).mean()
        cells = [f"{100 * shipped:.1f} %"]
        for count in counts:
            draws = [
                error_of_others(runs, rng.permutation(len(runs))[:count], base, "auto")
                for _ in range(asked.draws)
            ]
            cells.append(f"{100 * np.mean(draws):.1f} %")
        print(f"| {name} | {len(runs)} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
