"""Which reading of the report's bandwidth T agrees with its claims: exact intervals.

With r = (L / T) / computing cycles on sixteen PEs and f = cycles of a fetch over L / T, a fetch is
hidden where r f <= 1. The claims: linear hides it up to 6 GPUs and no further, ring up to 8, a
fully connected network always. Each bounds r from both sides.

Source: Samuthrsindh and Kerdphoksup, Modeling Rack-Scale Data and ZeRO Parallelisms, section IV.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from frozen_records import dataclass
from planner.studies.rack.model.fetching import named_fetch_factor

LAST_HIDDEN = {"linear": 6, "ring": 8}
"""GPUs up to which the report's fully connected layer hides the fetch, as stated."""
MOST_GPUS = 12
"""The largest rack of the report's figures."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """low < r <= high; empty where low >= high."""

    low: Fraction
    high: Fraction

    @property
    def is_empty(self) -> bool:
        """Whether no r satisfies it."""
        return self.low >= self.high

    def meets(self, other: Interval) -> Interval:
        """What lies in both."""
        return Interval(low=max(self.low, other.low), high=min(self.high, other.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What one reading of T needs.

    Attributes:
        letter: A to D.
        basis: The name of the reading.
        linear: r for which linear stops hiding after 6 GPUs.
        all_claims: r for which linear, ring and fully connected do as stated.
        even_counts: The same judged on even numbers of GPUs alone.
        latency_at_12: Ends of the latency over data parallelism at twelve GPUs in a line; over
            `all_claims`, or over `linear` where no r satisfies all.
        plateau_share: Plateau of four GPUs in a line over L / T.
    """

    letter: str
    basis: str
    linear: Interval
    all_claims: Interval
    even_counts: Interval
    latency_at_12: Interval
    plateau_share: Fraction


def readings() -> tuple[Reading, ...]:
    """The four readings: one T for the network, per GPU, per link, or the busiest link's."""
    named = {
        "network": _of_basis("network"),
        "per_gpu": _of_basis("per_gpu"),
        "per_link": _of_basis("per_link"),
        "busiest_link": busiest_link,
    }
    return tuple(
        _reading(letter, name, factor)
        for letter, (name, factor) in zip("ABCD", named.items(), strict=True)
    )


Factor = Callable[[str, int], Fraction]


def _of_basis(basis: str) -> Factor:
    return lambda topology, chips: named_fetch_factor(topology, chips, basis)


def busiest_link(topology: str, chips: int) -> Fraction:
    """Cycles over L / T where the fullest link, both ways together, carries T.

    Each of the N (N - 1) ordered pairs sends L / N. The middle link of a line separates
    floor(N / 2) chips from the others; links of a ring and a fully connected network are equal.
    """
    if topology == "linear":
        left = chips // 2
        return Fraction(2 * left * (chips - left), chips)
    return named_fetch_factor(topology, chips, "per_link")


def _reading(letter: str, basis: str, factor: Factor) -> Reading:
    linear = _stops(factor, "linear", 1)
    every = linear.meets(_stops(factor, "ring", 1)).meets(_never_bound(factor))
    even = _stops(factor, "linear", 2).meets(_stops(factor, "ring", 2)).meets(_never_bound(factor))
    over = linear if every.is_empty else every
    at_12 = factor("linear", MOST_GPUS)
    return Reading(
        letter=letter,
        basis=basis,
        linear=linear,
        all_claims=every,
        even_counts=even,
        latency_at_12=Interval(low=over.low * at_12, high=over.high * at_12),
        plateau_share=factor("linear", 4),
    )


def _stops(factor: Factor, topology: str, step: int) -> Interval:
    """Values of r for which the last hidden rack is the stated one, in steps of 1 or 2 GPUs."""
    last = LAST_HIDDEN[topology]
    return Interval(low=1 / factor(topology, last + step), high=1 / factor(topology, last))


def _never_bound(factor: Factor) -> Interval:
    """Values of r for which a fully connected network hides the fetch on up to `MOST_GPUS`."""
    most = max(factor("fully-connected", chips) for chips in range(2, MOST_GPUS + 1))
    return Interval(low=Fraction(0), high=1 / most)


def basis_words() -> str:
    """Why the default is not the equation that the report prints."""
    needed = next(reading for reading in readings() if reading.basis == "per_gpu").all_claims
    linear, ring = (named_fetch_factor(name, n, "network") for name, n in _TWINS)
    assert linear == ring
    return (
        "The equation that the report prints gives T to the whole network (--basis network): N "
        "times slower than T per GPU (per_gpu, the default). Then a line of 7 GPUs and a ring of 8 "
        f"both take {linear} L / T to fetch, so that neither or both hide it, while by "
        "the figures the line waits and the ring does not. With T per GPU all claims hold at once "
        f"where L / T is above {float(needed.low):g} and up to {float(needed.high):g} of the "
        "computing cycles."
    )


_TWINS = (("linear", 7), ("ring", 8))
"""One waits for its fetch and the other does not, by the report's figures."""
