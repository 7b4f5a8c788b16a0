"""The default risk of running out of memory, held against published runs that ran, and that failed.

No constant is fitted to it: the chance is that which every answer prints, from the spreads of
`planner.cost.memory.risk`, and the limit is what a search keeps to. A run that ran and is refused
is a false alarm; a configuration that failed and is offered would have cost a place in the queue.
Of the failed configurations it is not known which ran out of memory, and which crashed otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import BoolArray, FloatArray
from planner.cost.memory.risk import memory_risks
from planner.evidence.runs.reading import MeasuredRun
from planner.evidence.validation.predicting import Constants, Costed, costs_by_table
from planner.question.asked.usual import OOM_RISK

RISKS = (0.01, OOM_RISK, 0.1, 0.2, 0.5)
_DECIDE = {"recompute", "sharding", "micro_batch"}
"""Fields of a row without which its memory is a guess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OfRisk:
    """What a limit on the chance refuses, of all sources, as shares from 0 to 1.

    Attributes:
        risk: The limit.
        refused: Of the runs that ran, those whose chance is above it.
        refused_stated: The same of those whose row says all that decides their memory: what they
            recomputed, sharded, and how large a micro-batch was, in words that a plan has.
        offered: Of the configurations that failed, those whose chance is not.
    """

    risk: float
    refused: float
    refused_stated: float
    offered: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OfSource:
    """What the default limit makes of one source.

    Attributes:
        source: Its name.
        ran, refused: Runs that ran, and those of them that the default refuses.
        stated, refused_stated: The same of those whose row says all that decides its memory.
        failed, offered: Configurations that failed, and those of them that the default offers.
    """

    source: str
    ran: int
    refused: int
    stated: int
    refused_stated: int
    failed: int
    offered: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A run that ran and that the default refuses.

    Attributes:
        source, model: Which one.
        chips: How many it used.
        plan: Its mesh and choices.
        chance: To run out of memory, as predicted.
        predicted_bytes, capacity_bytes: Per chip, without the reserve, and what the chip has.
        measured_bytes: Per chip; None where it was not published.
        assumed: What decides its memory and was taken by a rule; empty: nothing.
        partly: What its source says of its memory that a plan cannot; empty: nothing.
    """

    source: str
    model: str
    chips: int
    plan: str
    chance: float
    predicted_bytes: float
    capacity_bytes: float
    measured_bytes: float | None
    assumed: tuple[str, ...]
    partly: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RiskTable:
    """The default risk held against runs: by limit, by source, and each run that it refuses."""

    default: float
    risks: tuple[OfRisk, ...]
    sources: tuple[OfSource, ...]
    refused_runs: tuple[Refused, ...]


def risk_table(runs: Sequence[MeasuredRun], failed: Iterable[tuple[str, float]]) -> RiskTable:
    """The table.

    Args:
        runs: Published runs, which ran.
        failed: Source and chance of each configuration that failed.
    """
    chance, held = chances(runs)
    lost = list(failed)
    at_risk = np.array([each for _, each in lost])
    names = dict.fromkeys([one.run.source for one in runs] + [name for name, _ in lost])
    known = np.isfinite(chance)
    stated = known & _stated(runs)
    return RiskTable(
        default=OOM_RISK,
        risks=tuple(
            OfRisk(
                risk=risk,
                refused=_share_above(chance[known], risk),
                refused_stated=_share_above(chance[stated], risk),
                offered=float((at_risk <= risk).mean()),
            )
            for risk in RISKS
        ),
        sources=tuple(_of_source(name, runs, chance, lost) for name in names),
        refused_runs=tuple(
            _refused(runs[row], float(chance[row]), float(held[row]))
            for row in np.flatnonzero(chance > OOM_RISK).tolist()
        ),
    )


def _share_above(chance: FloatArray, risk: float) -> float:
    """The share of chances above a limit; 0 of none."""
    return float((chance > risk).mean()) if len(chance) else 0.0


def _assumed(measured: MeasuredRun) -> tuple[str, ...]:
    """What decides the memory of a run and its row does not say."""
    return tuple(sorted(_DECIDE & measured.run.filled.keys()))


def _stated(runs: Sequence[MeasuredRun]) -> BoolArray:
    """(n,) whether a row says all that decides its memory, and its plan says the same."""
    return np.array([not (_assumed(one) or one.run.partly) for one in runs], dtype=bool)


def chances(runs: Sequence[MeasuredRun]) -> tuple[FloatArray, FloatArray]:
    """(n,) chances to run out of memory, and (n,) bytes per chip; NaN where a plan is refused."""
    chance, held = (np.full(len(runs), np.nan) for _ in range(2))
    for rows, found in costs_by_table(runs, Constants.of()):
        if isinstance(found, Costed):
            held[rows] = found.costs.memory_per_chip_bytes
            chance[rows] = memory_risks(found.model, found.plans, held[rows])[0]
    return chance, held


def _of_source(
    name: str, runs: Sequence[MeasuredRun], chance: FloatArray, lost: list[tuple[str, float]]
) -> OfSource:
    """The counts of one source."""
    mine = np.array([one.run.source == name for one in runs]) & np.isfinite(chance)
    stated = mine & _stated(runs)
    failed = [each for source, each in lost if source == name]
    return OfSource(
        source=name,
        ran=int(mine.sum()),
        refused=int((chance[mine] > OOM_RISK).sum()),
        stated=int(stated.sum()),
        refused_stated=int((chance[stated] > OOM_RISK).sum()),
        failed=len(failed),
        offered=sum(each <= OOM_RISK for each in failed),
    )


def _refused(measured: MeasuredRun, chance: float, held_bytes: float) -> Refused:
    """A run that the default refuses."""
    run = measured.run
    axes = " ".join(f"{name} {size}" for name, size in run.plan.mesh.items() if size > 1)
    return Refused(
        source=run.source,
        model=run.job.model.name,
        chips=run.plan.chips,
        plan=f"{axes}, micro-batch {run.plan.micro_batch}, recompute {run.plan.recompute}",
        chance=chance,
        predicted_bytes=held_bytes,
        capacity_bytes=run.cluster.chip.memory_bytes,
        measured_bytes=run.measured_memory_bytes,
        assumed=_assumed(measured),
        partly=run.partly,
    )
