"""Fits the constants of the time model to published runs again, and can write the shipped file.

  python benchmarks/refit.py                 fits, and prints what would change
  python benchmarks/refit.py --write         writes hardware_db/data/calibration/default.yaml, and
                                             the constants without each source beside the runs

Only rows of the split `fit` are used; of runs composed from a few measured layers every fifth of a
cell, of sweeps that were tuned by hand the rows that count, and none that stalled (see
`planner.evidence.runs.stalls`). Priors, spreads and noise are in refit_priors.yaml. A fit takes
several minutes on one core. It begins at the constants that are there, and writes those of a fit of
the same rows as they are. The prediction intervals, which rest on the constants, are fitted after
them: python -m planner.evidence.left_out.coverage --write. `planner validate --what left-out`
predicts every source with the constants without it.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from joint_fit import (
    Fit,
    Prior,
    Problem,
    Row,
    Table,
    log_times,
    noise_of,
    shares,
    table_of,
    with_values,
)

from hardware_db import Calibration, HardwareError, load_calibration
from planner.base.errors import InputError
from planner.base.files import write_atomically, write_bytes
from planner.evidence.calibration.posterior import Noise, shrunk_median
from planner.evidence.csvfile import published
from planner.evidence.left_out.constants import file_of
from planner.evidence.runs.rows import run_of
from planner.evidence.runs.stalls import has_stalled, most_stall_s
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

_HERE = Path(__file__).parent
_FILE = _HERE.parent / "hardware_db" / "data" / "calibration" / "default.yaml"
_LEFT_OUT = _HERE.parent / "planner" / "evidence" / "data" / "left_out.csv.gz"
_SAME = 1e-4  # a constant that moves less does not differ
_SITE_SPREAD = 0.07
_LEAST_ROWS = 3  # of a site factor
_SITES_DIFFER = 0.15  # standard deviation of the logarithm of site factors
_SITE_NOISE = Noise(usual=0.08)
_EVERY = 5  # of a cell of vtrain-single
_FELT = 0.002  # a row rests on a constant that moves its log time so far within its spread


def all_rows() -> list[Row]:
    """Every complete row that can be predicted."""
    known = {row["id"]: row for row in published("runs")}
    rows: list[Row] = []
    tables: dict[object, Table] = defaultdict(Table)
    for entry in published("sets"):
        if known[entry["id"]]["complete"] != "1":
            continue
        try:
            run = run_of(known[entry["id"]])
        except (InputError, HardwareError):
            continue
        if not np.isfinite(run.measured_step_time_s):
            continue
        rows.append(
            Row(
                run=run,
                set_name=entry["set"],
                cell=entry["cell"],
                split=entry["split"],
                gold=entry["gold"] == "1",
                table=tables[table_of(run)],
            )
        )
    return rows


def fitted_rows(rows: Sequence[Row]) -> list[Row]:
    """The rows that a fit uses; see the module."""
    seen: dict[str, int] = defaultdict(int)
    used = []
    for row in rows:
        seen[row.cell] += 1
        if row.split != "fit" or (row.set_name == "nanotron-top5" and not row.gold):
            continue
        if row.set_name != "vtrain-single" or (seen[row.cell] - 1) % _EVERY == 0:
            used.append(row)
    return used


def without_stalls(rows: Sequence[Row], constants: Calibration) -> list[Row]:
    """The rows whose measured time is nearer to that of a run that did not stall."""
    seconds = np.exp(log_times(rows, constants))
    return [
        row
        for row, predicted in zip(rows, seconds, strict=True)
        if not has_stalled(row.run, float(predicted), most_stall_s(row.run, constants))
    ]


def settings() -> tuple[list[Prior], dict[str, float]]:
    """Priors of the constants, and noise by set."""
    data = load_yaml((_HERE / "refit_priors.yaml").read_text(encoding="utf-8"))
    return [Prior(path=path, **prior) for path, prior in data["constants"].items()], data["noise"]


def entries(problem: Problem, fit: Fit) -> dict[str, dict[str, Any]]:
    """What the file says of every constant: value, uncertainty, rows, how it is known."""
    found = {}
    felt = np.abs(fit.jacobian) > _FELT
    for index, prior in enumerate(problem.priors):
        value = prior.value(float(fit.z[index]))
        moved = fit.sigma_z[index] < 0.98 or abs(fit.z[index]) > 0.1
        found[prior.path] = {
            "value": rounded(value),
            "kind": "derived" if moved else "assumed",
            "source": "fit" if moved else "estimate",
            "uncertainty": rounded(
                prior.relative(float(fit.z[index]), float(fit.sigma_z[index])), 2
            ),
            "rows": int(felt[:, index].sum()),
        }
        if not moved:
            found[prior.path]["note"] = "prior that the data did not move or do not reach"
    return found


def site_entries(problem: Problem, constants: Calibration) -> dict[str, dict[str, Any]]:
    """The site factors under the fitted constants, with the rows each rests on."""
    predicted = log_times(problem.rows, constants)
    residuals: dict[str, list[float]] = defaultdict(list)
    for row, log_time in zip(problem.rows, predicted, strict=True):
        if row.run.profile.site:
            left = float(np.log(row.run.measured_step_time_s)) - float(log_time)
            residuals[row.run.profile.site].append(left)
    found: dict[str, dict[str, Any]] = {}
    for site, logs in sorted(residuals.items()):
        if len(logs) < _LEAST_ROWS:
            continue
        factor, sigma, _ = shrunk_median(np.array(logs), _SITES_DIFFER, _SITE_NOISE)
        found[f"site_factor.{site}"] = {
            "value": rounded(float(np.exp(factor))),
            "kind": "derived",
            "source": "fit",
            "note": "uniform factor of this installation; 1 elsewhere",
            "uncertainty": rounded(sigma, 2),
            "rows": len(logs),
        }
    return found


def rounded(value: float, digits: int = 4) -> float:
    """To that many significant digits, so that another machine writes the same file."""
    return float(f"{value:.{digits}g}")


def written(text: str, found: dict[str, dict[str, Any]]) -> str:
    """The calibration file with those constants in it; site factors that are gone are dropped."""
    data = load_yaml(text)
    data["constants"]["site_factor"] = {}
    for path, entry in found.items():
        *groups, name = path.split(".")
        node = data["constants"]
        for group in groups:
            node = node.setdefault(group, {})
        old = node.get(name, {"unit": "1"})
        note = entry.get("note") or _kept_note(old)
        fresh = {"value": entry["value"], "unit": old["unit"], "kind": entry["kind"]}
        fresh |= {"source": _kept_source(old, entry["source"])} | ({"note": note} if note else {})
        node[name] = fresh | {"uncertainty": entry["uncertainty"], "rows": entry["rows"]}
    return str(dump_yaml(data, leaves_in_flow=True, width=100, unicode=True))


def _kept_source(old: dict[str, Any], source: str) -> str | list[str]:
    """Where a constant is from; the source of its prior beside the fit."""
    known = old.get("source")
    return known if isinstance(known, list) and source in known else source


def _kept_note(old: dict[str, Any]) -> str:
    note = str(old.get("note") or "")
    return "" if note.startswith("prior") else note


def left_out(problem: Problem, fit: Fit) -> dict[str, dict[str, float]]:
    """Constants of a fit without each set: one step of the linearised problem from the whole."""
    measured = np.log([row.run.measured_step_time_s for row in problem.rows])
    shipped = problem.at(fit.z).values
    found = {}
    for name in sorted({row.set_name for row in problem.rows}):
        keep = np.array([row.set_name != name for row in problem.rows])
        part = problem.without(keep)
        move, _ = part.linear(fit.log_times[keep], fit.jacobian[keep], measured[keep], fit.z)
        values = problem.at(fit.z + np.clip(move, -1.0, 1.0)).values
        found[name] = {
            path: values[path]
            for path in (prior.path for prior in problem.priors)
            if abs(values[path] / shipped[path] - 1) > _SAME
        }
    return found


def problem_of(rows: Sequence[Row]) -> Problem:
    """The problem of the fitted rows, from the shipped structure and the priors."""
    priors, noise = settings()
    constants = load_calibration()
    used = without_stalls(fitted_rows(rows), constants)
    return Problem(
        rows=used,
        priors=priors,
        constants=constants,
        share=shares(used),
        noise=noise_of(used, noise),
        site_spread=_SITE_SPREAD,
    )


def main() -> None:
    """Fits, prints, and writes what was asked for."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", action="store_true", help="write the shipped file")
    options = parser.parse_args()
    rows = all_rows()
    problem = problem_of(rows)
    print(f"{len(problem.rows)} rows, {len(problem.priors)} constants", flush=True)
    fit = problem.solve(
        lambda step, moved: print(f"step {step + 1}: moved {moved:.3f}", flush=True)
    )
    found = entries(problem, fit)
    fitted = {path: float(entry["value"]) for path, entry in found.items()}
    found |= site_entries(problem, with_values(problem.constants, fitted))
    for path, entry in found.items():
        before = problem.constants.values.get(path)
        now = f"{entry['value']:<12} +-{entry['uncertainty']} ({entry['rows']} rows)"
        print(f"{path:45} {before!s:>24} -> {now}")
    if options.write:
        write_atomically(_FILE, written(_FILE.read_text(encoding="utf-8"), found))
        write_bytes(_LEFT_OUT, file_of(left_out(problem, fit)))


if __name__ == "__main__":
    main()
