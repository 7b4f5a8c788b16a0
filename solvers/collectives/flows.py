"""The least rounds per chunk, rho_S = inf R / C over all C: a linear program, proved in fractions.

With chunks and rounds as fractions the constraints of `expansion` give rho_S for S steps, and
without steps the limit for many. A solver's dual solution is rounded to fractions and made
feasible; it puts a price on every link and port in every step, at most 1 in all for one round of a
step, and shares out the price of a link among the destinations of what is copied. Then

    R / C  >=  sum over chunks and destinations of the cheapest way there in S steps,

which is counted exactly (`check_prices`), however the prices came about. The primal solution is
rounded as well; if it holds exactly and takes as many rounds, rho_S is exact.

Sources: Yang et al., TE-CCL, SIGCOMM 2024, doi:10.1145/3651890.3672249 (collectives as linear
programs); Leighton, Rao, JACM 1999, doi:10.1145/331524.331526 (prices as bounds of flows).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.optimize import OptimizeResult, linprog
from scipy.sparse import csr_array, vstack

from solvers.clock import OutOfTime, check_solved, deadline_of, keep_time, left_s
from solvers.collectives.commodities import Commodity
from solvers.collectives.cuts import Cut, cut_bound
from solvers.collectives.distances import least_steps
from solvers.collectives.expansion import (
    Expansion,
    Oriented,
    expand,
    flows_of,
    oriented,
    representatives,
    send_count,
)
from solvers.collectives.folding import Folded, folded
from solvers.collectives.prices import Prices, check_prices
from solvers.collectives.problem import Goal, Network
from solvers.collectives.symmetry import Permutation

MOST_SENDS = 200_000
"""Flows x links x steps above which the cut bound stands in."""
MOST_COLUMNS = 100_000
"""Variables, once symmetries are used, above which it stands in as well."""
_DENOMINATORS = (1_000, 100_000)
"""Greatest denominators that the solver's numbers are rounded to, in turn."""
_LARGEST = 10**40
"""Common denominators above this are no solution that was rounded well."""

Array = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadBound:
    """A proved lower bound of R / C.

    Attributes:
        steps: S that it holds for; None: for any.
        load: No schedule with so many steps has fewer rounds per chunk.
        exact: Some number of chunks comes as near as one likes, with chunks split at will: the
            bound is rho_S.
        certificate: The prices or the cut that prove it.
    """

    steps: int | None
    load: Fraction
    exact: bool
    certificate: Prices | Cut


def load_bound(
    network: Network,
    goal: Goal,
    steps: int | None = None,
    *,
    group: Sequence[Permutation] = (),
    time_limit_s: float = 60.0,
) -> LoadBound:
    """The greatest lower bound of R / C that is found for S steps, or for any number.

    The flow bound where its linear program is small enough, and the cut bound where it is greater
    or stands in. Without a number of steps a goal that is copied to several nodes has its cut
    bound, which is the limit for many steps if it goes to all nodes.

    Args:
        network: Nodes and links.
        goal: With one chunk per part, e.g. `goal_of(collective, nodes, 1)`.
        steps: S, at least `distances.least_steps`; None: any.
        group: Symmetries of network and goal, all of them (see `symmetry.free_subgroup`).
        time_limit_s: Of all of it; when it ends, the cut bound stands in.

    Raises:
        ValueError: Fewer steps than the farthest chunk needs, a destination that cannot be
            reached, or an all-reduce.
    """
    deadline = deadline_of(time_limit_s)
    fewest = least_steps(network, goal)
    if steps is not None and steps < fewest:
        raise ValueError(f"too few steps, {steps}: the farthest chunk needs {fewest}")
    cut = cut_bound(network, goal, group=group, time_limit_s=time_limit_s)
    from_cut = LoadBound(steps=steps, load=cut.load, exact=False, certificate=cut)
    facing = oriented(network, goal)
    copied = any(len(part.destinations) > 1 for part in facing.parts)
    if steps is None and copied:
        return LoadBound(steps=None, load=cut.load, exact=_reaches_all(facing), certificate=cut)
    flows = flows_of(facing.parts, representatives(facing.network, tuple(group)))
    if send_count(facing.network, flows, steps) > MOST_SENDS:
        return from_cut
    try:
        keep_time(deadline)
        model = expand(facing.network, flows, steps, tuple(group))
        small = folded(model, facing, time_limit_s=left_s(deadline))
        if small.columns > MOST_COLUMNS:
            return from_cut
        found = _solve(small, model.steps, deadline)
        load, exact, prices = _proved(
            network, goal, model, small, found, steps, tuple(group), deadline
        )
    except OutOfTime:
        return from_cut
    if cut.load > load:
        return from_cut
    return LoadBound(steps=steps, load=load, exact=exact, certificate=prices)


