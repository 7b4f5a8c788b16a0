"""The joint fit of the time model's constants to published runs: maximum a posteriori.

Every constant moves on an unbounded scale z, 0 at its prior and 1 one spread away (a factor
exp(spread z), or a share whose log-odds moves by spread z). With p(z) the predicted log time of a
row, y the measured one and q the log site factor of its installation,

    minimise  sum_rows share^2 rho((p(z) + q - y) / noise) + |z|^2 + |q / site_spread|^2,

rho Huber's loss. p is linearised at z, first where the constants are that are there; the robust
linear problem is solved and repeated until z stays. What moves less than that stays as it is, so
that a fit of what is fitted changes nothing. The posterior's covariance is the inverse of the
normal matrix there.

Source: Gauss-Newton with iteratively reweighted residuals, Triggs et al., Bundle Adjustment (2000),
section 4; Huber, Robust Statistics (1981).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.optimize import least_squares

from hardware_db import Calibration, FrozenMap
from planner.assumptions.assumptions import Assumptions, calibrated
from planner.cost.columns import columns_of
from planner.cost.context import CostModel
from planner.cost.evaluate import Alike, alike_of, step_times
from planner.evidence.calibration.posterior import huber_of_rows
from planner.evidence.runs.rows import Run
from planner.plan import PlanTable

Floats = npt.NDArray[np.float64]

_NETWORK = (
    "scale_up_efficiency", "scale_out_efficiency", "scale_up_latency_s", "scale_out_latency_s",
    "ring_hop_s", "exchange_efficiency", "tree_efficiency", "in_switch_latency_s",
    "collective_algorithms", "wire_latency", "latencies", "asymptotic_volume",
)  # fmt: skip
"""What `planner.network` reads of the assumptions."""

_USUAL_NOISE = 0.06
_HUBER = 0.6
_STEP = 0.05
_SETTLED = 0.02
_MOST_STEPS = 8
_MOST_KEPT = 3  # columns: those at the start of a step first, that most constants share


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """A constant before the data: its value, its spread, and the scale of both (log or logit)."""

    path: str
    prior: float
    spread: float
    scale: str

    def value(self, z: float) -> float:
        """The constant z spreads from its prior."""
        if self.scale == "log":
            return float(self.prior * np.exp(self.spread * z))
        odds = np.log(self.prior / (1 - self.prior)) + self.spread * z
        return float(1 / (1 + np.exp(-odds)))

    def z_of(self, value: float) -> float:
        """Where `value` gives a constant."""
        if self.scale == "log":
            return float(np.log(value / self.prior) / self.spread)
        odds = np.log(value / (1 - value)) - np.log(self.prior / (1 - self.prior))
        return float(odds / self.spread)

    def relative(self, z: float, sigma_z: float) -> float:
        """Standard deviation over value where that of z is `sigma_z`."""
        share = 1.0 if self.scale == "log" else 1 - self.value(z)
        return float(self.spread * sigma_z * share)


@dataclass(slots=True, kw_only=True)
class Table:
    """Runs of one job, but for its batch, on one cluster: one evaluation serves all.

    What was found is remembered, since most constants touch few jobs.
    """

    runs: list[Run] = field(default_factory=list)
    known: dict[Assumptions, Floats] = field(default_factory=dict)
    columns: dict[tuple[object, ...], Alike] = field(default_factory=dict)

    def log_times(self, assumptions: Assumptions) -> Floats:
        """(n,) logarithms of the predicted seconds."""
        found = self.known.get(assumptions)
        if found is None:
            model = CostModel.build(self.runs[0].job, self.runs[0].cluster, assumptions)
            found = np.log(step_times(model, self._columns(model)))
            if len(self.known) > 400:
                self.known.clear()
            self.known[assumptions] = found
        return found

    def _columns(self, model: CostModel) -> Alike:
        """The plans' columns, made anew where a constant of the network differs."""
        key = tuple(getattr(model.assumptions, name) for name in _NETWORK)
        if key not in self.columns:
            if (
                len(self.columns) > 1
            ):  # the first is that which all but constants of the network see
                self.columns.popitem()
            batches = np.array([run.job.global_batch for run in self.runs])
            plans = PlanTable.from_plans([run.plan for run in self.runs])
            self.columns[key] = alike_of(model, columns_of(model, plans, batches))
        return self.columns[key]


