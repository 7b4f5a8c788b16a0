"""Fewer variables where symmetries keep the source of the one commodity that is left.

A group K of symmetries that keep the source permutes destinations, links and nodes. Averaged over
K a solution stays one with the same rounds, so that variables on one orbit may be the same, and of
the rows on one orbit one is enough.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from solvers.clock import deadline_of, keep_time
from solvers.collectives.distances import IntArray
from solvers.collectives.expansion import Expansion, Oriented
from solvers.collectives.problem import Network
from solvers.collectives.symmetry import Group, fixing, link_images, orbits, shared_images

WORTH_SENDS = 1_500
"""Send variables from which symmetries that keep the source are searched for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Folded:
    """The constraints of an expansion with one variable per orbit.

    Attributes:
        columns: The number of variables; the rounds are last.
        balance, demands, copies, capacity: As in `Expansion`.
        column_of: (columns of the expansion,) the variable that stands for each.
        copy_of: (copies of the expansion,) the row that stands for each.
        copy_size: (copies,) how many rows each one stands for.
        capacity_of: (capacity rows,) the least row of the orbit of each.
    """

    columns: int
    balance: csr_array
    demands: npt.NDArray[np.float64]
    copies: csr_array
    capacity: csr_array
    column_of: IntArray
    copy_of: IntArray
    copy_size: IntArray
    capacity_of: IntArray


def folded(model: Expansion, facing: Oriented, *, time_limit_s: float = math.inf) -> Folded:
    """The expansion by the symmetries that keep the source, if one commodity with one is left.

    Args:
        model: The expansion of the goal.
        facing: What was expanded. Of the symmetries that keep the source those are used that map
            the orbits of links of the expansion onto each other.
        time_limit_s: When the search for symmetries ends.

    Raises:
        OutOfTime: The limit passed while they were used.
    """
    deadline = deadline_of(time_limit_s)
    flows = model.flows
    one_commodity = len({flow.group for flow in flows}) == 1 and len(flows) > 1
    if not one_commodity or len(model.send_flow) < WORTH_SENDS:
        return _as_it_is(model)
    network = facing.network
    kept = fixing(network, facing.parts, flows[0].source, time_limit_s=time_limit_s)
    whole, rows = _row_images(model, network, kept)
    kept = tuple(one for one, maps in zip(kept, whole, strict=True) if maps)
    keep_time(deadline)
    return _fold(model, network, kept, rows, deadline) if len(kept) > 1 else _as_it_is(model)


def _as_it_is(model: Expansion) -> Folded:
    copies = np.arange(model.copies.shape[0])
    return Folded(
        columns=model.columns,
        balance=model.balance,
        demands=model.demands,
        copies=model.copies,
        capacity=model.capacity,
        column_of=np.arange(model.columns),
        copy_of=copies,
        copy_size=np.ones_like(copies),
        capacity_of=np.arange(model.capacity.shape[0]),
    )


def _row_images(
    model: Expansion, network: Network, kept: Group
) -> tuple[npt.NDArray[np.bool_], IntArray]:
    """(k,) Which permutations map orbits on orbits, and the images of the rows of a step by those.

    They are a group again, since the others leave some orbit torn.
    """
    images = np.full((len(kept), model.rows_per_step), -1, dtype=np.int64)
    whole = np.ones(len(kept), dtype=np.bool_)
    for rows, moved in (
        (model.links, link_images(network, kept)),
        (model.shared, shared_images(network, kept)),
    ):
        if len(rows):
            images[:, rows] = rows[moved]
            whole &= (images[:, rows] == rows[moved]).all(axis=1)
    return whole, images[whole]


def _fold(
    model: Expansion, network: Network, kept: Group, rows: IntArray, deadline: float
) -> Folded:
    """Columns and rows by the least member of their orbits."""
    nodes = np.array(kept, dtype=np.int64)
    links = link_images(network, kept)
    flow_to = np.full(network.nodes, -1, dtype=np.int64)
    ends = np.array([flow.demands[0][0] for flow in model.flows], dtype=np.int64)
    flow_to[ends] = np.arange(len(ends))
    flows = flow_to[nodes[:, ends]]
    of_sends = _least(flows, links, model.send_flow, model.send_link, model.send_step)
    keep_time(deadline)
    of_stays = _least(flows, nodes, *model.stay)
    keep_time(deadline)
    of_rows = _least(flows, nodes, *model.balance_at)
    columns, sends, stays = model.columns, len(model.send_flow), model.stay.shape[1]
    least = np.empty(columns, dtype=np.int64)
    least[:sends] = of_sends
    least[sends : sends + stays] = sends + of_stays
    least[-model.steps :] = np.arange(columns - model.steps, columns)
    least[model.load] = _load_least(model, links)
    column_of = np.unique(least, return_inverse=True)[1].reshape(-1).astype(np.int64)
    shape = (columns, int(column_of.max()) + 1)
    merge = csr_array((np.ones(columns), (np.arange(columns), column_of)), shape=shape)
    balance_rows = np.unique(of_rows)
    copy_rows = of_sends[model.copy_send]
    chosen, copy_of, copy_size = np.unique(copy_rows, return_inverse=True, return_counts=True)
    row_of_send = np.full(sends, -1, dtype=np.int64)
    row_of_send[model.copy_send] = np.arange(len(model.copy_send))
    first = np.arange(model.steps)[:, None] * model.rows_per_step
    return Folded(
        columns=shape[1],
        balance=(model.balance[balance_rows] @ merge).tocsr(),
        demands=model.demands[balance_rows],
        copies=(model.copies[row_of_send[chosen]] @ merge).tocsr(),
        capacity=(model.capacity @ merge).tocsr(),
        column_of=column_of,
        copy_of=copy_of.reshape(-1),
        copy_size=copy_size,
        capacity_of=(first + orbits(rows)[None]).reshape(-1),
    )


def _least(
    flows: IntArray, places: IntArray, flow: IntArray, place: IntArray, step: IntArray
) -> IntArray:
    """(x,) the least index on the orbit of each of x things, sorted by flow, place and step."""
    width = int(place.max(initial=0)) + 1
    width = max(width, places.shape[1])
    length = int(step.max(initial=0)) + 1
    key = (flow * width + place) * length + step
    best = key.copy()
    for of_flow, of_place in zip(flows, places, strict=True):
        np.minimum(best, (of_flow[flow] * width + of_place[place]) * length + step, out=best)
    found: IntArray = np.searchsorted(key, best)
    return found


def _load_least(model: Expansion, links: IntArray) -> IntArray:
    """(sends,) the least load column on the orbit of the load of each send: by link and step."""
    key = model.send_link * model.steps + model.send_step
    column = np.full(links.shape[1] * model.steps, model.columns, dtype=np.int64)
    column[key] = model.load
    best = model.load.copy()
    for image in links:
        np.minimum(best, column[image[model.send_link] * model.steps + model.send_step], out=best)
    return best