def _reaches_all(facing: Oriented) -> bool:
    """Whether every chunk goes to all other nodes: Edmonds' branchings pack up to the cut."""
    return all(len(part.destinations) == facing.network.nodes - 1 for part in facing.parts)


def _proved(
    network: Network,
    goal: Goal,
    model: Expansion,
    small: Folded,
    found: OptimizeResult,
    steps: int | None,
    group: tuple[Permutation, ...],
    deadline: float,
) -> tuple[Fraction, bool, Prices]:
    """The bound that the best rounded prices prove, whether the flows confirm it, the prices."""
    facing = oriented(network, goal)
    values, duals = found.x[small.column_of], _duals(small, found)
    tried: list[tuple[Fraction, bool, Prices]] = []
    for most in _DENOMINATORS:
        keep_time(deadline)
        prices = _prices(facing, model, duals, steps, group, most)
        keep_time(deadline)
        load = check_prices(network, goal, prices, deadline=deadline)
        tried.append((load, _confirmed(model, values, most) == load, prices))
        if tried[-1][1]:
            break
    return max(tried, key=lambda one: one[:2])


def _solve(model: Folded, steps: int, deadline: float) -> OptimizeResult:
    """The fewest rounds, a vertex, with its duals.

    Raises:
        OutOfTime: The deadline passed.
        RuntimeError: The solver failed.
    """
    keep_time(deadline)
    cost = np.zeros(model.columns)
    cost[-steps:] = 1
    rows = vstack([model.copies, model.capacity])
    found = linprog(
        cost, A_ub=rows, b_ub=np.zeros(rows.shape[0]), A_eq=model.balance, b_eq=model.demands,
        method="highs-ds", options={"time_limit": left_s(deadline)},
    )  # fmt: skip
    check_solved(found.status, found.message)
    return found


def _duals(small: Folded, found: OptimizeResult) -> tuple[Array, Array]:
    """The prices of the copies and of the capacities of the expansion, the same on every orbit."""
    rows = small.copies.shape[0]
    copies, capacity = np.split(np.maximum(0.0, -found.ineqlin.marginals), [rows])
    sizes = np.bincount(small.capacity_of, minlength=len(capacity))
    sums = np.bincount(small.capacity_of, weights=capacity, minlength=len(capacity))
    return (copies / small.copy_size)[small.copy_of], (sums / np.maximum(sizes, 1))[
        small.capacity_of
    ]


def _prices(
    facing: Oriented,
    model: Expansion,
    duals: tuple[Array, Array],
    steps: int | None,
    group: tuple[Permutation, ...],
    most: int,
) -> Prices:
    """The dual solution in fractions, made feasible: prices of links and ports, and shares."""
    network, size = facing.network, model.size
    copies, capacity = duals
    rows = _within_one(model, [_fraction(price, most) for price in capacity])
    lanes_of = np.bincount(model.shared, minlength=1)
    paid: dict[tuple[int, int], Fraction] = {}
    ports: dict[tuple[int, int], Fraction] = {}
    for step in range(model.steps):
        first = step * model.rows_per_step
        for link, row in enumerate(model.links.tolist()):
            if rows[first + row]:
                paid[link, step] = rows[first + row] / size
        for port, row in enumerate(model.shared.tolist()):
            if rows[first + row]:
                ports[port, step] = rows[first + row] / int(lanes_of[row])
    total = dict(paid)
    for (port, step), price in ports.items():
        for link in network.shared[port].links:
            total[link, step] = total.get((link, step), Fraction(0)) + price
    shares = _shares(facing, model, [_fraction(share, most) / size for share in copies], total)
    return Prices(steps=steps, group=group, links=paid, shared=ports, shares=shares)


def _fraction(value: float, most: int) -> Fraction:
    return Fraction(float(value)).limit_denominator(most)


