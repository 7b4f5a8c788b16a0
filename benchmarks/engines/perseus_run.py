"""Lowtime, the solver of Perseus, and ours on the clocks of one pipeline."""

from __future__ import annotations

from functools import partial

from engines import perseus
from engines.compared import Cell, Outcome, row, timed

_STAGES, _MICRO_BATCHES, _UNIT_S = 4, 8, 0.005
_LIMITS = (1.001, 1.05, 1.1, 1.2, 1.4)
_QUICK_MICRO_BATCHES = 4


def rows(*, quick: bool, repeats: int) -> list[dict[str, Cell]]:
    """A row per limit on the time, relative to all clocks at their fastest.

    Their seconds are of the whole front, which they do not find in parts; ours of all limits.
    """
    pipeline = perseus.invented(_STAGES, _QUICK_MICRO_BATCHES if quick else _MICRO_BATCHES)
    everywhere = [node for own in perseus.orders(pipeline) for node in own]
    fastest, _ = perseus.evaluated(pipeline, dict.fromkeys(everywhere, 0))
    limits = [limit * fastest for limit in _LIMITS]
    front, their_s = timed(partial(perseus.front, pipeline, _UNIT_S), repeats)
    plans, our_s = timed(partial(perseus.per_stage, pipeline, limits), repeats)
    values = [perseus.evaluated(pipeline, plan) for plan in front]
    found = []
    for factor, limit, plan in zip(_LIMITS, limits, plans, strict=True):
        theirs = min(joules for seconds, joules in values if seconds <= limit)
        seconds, joules = perseus.evaluated(pipeline, plan)
        if seconds > limit:
            raise RuntimeError(f"clocks take {seconds} s of {limit}")
        other = Outcome(objective=theirs, seconds=their_s)
        own = Outcome(objective=joules, seconds=our_s, bound=joules)
        found.append(row(f"{_STAGES} stages, within {factor:g} of the fastest", other, own))
    return found