@dataclass(slots=True, kw_only=True)
class Row:
    """A published run in the fit; `cell` and `set_name` say which rows are not independent."""

    run: Run
    set_name: str
    cell: str
    split: str
    gold: bool
    table: Table = field(default_factory=Table)
    at: int = field(init=False)

    def __post_init__(self) -> None:
        self.at = len(self.table.runs)
        self.table.runs.append(self.run)

    def log_time(self, assumptions: Assumptions) -> float:
        """Logarithm of the predicted seconds."""
        return float(self.table.log_times(assumptions)[self.at])


def table_of(run: Run) -> tuple[object, ...]:
    """What runs of one `Table` share."""
    return replace(run.job, global_batch=1), run.cluster


def log_times(rows: Sequence[Row], constants: Calibration) -> Floats:
    """(n,) predicted log seconds, all site factors 1."""
    found: dict[tuple[object, ...], Assumptions] = {}
    times = np.empty(len(rows))
    for index, row in enumerate(rows):
        job, chip = row.run.job, row.run.cluster.chip
        kernels = (chip.calibration_gemm, chip.calibration_attention)  # rows may state their own
        routed = job.model.moe is not None
        key = (chip.name, *kernels, job.era, job.precision, job.expert_software, job.recipe, routed)
        if key not in found:
            plain = calibrated(
                chip, job.era, job.precision, constants, job.expert_software, job.recipe
            )
            found[key] = replace(plain, site_factor=1.0, **({} if routed else _unfelt(plain)))
        times[index] = row.log_time(found[key])
    return times


def _unfelt(plain: Assumptions) -> dict[str, Any]:
    """What runs without experts do not feel, so that no constant of experts asks for them again."""
    launched = float(plain.expert_host_s > 0)
    unfelt = dict.fromkeys(("routing_bytes", "ep_overlap", "moe_host_s"), 0.0)
    return {**unfelt, "expert_efficiency": 1.0, "expert_host_s": launched}


def with_values(constants: Calibration, values: Mapping[str, float]) -> Calibration:
    """The constants with some of them replaced.

    Raises:
        KeyError: A constant does not exist.
    """
    for path in values:
        if path not in constants.values:
            raise KeyError(path)
    return replace(constants, values=FrozenMap({**constants.values, **values}))


def shares(rows: Sequence[Row]) -> Floats:
    """(n,) what each row counts: less where many rows repeat a cell or cells fill a set."""
    cells: dict[str, set[str]] = defaultdict(set)
    repeats: dict[str, int] = defaultdict(int)
    for row in rows:
        cells[row.set_name].add(row.cell)
        repeats[row.cell] += 1
    return np.array([len(cells[row.set_name]) ** -0.2 * repeats[row.cell] ** -0.35 for row in rows])