def _within_one(model: Expansion, prices: list[Fraction]) -> list[Fraction]:
    """The prices of capacity rows, those of a step divided by its cost where that exceeds 1."""
    carried = _carried(model)
    within: list[Fraction] = []
    for step in range(model.steps):
        of_step = prices[step * model.rows_per_step : (step + 1) * model.rows_per_step]
        cost = sum((p * c for p, c in zip(of_step, carried, strict=True)), Fraction(0))
        within += [price / max(cost, Fraction(1)) for price in of_step]
    return within


def _carried(model: Expansion) -> list[int]:
    """What each capacity row of a step carries per round."""
    column = model.capacity[: model.rows_per_step, [model.columns - model.steps]].toarray()
    return [round(-value) for value in column[:, 0]]


def _shares(
    facing: Oriented,
    model: Expansion,
    copies: list[Fraction],
    total: dict[tuple[int, int], Fraction],
) -> dict[tuple[Commodity, int], dict[tuple[int, int], Fraction]]:
    """What each destination pays of a price, scaled down where together they pay too much."""
    several = [part for part in facing.parts if len(part.destinations) > 1]
    by_end = {(part.source, part.destinations): part for part in several}
    part_of = _parts_of_groups(model, by_end)
    asked: dict[tuple[int, int, int], Fraction] = {}
    for share, send in zip(copies, model.copy_send.tolist(), strict=True):
        key = (
            model.flows[model.send_flow[send]].group,
            int(model.send_link[send]),
            int(model.send_step[send]),
        )
        asked[key] = asked.get(key, Fraction(0)) + share
    found: dict[tuple[Commodity, int], dict[tuple[int, int], Fraction]] = {}
    for share, send in zip(copies, model.copy_send.tolist(), strict=True):
        flow = model.flows[model.send_flow[send]]
        link, step = int(model.send_link[send]), int(model.send_step[send])
        paid = found.setdefault((part_of[flow.group], flow.demands[0][0]), {})
        if share:
            limit = total.get((link, step), Fraction(0)) / asked[flow.group, link, step]
            paid[link, step] = share * min(limit, Fraction(1))
    return found


def _parts_of_groups(
    model: Expansion, by_end: dict[tuple[int, tuple[int, ...]], Commodity]
) -> dict[int, Commodity]:
    """The commodity of each group of flows with several destinations."""
    ends: dict[int, list[int]] = {}
    source: dict[int, int] = {}
    for flow in model.flows:
        ends.setdefault(flow.group, []).extend(node for node, _ in flow.demands)
        source[flow.group] = flow.source
    return {
        group: by_end[source[group], tuple(sorted(nodes))]
        for group, nodes in ends.items()
        if (source[group], tuple(sorted(nodes))) in by_end
    }


def _confirmed(model: Expansion, values: Array, most: int) -> Fraction | None:
    """The rounds that the rounded flows take, counted exactly; None where they do not add up."""
    parts = [_fraction(value, most) for value in values[: -model.steps]]
    scale = math.lcm(1, *(part.denominator for part in parts))
    if scale > _LARGEST or min(parts) < 0:
        return None
    whole = np.array([p.numerator * (scale // p.denominator) for p in parts], dtype=object)
    whole = np.concatenate([whole, np.zeros(model.steps, dtype=object)])
    arrived = _times(model.balance, whole)
    if any(a != scale * round(d) for a, d in zip(arrived, model.demands, strict=True)):
        return None
    if any(excess > 0 for excess in _times(model.copies, whole)):
        return None
    loads = _times(model.capacity, whole)
    carried = _carried(model)
    rounds = Fraction(0)
    for step in range(model.steps):
        of_step = loads[step * model.rows_per_step : (step + 1) * model.rows_per_step]
        rounds += max(Fraction(load, c * scale) for load, c in zip(of_step, carried, strict=True))
    return rounds


def _times(matrix: csr_array, whole: npt.NDArray[np.object_]) -> list[int]:
    """A matrix of whole numbers times a vector of Python's integers, without rounding."""
    entries = matrix.tocoo()
    product = np.zeros(matrix.shape[0], dtype=object)
    factors = np.array([round(value) for value in entries.data], dtype=object)
    np.add.at(product, entries.row, factors * whole[entries.col])
    return list(product)
