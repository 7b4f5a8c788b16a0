"""Quantiles of measured over predicted, per class of situation, weighted by source.

A source is one publication or release of recipes. Its rows share an installation, so that they
say little about another one: a source of c cells (rows that are not independent share a cell)
weighs sqrt(c), divided evenly among its cells. That lies between counting rows, where two
sources would decide, and counting sources, where two rows count as much as seventy.

The quantiles of a dense era are those of its own sources together with all other dense sources,
whose weight is scaled down to `_PRIOR`: partial pooling, so that an era with one source does not
pass the spread within one installation for that between installations. Rows of the test split are
left out. Compare Dunn, Wasserman, Ramdas, Distribution-Free Prediction Sets for Two-Layer
Hierarchical Models, 2022, https://arxiv.org/abs/1809.07441.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from math import exp, pi, sqrt

import numpy as np
from scipy.stats import norm
from scipy.stats import t as student_t

from planner.base.arrays import FloatArray
from planner.evidence.left_out.outcomes import (
    TAIL,
    Entry,
    Outcome,
    is_sound,
    weighted_quantiles,
    weights,
)
from planner.evidence.left_out.tie_fit import fit_ties

_PRIOR = 4.0  # weight of the sources of other eras together: as one source of 16 cells
_PRIOR_SOURCES = 5  # that the spread between dense sources counts for in other classes
_SITE_RUNS = 3  # runs of the user's own that a local calibration is assumed to have
_SITE_SIGMA = 0.10  # prior spread of site factors, as in `planner calibrate`
_LEAST_CELLS = 6  # of a source whose spread within one installation is used


def pooled_weights(
    outcomes: Sequence[Outcome], own: Callable[[Outcome], bool] | None
) -> FloatArray:
    """(n,) weights; the rows that are not `own` weigh at most `_PRIOR` together."""
    weight = weights(outcomes)
    if own is None:
        return weight
    other = np.array([not own(outcome) for outcome in outcomes])
    whole = float(weight[other].sum())
    if other.all() or whole <= _PRIOR:
        return weight
    return np.where(other, weight * _PRIOR / whole, weight)


def pooled(outcomes: Sequence[Outcome], own: Callable[[Outcome], bool] | None) -> FloatArray:
    """(2,) low and high factor of a class that is drawn towards all others; `pooled_weights`."""
    errors = np.array([outcome.error for outcome in outcomes])
    weight = pooled_weights(outcomes, own)
    return np.exp(weighted_quantiles(errors, weight, (TAIL, 1 - TAIL)))


def classes(outcomes: Iterable[Outcome]) -> dict[str, tuple[float, float, list[Outcome]]]:
    """Low factor, high factor and rows of each class of `intervals.time` but the local ones.

    Rows that are alone of their kind of job, framework and chip make the class `unseen`, the
    others those of what is seen.
    """
    rows = [o for o in outcomes if is_sound(o)]
    of_seen = sources_by_seen(rows)
    alone = [o for o in rows if len(of_seen[o.seen]) == 1]
    shared = [o for o in rows if len(of_seen[o.seen]) > 1]
    dense = [o for o in shared if o.kind == "dense" and not o.other_chip]
    found: dict[str, tuple[float, float, list[Outcome]]] = {}
    for era in sorted({o.era for o in dense}):
        own = [o for o in dense if o.era == era]
        low, high = pooled(dense, lambda o, era=era: o.era == era)  # type: ignore[misc]
        found[f"dense.{era}"] = (float(low), float(high), own)
    found["dense.any"] = (*map(float, pooled(dense, None)), dense)  # type: ignore[assignment]
    between = between_sources(dense)
    few = {kind: _of_kind(kind, shared, rows) for kind in ("experts", "adapters")}
    few["other_chips"] = [o for o in rows if o.other_chip]
    few["unseen"] = alone
    for name, some in few.items():
        if some:
            low, high = few_sources(some, between)
            found[name] = (float(low), float(high), some)
    return found


def _of_kind(kind: str, shared: Sequence[Outcome], rows: Sequence[Outcome]) -> list[Outcome]:
    """Rows of a kind that share framework and chip with another source; all where none does."""
    found = [o for o in shared if o.kind == kind]
    return found or [o for o in rows if o.kind == kind]


def ends_of(
    outcome: Outcome,
    found: Mapping[str, tuple[float, float, list[Outcome]]],
    seen: Container[str],
) -> tuple[float, float]:
    """The interval of a row without local runs, as `planner.cost.intervals` chooses it.

    Args:
        outcome: The row.
        found: Of `classes`.
        seen: Kinds of jobs, frameworks and chips that are published.
    """
    name = f"dense.{outcome.era}" if outcome.kind == "dense" else outcome.kind
    low, high, _ = found[name if name in found else "dense.any"]
    wider = {"other_chips": outcome.other_chip, "unseen": outcome.seen not in seen}
    for name in (one for one, holds in wider.items() if holds and one in found):
        low, high = min(low, found[name][0]), max(high, found[name][1])
    return low, high


def sources_by_seen(outcomes: Iterable[Outcome]) -> dict[str, set[str]]:
    """Sources of each kind of job, framework and chip."""
    found: dict[str, set[str]] = defaultdict(set)
    for outcome in outcomes:
        found[outcome.seen].add(outcome.source)
    return dict(found)


def between_sources(outcomes: Sequence[Outcome]) -> float:
    """The variance of the mean errors of sources."""
    means, _ = _two_levels(outcomes)
    return float(means.var(ddof=1))


def few_sources(outcomes: Sequence[Outcome], between_many: float) -> FloatArray:
    """(2,) low and high factor for a new source, as a two-level normal model predicts it.

        x ~ mean of the source means +- t(0.9, d) sqrt((1 + 1/S) tau^2 + s^2)
        tau^2 = ((S - 1) tau_own^2 + d0 tau_many^2) / d,    d = S - 1 + d0

    S sources; tau^2 the variance of their means, drawn towards that of a class with many sources,
    which counts as d0 = `_PRIOR_SOURCES` of them; s^2 the variance of cells within a source;
    Student's t allows for how few sources there are. For classes whose quantiles alone say little
    about the next source.
    Source: Gelman et al., Bayesian Data Analysis, 3rd edition, chapter 5.

    Args:
        outcomes: Of the class.
        between_many: tau_many^2: `between_sources` of the class with many sources.
    """
    means, within = _two_levels(outcomes)
    own = len(means) - 1
    freedom = own + _PRIOR_SOURCES
    squares = float(((means - means.mean()) ** 2).sum())
    between = (squares + _PRIOR_SOURCES * between_many) / freedom
    spread = sqrt((1 + 1 / len(means)) * between + within)
    reach = float(student_t.ppf(1 - TAIL, freedom)) * spread
    return np.asarray(np.exp(means.mean() + np.array([-reach, reach])))


def _two_levels(outcomes: Sequence[Outcome]) -> tuple[FloatArray, float]:
    """(s,) mean error of each source over its cells, and the variance of cells within a source."""
    cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        cells[outcome.source][outcome.cell].append(outcome.error)
    values = [np.array([np.mean(c) for c in some.values()]) for some in cells.values()]
    squares = sum(float(((some - some.mean()) ** 2).sum()) for some in values)
    freedom = sum(len(some) - 1 for some in values)
    return np.array([some.mean() for some in values]), squares / max(freedom, 1)


def within_site(outcomes: Iterable[Outcome], kind: str) -> tuple[FloatArray, list[Outcome]]:
    """Errors left after a factor from three other runs of the same source, and their rows.

    Cells take turns: the median error of the next three cells of a source, shrunk towards none by
    n s0^2 / (n s0^2 + s^2), is taken off each row; s is the spread within the source.
    """
    by_source: dict[str, dict[str, list[Outcome]]] = defaultdict(lambda: defaultdict(list))
    for outcome in outcomes:
        if is_sound(outcome) and outcome.kind == kind:
            by_source[outcome.source][outcome.cell].append(outcome)
    errors: list[float] = []
    rows: list[Outcome] = []
    for source in sorted(by_source):
        cells = [by_source[source][cell] for cell in sorted(by_source[source])]
        if len(cells) < _LEAST_CELLS:
            continue
        middle = np.array([np.median([o.error for o in cell]) for cell in cells])
        spread = 1.4826 * float(np.median(np.abs(middle - np.median(middle))))
        trust = _SITE_RUNS * _SITE_SIGMA**2 / (_SITE_RUNS * _SITE_SIGMA**2 + spread**2)
        for at, cell in enumerate(cells):
            others = [middle[(at + step) % len(cells)] for step in range(1, _SITE_RUNS + 1)]
            site = trust * float(np.median(others))
            errors += [outcome.error - site for outcome in cell]
            rows += cell
    return np.array(errors), rows


def _of_median(outcomes: Sequence[Outcome]) -> float:
    """How far the logarithm of a run lies from the median of others, at 80 %, as cells spread.

        z(0.9) s sqrt(1 + (pi / 2) / n),    n = `_SITE_RUNS`

    s^2 is the variance of cells within a source; that of a median is pi / 2 times that of a mean.
    For classes of few sources, where the factors that they happen to give say little.
    """
    _, within = _two_levels(outcomes)
    reach = float(norm.ppf(1 - TAIL)) * sqrt(within * (1 + pi / 2 / _SITE_RUNS))
    return reach


def _counted(
    path: str, factors: dict[str, float], rows: Sequence[Outcome], why: str
) -> list[Entry]:
    """The factors of a class, and how many rows and sources they rest on."""
    entries = [
        Entry(path=f"{path}.{name}", value=value, note=why) for name, value in factors.items()
    ]
    return [
        *entries,
        Entry(path=f"{path}.rows", value=len(rows)),
        Entry(path=f"{path}.sources", value=len({o.source for o in rows})),
    ]


def fit_intervals(outcomes: Iterable[Outcome]) -> list[Entry]:
    """Every entry of the section `intervals`, from the rows of the fit split."""
    rows = [outcome for outcome in outcomes if outcome.split != "test"]
    entries: list[Entry] = []
    why = "quantile of measured over predicted step time"
    for name, (low, high, some) in classes(rows).items():
        entries += _counted(f"time.{name}", {"low": low, "high": high}, some, why)
    local, wider = _local(rows)
    counted = sorted(sources_by_seen(o for o in rows if is_sound(o)).items())
    seen = [
        Entry(path=path.removeprefix("intervals."), value=len(sources)) for path, sources in counted
    ]
    return [*entries, *local, *fit_ties(rows, wider), *seen]


def _local(rows: Sequence[Outcome]) -> tuple[list[Entry], float]:
    """Classes after a local calibration, and the spread of experts over that of dense models."""
    left = "the same after a site factor from three other runs, as much below as above"
    errors, dense = within_site(rows, "dense")
    eras: list[str | None] = [None, *sorted({o.era for o in dense})]
    entries: list[Entry] = []
    for era in eras:
        weight = pooled_weights(dense, era and (lambda o, era=era: o.era == era))  # type: ignore[misc, arg-type]
        reach = float(weighted_quantiles(np.abs(errors), weight, (1 - 2 * TAIL,))[0])
        own = [o for o in dense if era in (None, o.era)]
        ends = {"low": exp(-reach), "high": exp(reach)}
        entries += _counted(f"time.local.dense.{era or 'any'}", ends, own, left)
    of_any = float(weighted_quantiles(np.abs(errors), weights(dense), (1 - 2 * TAIL,))[0])
    more, experts = within_site(rows, "experts")
    spread = float(weighted_quantiles(np.abs(more), weights(experts), (1 - 2 * TAIL,))[0])
    reach = _of_median(experts)
    ends = {"low": exp(-reach), "high": exp(reach)}
    entries += _counted("time.local.experts", ends, experts, left)
    return entries, spread / of_any
