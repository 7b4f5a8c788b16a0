"""When fetched weights arrive late, as exact fractions.

    fetch = B h / (carriers T),  B = (N - 1) L,  late where fetch > cycles of computing

with L bytes of weights, T bytes per cycle, h average hops on N chips. The bandwidth basis says what
T belongs to, and so the carriers: N chips (`per_gpu`), one network (`network`) or its links
(`per_link`). `planner.rack.communication.weight_fetch` has the same in floating point over arrays.

Source: Samuthrsindh and Kerdphoksup, Modeling Rack-Scale Data and ZeRO Parallelisms, section III.
"""

from __future__ import annotations

from fractions import Fraction

from planner.network.topology.fit import fitted
from planner.network.topology.forms import link_count
from planner.network.topology.hops import exact_average_hops

EQUATIONS = {
    "per_gpu": "max(compute, B x hops / (N x T)): every GPU injects T bytes per cycle",
    "network": "max(compute, B x hops / T): the whole network carries T bytes per cycle",
    "per_link": "max(compute, B x hops / (links x T)): every link carries T bytes per cycle",
}
"""Cycles of a layer under ZeRO, by bandwidth basis; B = (N - 1) L."""
BASIS_WORDS = (
    "T is the bandwidth of each GPU (per_gpu, the default) unless --basis says otherwise. The "
    "equation that the report prints gives T to the whole network (--basis network), N times "
    "slower: then linear with 7 GPUs and ring with 8 both need 16 L / T cycles, so that ring "
    "cannot hide at 8 what linear cannot at 7, as its figures have it. Per GPU, all of its claims "
    "hold at once for L / T between 0.45 and 0.5 of the computing cycles."
)
"""Why the default is not the printed equation."""


def fetch_factor(topology: str, chips: int, basis: str) -> Fraction:
    """Cycles of a fetch over L / T: (N - 1) h / carriers, exactly.

    Raises:
        InputError: The topology is unknown, or has no such number of chips.
    """
    if chips == 1:
        return Fraction(0)
    wired = fitted(topology, chips)
    carriers = {
        "per_gpu": chips,
        "network": 1,
        "per_link": int(link_count(topology, wired.sizes)),
    }[basis]
    return (chips - 1) * exact_average_hops(wired) / carriers


def exact_latency_ratio(
    topology: str, chips: int, basis: str, *, weight_bytes: float, rate: float, cycles: float
) -> Fraction:
    """Cycles of ZeRO over those of data parallelism, max(1, fetch / computing), exactly.

    Args:
        topology, chips, basis: Of the network.
        weight_bytes: Weights L of the layer.
        rate: Bytes per cycle T.
        cycles: Of computing.
    """
    lean = Fraction(weight_bytes) / Fraction(rate) / Fraction(cycles)
    return max(Fraction(1), lean * fetch_factor(topology, chips, basis))