def noise_of(rows: Sequence[Row], by_set: Mapping[str, float]) -> Floats:
    """(n,) standard deviation of log time about any model."""
    return np.array([by_set.get(row.set_name, _USUAL_NOISE) for row in rows])


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """The posterior.

    Attributes:
        z: (k,) constants on their unbounded scales.
        sites: Site to its log factor in the fit.
        log_times: (n,) predicted at z, without site factors.
        jacobian: (n, k) derivatives of log times by z, there.
        sigma_z: (k,) posterior standard deviations of z.
    """

    z: Floats
    sites: dict[str, float]
    log_times: Floats
    jacobian: Floats
    sigma_z: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """Rows, priors and weights of a fit.

    Attributes:
        rows: n rows.
        priors: k constants.
        constants: What the constants are replaced in.
        share: (n,) of `shares`.
        noise: (n,) of `noise_of`.
        site_spread: Prior standard deviation of the log site factors.
    """

    rows: Sequence[Row]
    priors: Sequence[Prior]
    constants: Calibration
    share: Floats
    noise: Floats
    site_spread: float

    @property
    def weight(self) -> Floats:
        """(n,) what multiplies a residual."""
        return self.share / self.noise

    def at(self, z: Floats) -> Calibration:
        """The constants at z."""
        pairs = zip(self.priors, z, strict=True)
        return with_values(self.constants, {p.path: p.value(float(x)) for p, x in pairs})

    def solve(self, told: Callable[[int, float], None] = lambda step, moved: None) -> Fit:
        """The posterior; `told` hears of every step and how far it moved."""
        z = np.array([prior.z_of(self.constants.values[prior.path]) for prior in self.priors])
        measured = np.log([row.run.measured_step_time_s for row in self.rows])
        for step in range(_MOST_STEPS):
            here = log_times(self.rows, self.at(z))
            jacobian = self._jacobian(z, here)
            move, sites = self.linear(here, jacobian, measured, z)
            told(step, float(np.abs(move).max()))
            if np.abs(move).max() < _SETTLED:
                break
            z = z + np.clip(move, -1.0, 1.0)
        else:
            here = log_times(self.rows, self.at(z))
            jacobian = self._jacobian(z, here)
        return self._posterior(z, sites, measured, here, jacobian)

    def linear(
        self, here: Floats, jacobian: Floats, measured: Floats, z: Floats
    ) -> tuple[Floats, dict[str, float]]:
        """The move of z and the site factors that solve the problem linearised at z."""
        names, belongs = self._sites()
        design = np.hstack([jacobian, belongs]) * self.weight[:, None]
        anchors = np.diag(
            np.concatenate([np.ones(len(z)), np.full(len(names), 1 / self.site_spread)])
        )
        whole = np.vstack([design, anchors])
        target = np.concatenate([self.weight * (measured - here), -z, np.zeros(len(names))])

        solution = least_squares(
            lambda x: whole @ x - target,
            np.zeros(whole.shape[1]),
            jac=lambda x: whole,
            loss=self._loss,
            xtol=1e-10,
            ftol=1e-12,
        ).x
        return solution[: len(z)], dict(zip(names, solution[len(z) :], strict=True))

    def without(self, keep: npt.NDArray[np.bool_]) -> Problem:
        """The same with some of the rows."""
        rows = [row for row, kept in zip(self.rows, keep, strict=True) if kept]
        return replace(self, rows=rows, share=self.share[keep], noise=self.noise[keep])

    def _loss(self, squares: Floats) -> Floats:
        """share^2 rho((residual / noise)^2) of rows, squares of the others."""
        scale = np.concatenate([self.share**2, np.ones(len(squares) - len(self.rows))])
        rho = huber_of_rows(len(self.rows), _HUBER)(squares / scale)
        rho[0] *= scale
        rho[2] /= scale
        return rho

    def _sites(self) -> tuple[list[str], Floats]:
        sites = [row.run.profile.site for row in self.rows]
        names = sorted({site for site in sites if site})
        return names, np.array([[site == name for name in names] for site in sites], dtype=float)

    def _jacobian(self, z: Floats, here: Floats) -> Floats:
        columns = []
        for index in range(len(z)):
            moved = z.copy()
            moved[index] += _STEP
            columns.append((log_times(self.rows, self.at(moved)) - here) / _STEP)
        return np.stack(columns, axis=1)

    def _posterior(
        self, z: Floats, sites: dict[str, float], measured: Floats, here: Floats, jacobian: Floats
    ) -> Fit:
        names, belongs = self._sites()
        factors = belongs @ np.array([sites[name] for name in names]) if names else 0.0
        left = (here + factors - measured) / self.noise
        huber = np.sqrt(np.minimum(1.0, _HUBER / np.maximum(np.abs(left), 1e-12)))
        design = np.hstack([jacobian, belongs]) * (self.weight * huber)[:, None]
        prior = np.concatenate([np.ones(len(z)), np.full(len(names), self.site_spread**-2)])
        covariance = np.linalg.inv(design.T @ design + np.diag(prior))
        return Fit(
            z=z,
            sites=sites,
            log_times=here,
            jacobian=jacobian,
            sigma_z=np.sqrt(np.diag(covariance))[: len(z)],
        )
