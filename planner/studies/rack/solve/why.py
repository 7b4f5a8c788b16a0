"""Why a plan wins, in sentences from numbers: the optimum without each of its choices."""

from __future__ import annotations

from collections.abc import Mapping

from planner.base.units import show_percent
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.solve.answer import RackPoint
from planner.studies.rack.solve.question import RackQuestion

_SAME = 1e-4
_COMPUTING, _FETCHING = "computing", "fetching weights"
_EXCHANGES = {
    "tensor": "exchanges of tensor ranks",
    "pipeline": "transfers between pipeline stages",
    "gradient": "all-reduces of gradients",
}
_NOUNS = {"time": "latency", "energy": "energy", "edp": "energy times latency"}


def plan_words(point: RackPoint) -> str:
    """`6 chips of 32 PEs, ring, zero 6`."""
    chips = "one chip" if point.chips == 1 else f"{point.chips} chips"
    parts = [f"{chips} of {point.pes} PEs"]
    if point.chips > 1:
        parts += [point.topology, mesh_words(point)]
    return ", ".join(parts)


def mesh_words(point: RackPoint) -> str:
    """`zero 4 tp 2`; a dash for one chip."""
    names = {"dp": "zero" if point.zero else "dp", "tp": "tp", "pp": "pp"}
    parts = [f"{names[axis]} {ranks}" for axis, ranks in point.mesh.items() if ranks > 1]
    return " ".join(parts) or "-"


def why_it_wins(
    question: RackQuestion,
    objective: str,
    best: RackPoint,
    rivals: Mapping[str, RackPoint | None],
) -> tuple[str, ...]:
    """A sentence on what the plan does, and one on the best plan without each choice.

    Args:
        question: What was asked.
        objective: `time`, `energy` or `edp`.
        best: The optimum.
        rivals: By choice, the optimum without it; None: there is no other.
    """
    sentences = [_what_bounds(question, best)]
    labels = {
        "chips": "one chip" if best.chips == 1 else f"{best.chips} chips",
        "pes": f"{best.pes} PEs per chip",
        "topology": best.topology,
        "zero": "ZeRO" if best.zero else "whole weights on every data rank",
    }
    for name, rival in rivals.items():
        if rival is None:
            continue
        more = rival.value(objective) / best.value(objective) - 1
        if name in ("topology", "zero") and best.chips == 1:
            continue
        if name == "topology" and more < _SAME:
            continue  # such as two chips, whose line is a ring
        said = "the same" if more < _SAME else f"{show_percent(more)} more"
        sentences.append(
            f"Without {labels[name]} the best plan has {said} {_NOUNS[objective]}: "
            f"{plan_words(rival)}."
        )
    return tuple(sentences)


def _what_bounds(question: RackQuestion, best: RackPoint) -> str:
    """What takes most of the time, what takes the rest, and what share of energy is network."""
    network = sum(
        joules for name, joules in best.energy_by_part_j.items() if name.startswith("network")
    )
    (first, seconds), *others = _exposed(question.assumptions, best)
    bound = f"bound by {first}"
    if others:
        rest = " and ".join(
            f"{name} {show_percent(part / best.latency_s)}" for name, part in others
        )
        bound += f", {show_percent(seconds / best.latency_s)} of the time; {rest}"
    words = plan_words(best)
    shares = f"the network takes {show_percent(network / best.energy_j)} of the energy"
    return f"{words[0].upper()}{words[1:]}: {bound}; {shares}."


def _exposed(assumptions: RackAssumptions, best: RackPoint) -> list[tuple[str, float]]:
    """What the latency is the sum of, by name, the longest first; what is hidden is left out."""
    fetch = best.transfer_s["weight fetch"]
    busy = {_COMPUTING: best.compute_s, _FETCHING: fetch}
    if assumptions.hides_fetch:
        late = fetch > best.compute_s
        busy = (
            {f"{_FETCHING} (computing does not hide it)": fetch}
            if late
            else {_COMPUTING: best.compute_s}
        )
    rest: dict[str, float] = {}
    for name, seconds in best.transfer_s.items():
        if name != "weight fetch":
            noun = _EXCHANGES[name.split()[0]]
            rest[noun] = rest.get(noun, 0.0) + seconds
    parts = {**busy, **rest}
    if assumptions.hides_collectives:
        parts = busy if sum(busy.values()) >= sum(rest.values()) else rest
    return sorted(((n, s) for n, s in parts.items() if s > 0), key=lambda part: -part[1])
