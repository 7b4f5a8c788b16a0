"""One row of `planner rack topology`: counts, hops, bisection, load, price of one topology."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from planner.base.arrays import FloatArray, IntArray
from planner.network.topology import forms
from planner.network.topology.hops import exact_average_hops
from planner.network.topology.kinds import Topology
from planner.network.topology.loads import load_of
from planner.network.topology.measures import (
    farthest_latency_s,
    halves,
    least_cut,
    measured_diameter,
    measured_hops,
)
from planner.network.topology.routing import routed_loads
from planner.network.topology.traffic import PATTERNS, read_traffic, traffic_matrix
from planner.network.topology.wiring import Wiring
from planner.studies.rack.topology.rows import LinkFigures, TopologyRow, TrafficAsked
from solvers.bisection import BisectionProblem, fewest_cut

PROVED_NODES = 128
"""Larger graphs get bounds of their bisection only, unless a time limit is given."""
PROOF_S = 10.0
"""How long the bisection of a graph without a closed form is sought where none is given."""


def measured_row(
    name: str,
    topology: Topology | None,
    wiring: Wiring | None,
    traffic: TrafficAsked,
    figures: LinkFigures,
    proof_s: float | None,
) -> TopologyRow:
    """All figures of one topology.

    Args:
        name: What it is called.
        topology: Its name and sizes; None: a graph that has no closed form.
        wiring: Its graph; None: too large.
        traffic: What is sent.
        figures: What links cost.
        proof_s: Time to prove its bisection, where a closed form does not; None: `PROOF_S` for
            graphs up to `PROVED_NODES` nodes, and none for the others.

    Raises:
        InputError: The traffic does not fit the topology.
    """
    counts = _counted(topology, wiring)
    upper, lower = _bisection(topology, wiring, proof_s)
    sent, load = None, None
    if wiring is not None:
        matrix = _matrix(traffic, wiring)
        load = load_of(
            wiring,
            routed_loads(wiring, matrix, topology, traffic.routing),
            bandwidth_bytes_per_s=figures.bandwidth_bytes_per_s,
            energy_j_per_byte=figures.energy_j_per_byte,
        )
        sent = float(matrix.sum())
    return TopologyRow(
        name=name,
        **counts,
        bisection_links=upper,
        bisection_lower=lower,
        traffic_bytes=sent,
        load=load,
        wiring=wiring,
        latency_s=_latency(counts["diameter_hops"], wiring, figures.latency_s),
        price=_price(counts, wiring, figures),
        static_w=_static_power(counts, figures),
    )


def _counted(topology: Topology | None, wiring: Wiring | None) -> dict[str, Any]:
    """Counts and hops, in closed form where there is one, else from the graph."""
    if topology is not None:
        of = topology.name, topology.sizes
        return {
            "chips": topology.chips,
            "links": int(forms.link_count(*of)),
            "ports_per_chip": int(forms.ports_per_chip(*of)),
            "switches": int(forms.switch_count(*of)),
            "switch_ports": int(forms.switch_ports(*of)),
            "average_hops": exact_average_hops(topology),
            "diameter_hops": int(forms.diameter_hops(*of)),
        }
    assert wiring is not None
    return {
        "chips": wiring.chips,
        "links": wiring.link_count,
        "ports_per_chip": wiring.ports_per_chip,
        "switches": wiring.switches,
        "switch_ports": wiring.switch_ports,
        "average_hops": measured_hops(wiring),
        "diameter_hops": measured_diameter(wiring),
    }


def _bisection(
    topology: Topology | None, wiring: Wiring | None, proof_s: float | None
) -> tuple[int, int]:
    """The fewest links known between halves, and a number that none is below."""
    known = None
    if topology is not None:
        known = int(forms.bisection_links(topology.name, topology.sizes))
        if forms.bisection_is_exact(topology.name):
            return known, known
    if wiring is None:
        assert known is not None
        return known, 1
    side, cut = halves(wiring)
    upper = cut if known is None else min(cut, known)
    lower = least_cut(wiring)
    if proof_s is None:
        alone = topology is None and len(wiring.labels) <= PROVED_NODES
        proof_s = PROOF_S if alone else 0.0
    if lower < upper and proof_s > 0:
        edges = np.column_stack([wiring.ends, wiring.links]).tolist()
        problem = BisectionProblem(
            nodes=len(wiring.labels),
            marked=wiring.chips,
            edges=tuple((u, v, links) for u, v, links in edges),
        )
        found = fewest_cut(problem, time_limit_s=proof_s, hint=side.tolist(), at_least=lower)
        upper, lower = min(upper, int(found.objective)), int(found.bound)
    return upper, min(lower, upper)


def _matrix(traffic: TrafficAsked, wiring: Wiring) -> FloatArray:
    if traffic.pattern in PATTERNS:
        return traffic_matrix(traffic.pattern, wiring.chips, traffic.amount_bytes, traffic.seed)
    return read_traffic(Path(traffic.pattern), wiring)


def _latency(diameter_hops: int, wiring: Wiring | None, link_s: float | None) -> float | None:
    """Of the slowest pair of chips; None where some link has no latency."""
    if wiring is None:
        return None if link_s is None else diameter_hops * link_s
    if link_s is None and np.isnan(wiring.figures["latency_s"]).any():
        return None
    return farthest_latency_s(wiring, link_s or 0.0)


def _price(counts: dict[str, Any], wiring: Wiring | None, figures: LinkFigures) -> float | None:
    """Links at their own price, else at the given one, and ports of switches."""
    link = np.nan if figures.link_price is None else figures.link_price
    each, links = np.array([link]), np.array([counts["links"]])
    if wiring is not None:
        own = wiring.figures["price"]
        each, links = np.where(np.isnan(own), link, own), wiring.links
    return _total(each, links, figures.port_price, counts["switch_ports"])


def _static_power(counts: dict[str, Any], figures: LinkFigures) -> float | None:
    link = np.nan if figures.link_w is None else figures.link_w
    links = np.array([counts["links"]])
    return _total(np.array([link]), links, figures.port_w, counts["switch_ports"])


def _total(each: FloatArray, links: IntArray, port: float | None, ports: int) -> float | None:
    """So much per link and so much per port of a switch; None where one of them has none."""
    if np.isnan(each).any() or (ports and port is None):
        return None
    return float(each @ links) + (port or 0.0) * ports
