"""Clocks per operation on the front of an answer in a terminal."""

from __future__ import annotations

from planner.base.units import plural, show_joules, show_percent, show_seconds
from planner.report.tables.operation_clocks import ClocksTable
from planner.results.operation_clocks import WORTH, OperationFront
from planner.results.words import mesh_words

_HEADER = ("step time", "one clock", "per operation", "saved", "mixed", "at most saved", "plan")
_LATE = "Time ended before all plans were looked at: a longer time limit may find more."


def front_clocks_lines(found: OperationFront) -> list[str]:
    """What is saved on the front, and what no clocks exceed, in a sentence or two."""
    best = max(found.points, key=lambda point: point.saved)
    most = max(point.most_saved for point in found.points)
    where = "the front's point" if len(found.points) == 1 else "a point of the front"
    taken = f"a change of the clock takes {show_seconds(found.switching_s)} (assumed)"
    used = (
        f"per operation they save up to {show_percent(best.saved)} of the joules of {where}, where "
        f"{taken}"
    )
    if best.saved <= 0:
        used = f"per operation none were found that save joules on the front, where {taken}"
    elif not best.worth:
        used += f": under {show_percent(WORTH)}, so they stay one per plan"
    lines = [f"{used}. No plan with any clocks saves more than {show_percent(most)} (proved)."]
    if not found.in_time:
        return [*lines, _LATE]
    if not found.unsought:
        return lines
    some = f"{found.unsought} of {plural(len(found.points), 'point')} of the front"
    return [*lines, f"At {some} the clocks of some plans were not sought: they may save more."]


def _sought(found: OperationFront) -> str:
    """For which plans whole clocks were sought."""
    every = ", the best found of all plans that could need less"
    if not found.unsought:
        return every
    return f"{every}, but for {plural(found.unsought, 'point')}, where some were not looked at"


def front_clocks_table(found: OperationFront) -> ClocksTable:
    """Each point, with what clocks per operation need, and the bound over all plans."""
    rows = [
        (
            show_seconds(point.step_time_s),
            show_joules(point.one_clock_j),
            show_joules(point.energy_j),
            show_percent(max(point.saved, 0.0)),
            show_joules(point.mixed_j),
            show_percent(point.most_saved),
            f"{mesh_words(point.plan)}; {point.plan.schedule}",
        )
        for point in found.points
    ]
    proof = f"The joules with mixed clocks are proved to {show_percent(found.gap)}"
    if found.left:
        proof += f", but for {plural(found.left, 'point')}, whose bound is further away"
    words = (
        f"{proof}: {plural(found.considered, 'plan')} could need less than the front by the first "
        f"bound, the operations of {found.bounded:,} were looked at, and "
        f"{plural(found.solved, 'linear program')} solved. Mixed: an operation changes its clock "
        f"while it runs, in no time; per operation: whole clocks of the plan that is named, a "
        f"change takes {show_seconds(found.switching_s)}{_sought(found)}."
        f"{'' if found.in_time else f' {_LATE}'}"
    )
    return ClocksTable(
        title="Clocks per operation within the step times of the front",
        words=(words,),
        header=_HEADER,
        rows=tuple(rows),
        right=_HEADER[:-1],
    )
