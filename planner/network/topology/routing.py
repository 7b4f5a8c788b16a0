"""Loads of fixed routes: dimension order on grids, local-global-local on dragonflies.

Dimension order corrects the first coordinate first (Dally and Seitz, 1987); where both ways round
a ring are as long, each takes half. A dragonfly routes to the router with the link to the target
group, over it, and on inside (Kim et al., ISCA 2008). Switched trees have shortest paths only.
"""

from __future__ import annotations

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.network.topology.graphs import gateway
from planner.network.topology.kinds import GRIDS, Topology
from planner.network.topology.loads import shortest_loads
from planner.network.topology.wiring import Wiring

ROUTINGS = ("shortest", "fixed")
_AS_GRIDS = {"linear": "mesh", "ring": "torus", "fully-connected": "hyperx"}


def routed_loads(
    wiring: Wiring, traffic: FloatArray, topology: Topology | None, routing: str = "shortest"
) -> FloatArray:
    """Loads of one of `ROUTINGS`; fixed routes need a topology that has them.

    Returns:
        (m, 2) bytes over each edge, as `Load.edge_bytes`.

    Raises:
        InputError: The topology has no fixed routes of its own.
    """
    if topology is not None and topology.name in _AS_GRIDS:
        return dimension_order_loads(wiring, traffic, topology)  # one dimension: the same paths
    if routing == "shortest":
        return shortest_loads(wiring, traffic)
    if topology is not None and topology.name in (*GRIDS, "hypercube"):
        return dimension_order_loads(wiring, traffic, topology)
    if topology is not None and topology.name == "dragonfly":
        return dragonfly_loads(wiring, traffic, topology)
    name = "this graph" if topology is None else topology.name
    raise InputError(f"routing: {name} has no fixed routes; use shortest")


def dimension_order_loads(wiring: Wiring, traffic: FloatArray, topology: Topology) -> FloatArray:
    """Loads of dimension-order routing.

    When dimension i is corrected, a packet from s to t stands at (t_1 .. t_{i-1}, s_i .. s_d); so
    the bytes of a line along i from s_i to t_i are the traffic summed over s_1 .. s_{i-1} and
    t_{i+1} .. t_d.

    Args:
        wiring: Of the topology.
        traffic: (N, N) bytes.
        topology: A grid, a hypercube, a line, a ring or fully connected.
    """
    sizes = (2,) * topology.sizes[0] if topology.name == "hypercube" else topology.sizes
    closed = topology.name in ("torus", "ring")
    direct = topology.name in ("hyperx", "fully-connected")
    numbers = np.arange(wiring.chips).reshape(sizes)
    loads = np.zeros((len(wiring.ends), 2))
    for axis, k in enumerate(sizes):
        before, after = int(np.prod(sizes[:axis])), int(np.prod(sizes[axis + 1 :]))
        shaped = traffic.reshape(before, k, after, before, k, after)
        lines = shaped.sum(axis=(0, 5)).transpose(2, 1, 0, 3).reshape(-1, k, k)
        nodes = np.moveaxis(numbers, axis, -1).reshape(-1, k)
        if direct:
            u, v = np.nonzero(~np.eye(k, dtype=bool))
            _add(loads, wiring, nodes[:, u], nodes[:, v], lines[:, u, v])
            continue
        ways = _onward(k, closed=closed)
        ahead, back = _along(lines * ways), _along((lines * (1.0 - ways))[:, ::-1, ::-1])
        steps = k if closed and k > 2 else k - 1
        onward = np.roll(nodes, -1, axis=1)
        _add(loads, wiring, nodes[:, :steps], onward[:, :steps], ahead[:, :steps])
        turned = nodes[:, ::-1]
        onward = np.roll(turned, -1, axis=1)
        _add(loads, wiring, turned[:, :steps], onward[:, :steps], back[:, :steps])
    return loads


def _onward(k: int, *, closed: bool) -> FloatArray:
    """(k, k) share of the bytes from s to t that goes the way of rising coordinates."""
    s, t = np.indices((k, k))
    if not closed or k == 2:
        return np.asarray(t > s, dtype=np.float64)
    ahead = 2 * ((t - s) % k)
    return np.where(ahead == k, 0.5, (ahead < k).astype(np.float64))


def _along(flows: FloatArray) -> FloatArray:
    """(lines, k) bytes from coordinate i to i + 1 (mod k) of flows that all go that way.

    A link carries what the one before it carries, plus what starts, less what ends between them;
    the one from k - 1 to 0 carries the flows that pass the end.
    """
    k = flows.shape[1]
    s, t = np.indices((k, k))
    past_end = np.where(s > t, flows, 0.0).sum(axis=(1, 2))
    change = flows.sum(axis=2) - flows.sum(axis=1)
    return np.asarray(past_end[:, None] + np.cumsum(change, axis=1), dtype=np.float64)


def dragonfly_loads(wiring: Wiring, traffic: FloatArray, topology: Topology) -> FloatArray:
    """Loads of local-global-local routing.

    Args:
        wiring: Of the topology.
        traffic: (N, N) bytes.
        topology: A dragonfly.
    """
    a, h, p = topology.sizes
    routers = a * (a * h + 1)
    loads = np.zeros((len(wiring.ends), 2))
    first = wiring.chips if p else 0
    if p:
        chips = np.arange(wiring.chips)
        own = first + chips // p
        _add(loads, wiring, chips, own, traffic.sum(axis=1))
        _add(loads, wiring, own, chips, traffic.sum(axis=0))
    each = max(p, 1)
    between = traffic.reshape(routers, each, routers, each).sum(axis=(1, 3))
    source, target = np.indices((routers, routers))
    near, far = source // a, target // a
    apart = near != far
    leaving = np.where(apart, near * a + gateway(a, h, near, far), source)
    landing = np.where(apart, far * a + gateway(a, h, far, near), source)
    for u, v in ((source, leaving), (leaving, landing), (landing, target)):
        moved = (u != v) & (between > 0)
        _add(loads, wiring, first + u[moved], first + v[moved], between[moved])
    return loads


def _add(loads: FloatArray, wiring: Wiring, u: IntArray, v: IntArray, amounts: FloatArray) -> None:
    """Adds bytes from nodes u to v, which are joined, to the loads of their edges."""
    count = len(wiring.labels)
    keys = np.concatenate([wiring.ends @ (count, 1), wiring.ends @ (1, count)])
    order = np.argsort(keys)
    found = order[np.searchsorted(keys, (u * count + v).ravel(), sorter=order)]
    both = np.bincount(found, amounts.ravel(), 2 * len(loads))
    loads += both.reshape(2, -1).T
