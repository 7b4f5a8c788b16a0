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
from planner.results.words import choice_words, mesh_words

_ROUNDING = 1e-6
"""A gain up to it is the rounding of the solvers' whole numbers."""
_APART = 1 / 3
"""Share of a gain by which the simulated one may be off and still confirm it."""


def within_gap(result: SolveResult, certificate: Certificate) -> bool:
    """Whether a search that is no proof of the optimum ended within the gap asked for."""
    asked = result.asked.get("gap")
    if asked is None or result.status == "optimal":
        return False
    return certificate.gap <= float(asked) + _ROUNDING


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
    best, uniform = result.objective, None
    if result.certificate is not None:
        uniform = result.certificate.uniform
    if best is None or uniform is None or result.uniform is None:
        return "No plan with uniform stages fits."
    least = result.minimized.noun
    plan = f"{mesh_words(result.uniform.plan)}; {choice_words(result.uniform.plan)}"
    gain = 1 - best / uniform
    value = result.minimized.show(uniform)
    if gain < -_ROUNDING:  # where a layout was given
        less = show_change(1 - uniform / best)
        return f"The best plan with uniform stages has {less} less {least}, {value} ({plan})."
    if gain <= _ROUNDING and result.status != "optimal":
        left = show_percent(result.certificate.gap) if result.certificate else ""
        return (
            "No plan with uneven stages was found so far that is better than the best uniform one; "
            f"up to {left} less {least} is possible."
        )
    if gain <= _ROUNDING:
        return f"Uneven stages gain nothing (0 %): the best uniform plan has as little {least}."
    doubt = unconfirmed_words(result)
    return " ".join(
        [
            f"Uneven stages take {show_change(gain)} off the {least} of the best uniform plan, "
            f"{value} ({plan}){', by the formula of the cost model' if doubt else ''}.",
            *doubt,
        ]
    )


def unconfirmed_words(result: SolveResult) -> list[str]:
    """What the simulation says of a gain in time that it does not confirm; empty where it does."""
    simulated, certificate = result.gain_simulated, result.certificate
    if simulated is None or certificate is None or not certificate.uniform:
        return []
    gain = 1 - certificate.objective / certificate.uniform
    if gain <= _ROUNDING or (is_change(simulated) and abs(simulated - gain) <= _APART * gain):
        return []
    best_s, uniform_s = result.best_simulated_s, result.uniform_simulated_s
    assert best_s is not None
    assert uniform_s is not None
    change = f"{show_change(simulated)} {'less' if simulated > 0 else 'more'} than"
    change = change if is_change(simulated) else "as long as"
    words = (
        f"Simulated operation by operation the best plan takes {show_seconds(best_s)}, {change} "
        f"the best uniform one, {show_seconds(uniform_s)}"
    )
    lost = simulated < 0 or not is_change(simulated)
    return [f"{words}: expect no gain from it." if lost else f"{words}."]
