"""What stages that differ gain over the best plan whose stages do not, and whether it is real."""

from __future__ import annotations

from planner.base.units import (
    is_change,
    show_change,
    show_percent,
    show_seconds,
)
from planner.results.certificate import Certificate
from planner.results.result import SolveResult
from planner.results.solved_parts import Stages
from planner.results.words import choice_words, mesh_words

_ROUNDING = 1e-6
"""A gain up to it is the rounding of the solvers' whole numbers."""
_APART = 1 / 3
"""Share of a gain by which the simulated one may be off and still confirm it."""


def within_gap(gap: float, certificate: Certificate) -> bool:
    """Whether a search that is no proof of the optimum ended within the gap asked for."""
    if certificate.gap is None or certificate.status == "optimal":
        return False
    return certificate.gap <= gap + _ROUNDING


def nothing_found_words(result: SolveResult) -> str:
    """That time ended before there was a plan, and what is known all the same."""
    words = "No plan was found before the time limit"
    if result.bound is None:
        return f"{words}; none is excluded either."
    least = result.minimized.noun
    value = result.minimized.show(result.bound)
    return f"{words}; none has less {least} than {value} (proved), others are not excluded."


def gain_words(result: SolveResult) -> str:
    """What stages that differ gain over the best plan whose stages do not."""
    best, uniform, alike = result.objective, result.certificate.uniform, result.stages.uniform
    if best is None or uniform is None or alike is None:
        return "No plan with uniform stages fits."
    least = result.minimized.noun
    plan = f"{mesh_words(alike.plan)}; {choice_words(alike.plan)}"
    gain = 1 - best / uniform
    value = result.minimized.show(uniform)
    if gain < -_ROUNDING:  # where a layout was given
        less = show_change(1 - uniform / best)
        return f"The best plan with uniform stages has {less} less {least}, {value} ({plan})."
    if gain <= _ROUNDING and result.status != "optimal":
        left = result.gap
        more = "" if left is None else f"; up to {show_percent(left)} less {least} is possible"
        return (
            "No plan with uneven stages was found so far that is better than the best uniform one"
            f"{more}."
        )
    if gain <= _ROUNDING:
        return f"Uneven stages gain nothing (0 %): the best uniform plan has as little {least}."
    doubt = unconfirmed_words(result.certificate, result.best_simulated_s, result.stages)
    return " ".join(
        [
            f"Uneven stages take {show_change(gain)} off the {least} of the best uniform plan, "
            f"{value} ({plan}){', by the formula of the cost model' if doubt else ''}.",
            *doubt,
        ]
    )


def unconfirmed_words(certificate: Certificate, best_s: float | None, stages: Stages) -> list[str]:
    """What the simulation says of a gain in time that it does not confirm; empty where it does.

    Args:
        certificate: What is proved of the best plan.
        best_s: Its simulated step time, if it is simulated.
        stages: The best uniform plan, simulated.
    """
    simulated, uniform_s = stages.gain_simulated(best_s), stages.uniform_simulated_s
    if simulated is None or best_s is None or uniform_s is None:
        return []
    if certificate.objective is None or not certificate.uniform:
        return []
    gain = 1 - certificate.objective / certificate.uniform
    if gain <= _ROUNDING or (is_change(simulated) and abs(simulated - gain) <= _APART * gain):
        return []
    change = f"{show_change(simulated)} {'less' if simulated > 0 else 'more'} than"
    change = change if is_change(simulated) else "as long as"
    words = (
        f"Simulated operation by operation the best plan takes {show_seconds(best_s)}, {change} "
        f"the best uniform one, {show_seconds(uniform_s)}"
    )
    lost = simulated < 0 or not is_change(simulated)
    return [f"{words}: expect no gain from it." if lost else f"{words}."]
