"""Fits the constants of NCCL's collectives to measured calls, and holds out one system at a time.

With t(x) the predicted and y the measured seconds of a call, the constants x minimise

    sum over calls of weight x rho(log(t(x) / y) / noise) + sum of (log(x / prior) / spread)^2

rho(d) = 2 (sqrt(1 + d^2) - 1), the weight of a system's calls falling slowly with their number.
Without --write the constants and errors are printed. With it the constants go into the file of the
package, the tables between `<!-- begin: NAME -->` and `<!-- end: NAME -->` of the page and of
docs/accuracy.md are replaced, and the picture goes into docs/pictures.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt
from accuracy import as_markdown, rewritten, rewritten_pages
from scipy.optimize import least_squares

from hardware_db import Calibration, FrozenMap, load_calibration
from planner.base.errors import InputError
from planner.base.files import write_all
from planner.evidence.validation.answer import Validation
from planner.evidence.validation.collective_systems import kind_of
from planner.evidence.validation.collectives import (
    Measured,
    collective_scores,
    measured_collectives,
    nccl_predicted_s,
)
from planner.report.charts.nccl import nccl_picture
from planner.report.pages.picture_file import picture_bytes
from planner.report.tables.validation_tables import Table, collective_table, nccl_table, percent

Floats = npt.NDArray[np.float64]
ROOT = Path(__file__).resolve().parent.parent
CONSTANTS = ROOT / "hardware_db" / "data" / "calibration" / "nccl.yaml"
ACCURACY = ROOT / "docs" / "accuracy.md"
PICTURE = "nccl-measured.svg"
NOISE = 0.1
"""Relative error of a call that counts as usual."""
WEIGHT = 0.3
"""A system of n calls counts as n^(1 - WEIGHT)."""
MOVED = 0.05
"""A constant moves a call if its time changes by this share of the constant's change."""


@dataclass(frozen=True, slots=True)
class Prior:
    """A constant before the data: its path, its value, and the spread of its logarithm."""

    path: str
    value: float
    spread: float


PRIORS = (
    Prior("latency.scale_up_s", 8e-6, 1.0),
    Prior("latency.infiniband_s", 20e-6, 1.0),
    Prior("latency.virtual_s", 10e-6, 1.0),
    Prior("latency.efa_s", 50e-6, 1.0),
    Prior("latency.efa_v1_s", 100e-6, 1.0),
    Prior("latency.tcpx_s", 400e-6, 1.0),
    Prior("latency.in_switch_s", 60e-6, 0.5),
    Prior("latency.in_switch_tree_s", 200e-6, 0.3),
    Prior("step_factor.scale_up", 1.0, 0.5),
    Prior("step_factor.rack", 1.0, 0.7),
    Prior("step_factor.scale_out", 1.0, 0.7),
    Prior("efficiency.pcie", 0.75, 0.2),
    Prior("efficiency.infiniband", 0.93, 0.1),
    Prior("efficiency.efa", 0.9, 0.15),
    Prior("efficiency.efa_v1", 0.9, 0.15),
    Prior("efficiency.tcpx", 0.5, 0.5),
)
_START = np.log([prior.value for prior in PRIORS])
_SPREAD = np.array([prior.spread for prior in PRIORS])
_PER_SYSTEM = ("system", "calls", "kind of links", "median %", "held out %")


@dataclass(frozen=True, slots=True)
class Fit:
    """Fitted logarithms of the constants, their standard deviations, and the calls each moves."""

    x: Floats
    deviation: Floats
    moved: npt.NDArray[np.int64]


def written(value: float) -> str:
    """A constant as it stands in the file."""
    return f"{value:.3e}" if value < 1e-2 else f"{value:.4g}"


def constants_at(x: Floats) -> Calibration:
    """The shipped constants with others in place of the fitted ones; shares stay below 1."""
    shipped = load_calibration("nccl")
    values = dict(shipped.values)
    for prior, logarithm in zip(PRIORS, x, strict=True):
        value = float(np.exp(logarithm))
        values[prior.path] = min(value, 1.0) if prior.path.startswith("efficiency") else value
    return replace(shipped, values=FrozenMap(values))


def logs(x: Floats, calls: Sequence[Measured]) -> Floats:
    """(n,) logarithms of predicted over measured time."""
    numbers = constants_at(x)
    return np.concatenate(
        [
            np.log(
                nccl_predicted_s(row.system, row.collective, row.chips, row.size_bytes, numbers)
                / row.measured_s
            )
            for row in calls
        ]
    )


def fitted(calls: Sequence[Measured], start: Floats = _START, steps: int = 60) -> Fit:
    """The constants that fit some calls best."""
    weight = np.concatenate(
        [np.full(len(r.size_bytes), len(r.size_bytes) ** -WEIGHT) for r in calls]
    )

    def residuals(x: Floats) -> Floats:
        scaled = logs(x, calls) * np.sqrt(weight) / NOISE
        robust = np.sqrt(2.0 * (np.sqrt(1.0 + scaled**2) - 1.0))
        return np.concatenate([robust, (x - _START) / _SPREAD])

    found = least_squares(residuals, start, diff_step=1e-3, max_nfev=steps)
    here = logs(found.x, calls)
    step = 0.02
    slopes = np.stack(
        [(logs(found.x + step * one, calls) - here) / step for one in np.eye(len(start))]
    )
    normal = (slopes * weight / NOISE**2) @ slopes.T + np.diag(_SPREAD**-2)
    return Fit(
        x=np.log([float(written(value)) for value in np.exp(found.x)]),
        deviation=np.sqrt(np.diag(np.linalg.inv(normal))),
        moved=(np.abs(slopes) > MOVED).sum(axis=1),
    )


