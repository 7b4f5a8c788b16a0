"""Why a plan wins, in sentences from numbers: the optimum without each of its choices."""

from __future__ import annotations

from collections.abc import Mapping

from planner.rack.answer import RackPoint
from planner.rack.question import RackQuestion
from planner.units import show_percent

_SAME = 1e-4
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
        "chips": f"{best.chips} chips",
        "pes": f"{best.pes} PEs per chip",
        "topology": best.topology,
        "zero": "ZeRO" if best.zero else "whole weights on every data rank",
    }
    for name, rival in rivals.items():
        if rival is None:
            continue
        more = rival.value(objective) / best.value(objective) - 1
        if name == "topology" and (best.chips == 1 or more < _SAME):
            continue  # such as two chips, whose line is a ring
        said = "the same" if more < _SAME else f"{show_percent(more)} more"
        sentences.append(
            f"Without {labels[name]} the best plan has {said} {_NOUNS[objective]}: "
            f"{plan_words(rival)}."
        )
    return tuple(sentences)


def _what_bounds(question: RackQuestion, best: RackPoint) -> str:
    """Which of computing and communication takes the time, and what share of energy is network."""
    fetch = best.transfer_s["weight fetch"]
    rest = sum(best.transfer_s.values()) - fetch
    network = sum(
        joules for name, joules in best.energy_by_part_j.items() if name.startswith("network")
    )
    bound = "computing"
    if question.assumptions.hides_fetch and fetch > best.compute_s:
        bound = "fetching weights, which computing does not hide"
    shares = f"the network takes {show_percent(network / best.energy_j)} of the energy"
    exposed = f" and {show_percent(rest / best.latency_s)} of the time is other communication"
    return (
        f"{plan_words(best)[0].upper()}{plan_words(best)[1:]}: bound by {bound}"
        f"{exposed if rest > 0 else ''}; {shares}."
    )
