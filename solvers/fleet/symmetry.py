"""Clusters that are alike in every respect, and schedules with these in one order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from solvers.fleet.problem import Fleet, Run, Schedule


def alike(fleet: Fleet) -> list[list[int]]:
    """Groups of clusters with the same limits and the same choices for every job."""
    groups: dict[tuple[Any, ...], list[int]] = {}
    choices = fleet.choices
    for at in range(len(fleet.units)):
        here = np.flatnonzero(choices.cluster == at)
        names = [name for name in choices.__slots__ if name != "cluster"]
        rows = sorted(zip(*(getattr(choices, name)[here].tolist() for name in names), strict=True))
        key = (int(fleet.units[at]), int(fleet.power[at]), tuple(rows))
        groups.setdefault(key, []).append(at)
    return [group for group in groups.values() if len(group) > 1]


def canonical(fleet: Fleet, schedule: Schedule) -> Schedule:
    """The schedule with clusters that are alike renamed in the order of their first jobs."""
    renamed = list(range(len(fleet.units)))
    first: dict[int, int] = {}
    for run in schedule:
        first.setdefault(int(fleet.choices.cluster[run.choice]), run.job)
    for group in alike(fleet):
        order = sorted(group, key=lambda at: (first.get(at, len(fleet.jobs)), at))
        for to, at in zip(group, order, strict=True):
            renamed[at] = to
    return tuple(
        Run(job=r.job, choice=_twin(fleet, r.choice, renamed), start=r.start, steps=r.steps)
        for r in schedule
    )


def _twin(fleet: Fleet, row: int, renamed: Sequence[int]) -> int:
    """The same choice on the cluster that its own is renamed to."""
    choices = fleet.choices
    to = renamed[int(choices.cluster[row])]
    if to == choices.cluster[row]:
        return row
    names = [name for name in choices.__slots__ if name != "cluster"]
    same = choices.cluster == to
    for name in names:
        same &= getattr(choices, name) == getattr(choices, name)[row]
    return int(np.flatnonzero(same)[0])
