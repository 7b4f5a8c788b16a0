"""When fetched weights arrive late, as exact fractions.

    fetch = B h / (carriers T),  B = (N - 1) L,  late where fetch > cycles of computing

with L bytes of weights, T bytes per cycle, h average hops on N chips. The bandwidth basis says what
T belongs to, and so the carriers: N chips (`per_gpu`), one network (`network`) or its links
(`per_link`). `planner.studies.rack.model.communication.weight_fetch` has the same in floating
point over arrays.

Source: Samuthrsindh and Kerdphoksup, Modeling Rack-Scale Data and ZeRO Parallelisms, section III.
"""

from __future__ import annotations

from fractions import Fraction

from planner.network.topology.fit import fitted
from planner.network.topology.forms import link_count, ports_per_chip
from planner.network.topology.hops import exact_average_hops
from planner.network.topology.kinds import Topology
from planner.studies.rack.model.machine import FixedTopology

EQUATIONS = {
    "per_gpu": "max(compute, B x hops / (N x T)): every GPU injects T bytes per cycle",
    "network": "max(compute, B x hops / T): the whole network carries T bytes per cycle",
    "per_link": "max(compute, B x hops / (links x T)): every link carries T bytes per cycle",
}
"""Cycles of a layer under ZeRO, by bandwidth basis; B = (N - 1) L."""


def fixed(topology: Topology) -> FixedTopology:
    """Hops and links of a topology with sizes."""
    return FixedTopology(
        chips=topology.chips,
        hops=exact_average_hops(topology),
        links=int(link_count(topology.name, topology.sizes)),
        ports=int(ports_per_chip(topology.name, topology.sizes)),
    )


def fetch_factor(wired: FixedTopology, basis: str) -> Fraction:
    """Cycles of a fetch over L / T: (N - 1) h / carriers, exactly.

    Args:
        wired: The network of N chips.
        basis: What T belongs to.
    """
    carriers = {"per_gpu": wired.chips, "network": 1, "per_link": wired.links}[basis]
    return (wired.chips - 1) * wired.hops / carriers


def named_fetch_factor(topology: str, chips: int, basis: str) -> Fraction:
    """The same for a topology by name.

    Raises:
        InputError: The topology is unknown, or has no such number of chips.
    """
    return fetch_factor(fixed(fitted(topology, chips)), basis)


def exact_latency_ratio(
    wired: FixedTopology, basis: str, *, weight_bytes: float, rate: float, cycles: float
) -> Fraction:
    """Cycles of ZeRO over those of data parallelism, max(1, fetch / computing), exactly.

    Args:
        wired, basis: Of the network.
        weight_bytes: Weights L of the layer.
        rate: Bytes per cycle T.
        cycles: Of computing.
    """
    share = Fraction(weight_bytes) / Fraction(rate) / Fraction(cycles)
    return max(Fraction(1), share * fetch_factor(wired, basis))