def held_out(calls: Sequence[Measured], start: Floats) -> dict[str, Floats]:
    """Absolute errors of each system under constants fitted to all others."""
    errors = {}
    for system in sorted({row.system for row in calls}):
        rest = [row for row in calls if row.system != system]
        own = [row for row in calls if row.system == system]
        errors[system] = np.abs(np.exp(logs(fitted(rest, start, steps=10).x, own)) - 1)
        print(f"held out: {system}", file=sys.stderr)
    return errors


def constants_table(fit: Fit) -> Table:
    """The fitted constants."""
    rows = []
    for prior, x, deviation, moved in zip(PRIORS, fit.x, fit.deviation, fit.moved, strict=True):
        value = float(np.exp(x))
        shown = f"{value * 1e6:.3g} us" if prior.path.endswith("_s") else f"{value:.3g}"
        first = f"{prior.value * 1e6:.3g} us" if prior.path.endswith("_s") else f"{prior.value:.3g}"
        rows.append([f"`{prior.path}`", first, shown, percent(float(deviation)), f"{moved}"])
    header = ("constant", "prior", "fitted", "uncertainty %", "calls it moves")
    return "Fitted constants", header, rows


def systems_table(calls: Sequence[Measured], outside: dict[str, Floats], x: Floats) -> Table:
    """Median errors by system, in the fit and held out."""
    rows = []
    every = np.abs(np.exp(logs(x, calls)) - 1)
    for system, errors in outside.items():
        own = [row for row in calls if row.system == system]
        inside = np.abs(np.exp(logs(x, own)) - 1)
        kind = kind_of(system, own[0].chips)
        rows.append([system, f"{len(errors)}", kind, percent(float(np.median(inside))),
                     percent(float(np.median(errors)))])  # fmt: skip
    all_out = np.concatenate(list(outside.values()))
    rows.append(["all calls", f"{len(all_out)}", "-", percent(float(np.median(every))),
                 percent(float(np.median(all_out)))])  # fmt: skip
    middle = [np.median([float(row[at]) for row in rows[:-1]]) for at in (3, 4)]
    rows.append(["median of the systems", f"{len(outside)}", "-", *(f"{m:.1f}" for m in middle)])
    return "Median absolute error by system", _PER_SYSTEM, rows


def with_values(text: str, fit: Fit) -> str:
    """The file of constants with fitted values, uncertainties and numbers of calls."""
    section, lines = "", []
    found = {
        prior.path: (float(np.exp(x)), float(deviation), int(moved))
        for prior, x, deviation, moved in zip(PRIORS, fit.x, fit.deviation, fit.moved, strict=True)
    }
    for line in text.splitlines():
        if match := re.fullmatch(r"  (\w+):", line):
            section = match[1]
        key = re.match(
            r"    (\w+): \{value: [^,]+, unit: ([^,]+), kind: derived, source: fit", line
        )
        if key and f"{section}.{key[1]}" in found:
            value, deviation, moved = found[f"{section}.{key[1]}"]
            line = (  # noqa: PLW2901
                f"    {key[1]}: {{value: {written(value)}, unit: {key[2]}, kind: derived, "
                f"source: fit, uncertainty: {deviation:.2g}, rows: {moved}}}"
            )
        lines.append(line)
    return "\n".join(lines) + "\n"


def refitted(calls: Sequence[Measured], x: Floats) -> list[Measured]:
    """The calls with predictions of other constants."""
    numbers = constants_at(x)
    return [
        replace(
            row,
            nccl_s=nccl_predicted_s(row.system, row.collective, row.chips, row.size_bytes, numbers),
        )
        for row in calls
    ]


def main() -> int:
    """Fits, then prints or writes."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--write", type=Path, metavar="PAGE", help="page to rewrite")
    options = parser.parse_args()
    calls, _ = measured_collectives()
    fit = fitted(calls)
    constants = constants_table(fit)
    calls = refitted(calls, fit.x)
    systems = systems_table(calls, held_out(calls, fit.x), fit.x)
    answer = Validation(
        runs=None, calls=tuple(calls), collectives=tuple(collective_scores(calls)), left_out={},
        microbench=None, failures=None, energy=None, seconds=0.0,
    )  # fmt: skip
    found = {"constants": as_markdown(constants), "systems": as_markdown(systems)}
    if options.write is None:
        print("\n\n".join(found.values()))
        return 0
    both = {
        "collectives": as_markdown(collective_table(answer)),
        "collectives-nccl": as_markdown(nccl_table(answer)),
    }
    picture = ROOT / "docs" / "pictures" / PICTURE
    try:
        write_all(
            {
                CONSTANTS: with_values(CONSTANTS.read_text(encoding="utf-8"), fit),
                options.write: rewritten(options.write.read_text(encoding="utf-8"), found),
                **rewritten_pages(ACCURACY, both),
                picture: picture_bytes(nccl_picture(calls), picture),
            }
        )
    except (InputError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
