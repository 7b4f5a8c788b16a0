"""How well two plans of one job are told apart: ratios of published pairs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from math import exp, log

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.evidence.left_out.outcomes import (
    TAIL,
    Entry,
    Outcome,
    is_sound,
    weighted_quantiles,
)

_NEAR = 0.25  # pairs whose predictions differ by more (logarithm) say little about ties


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """Pairs of near plans of one job.

    A job weighs the same however many plans of it were published, a source the square root of its
    jobs.

    Attributes:
        errors: (n,) of the logarithm of the ratio of their step times, without the sign.
        apart: (n,) choices in which they differ.
        weights: (n,) what each counts.
        jobs, sources: How many.
    """

    errors: FloatArray
    apart: FloatArray
    weights: FloatArray
    jobs: int
    sources: int


def pairs(outcomes: Iterable[Outcome]) -> Pairs:
    """The near plans of every job of sound rows of dense models."""
    by_job: dict[tuple[str, str], list[Outcome]] = defaultdict(list)
    for outcome in outcomes:
        if is_sound(outcome) and outcome.kind == "dense":
            by_job[outcome.source, outcome.job].append(outcome)
    found: dict[str, list[list[tuple[float, int]]]] = defaultdict(list)
    for (source, _), rows in sorted(by_job.items()):
        differences = [
            (abs(one.error - other.error), _apart(one, other))
            for one, other in combinations(rows, 2)
            if 1e-9 < abs(log(one.predicted_s / other.predicted_s)) < _NEAR
        ]
        if differences:
            found[source].append(differences)
    errors, mass = [], []
    for jobs in found.values():
        for differences in jobs:
            errors += differences
            mass += [len(jobs) ** -0.5 / len(differences)] * len(differences)
    of_pairs = np.array(errors, dtype=np.float64).reshape(-1, 2)
    return Pairs(
        errors=of_pairs[:, 0],
        apart=of_pairs[:, 1],
        weights=np.array(mass),
        jobs=sum(len(jobs) for jobs in found.values()),
        sources=len(found),
    )


def _apart(one: Outcome, other: Outcome) -> int:
    """In how many choices two plans differ."""
    return sum(a != b for a, b in zip(one.choices, other.choices, strict=True))


def fit_ties(rows: Sequence[Outcome], wider: float) -> list[Entry]:
    """Ratios of two plans of one job that are too close to call.

    Args:
        rows: Of the fit split.
        wider: Spread of experts within one site over that of dense models: hardly any pairs of
            plans with experts are published.
    """
    found = pairs(rows)
    wide = float(weighted_quantiles(found.errors, found.weights, (1 - 2 * TAIL,))[0])
    differ = found.apart > 0
    each = found.errors[differ] / np.sqrt(found.apart[differ])
    sigma = 1.4826 * float(weighted_quantiles(each, found.weights[differ], (0.5,))[0])
    why = "80 % of the ratios of two plans of one job were within this factor of the prediction"
    spread = "robust standard deviation of the logarithm of that ratio, per choice that differs"
    derived = "that of dense models, widened as errors within one site are"
    wider = max(wider, 1.0)
    return [
        Entry(path="tie.dense.factor", value=exp(wide), note=why),
        Entry(path="tie.dense.sigma_per_choice", value=sigma, note=spread),
        Entry(path="tie.dense.pairs", value=len(found.errors)),
        Entry(path="tie.dense.jobs", value=found.jobs),
        Entry(path="tie.dense.sources", value=found.sources),
        Entry(path="tie.experts.factor", value=exp(wide * wider), note=derived),
        Entry(path="tie.experts.sigma_per_choice", value=sigma * wider, note=derived),
    ]
