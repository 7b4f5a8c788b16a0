"""Why no machine within the budgets has a plan, and the least larger budget that frees one."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from frozen_records import dataclass
from planner.answers.diagnosis.uniform import UniformReasons
from planner.base.progress import Progress
from planner.base.units import plural, show_watts
from planner.cost.energy.boundaries import MEASURED
from planner.machine.variants import counts_within, use_of
from planner.results.parts import Diagnosis
from planner.search.columns import BOTH
from planner.search.driver import Driver
from planner.search.infeasible.numbers import rounded_up
from planner.search.infeasible.remedies import power_limit
from planner.search.machines.joint import Machines, MachinesFound
from planner.search.machines.machines import Candidate
from solvers.solution import Status

_FURTHER = 64  # times the chips of a budget: how far a larger one is looked for
_FEWEST = 4096
_MOST_REMEDIES = 4
_FIRST_RUN = 4
_NOUNS = {"total_pes": "PE", "max_links": "link", "max_ports": "port"}


@dataclass(frozen=True, kw_only=True)
class MachineReasons(UniformReasons):
    """Why no machine within the budgets has a plan: a budget, or what the nearest one lacks.

    Attributes:
        machines, outcome: What was searched, and that no machine has a plan.
        on_progress: Called with (what, done, of) while larger budgets are tried.
    """

    machines: Machines
    outcome: MachinesFound
    on_progress: Progress | None = None

    def of_rules(self) -> Diagnosis | None:
        """A budget leaves no machine with a plan, or the rules leave none on the nearest."""
        budgets = _of_budgets(self.machines, self.outcome, self.on_progress)
        return budgets or super().of_rules()


def _of_budgets(
    machines: Machines, found: MachinesFound, on_progress: Progress | None
) -> Diagnosis | None:
    """Which budget leaves no machine with a plan; None where it is none of them.

    A budget is to blame where a plan exists without it; the least use of it that was found to be
    enough is the remedy. Where no single one is, all that have to grow are named together.
    """
    if found.proof.status is not Status.INFEASIBLE:
        return None
    names = [name for name in machines.budgets.given if name != "chips"]
    # Beside limits on time, the diagnosis of one machine says what excludes what.
    timed = machines.limits.step_time_s is not None or machines.limits.mfu is not None
    alone = [(name,) for name in names if name != "max_power" or not (found.alone and timed)]
    freed = [
        one for one in (_enough(machines, group, on_progress) for group in alone) if one is not None
    ]
    if not freed and not found.alone:
        together = _enough(machines, tuple(names), on_progress)
        freed = [] if together is None else [together]
    if not freed:
        return None if found.alone else _nothing_allowed(machines)
    given, at = machines.budgets.given, MEASURED[machines.budgets.power_boundary]
    name, needed = next(iter(freed[0].needed.items()))
    return Diagnosis(
        constraint=" and ".join(map(_label, freed[0].needed)),
        explanation="; ".join(
            f"{_label(name)}: no machine within {_amount(name, given[name])}"
            f"{f' {at}' if name == 'max_power' else ''} has a plan; enough: "
            f"{_amount(name, needed)}"
            for one in freed
            for name, needed in one.needed.items()
        ),
        needed=needed,
        available=given[name],
        remedies=tuple(one.remedy for one in freed[:_MOST_REMEDIES]),
    )


def _nothing_allowed(machines: Machines) -> Diagnosis:
    """No machine has a chip count, and larger budgets of any kind give none a plan."""
    names = [_label(name) for name in machines.budgets.given]
    return Diagnosis(
        constraint=" and ".join(names),
        explanation=f"no machine has a chip count that {', '.join(names)} allow together",
    )


def _label(name: str) -> str:
    return name.replace("_", "-")


def _amount(name: str, value: float) -> str:
    """A budget in words."""
    if name == "max_power":
        return show_watts(value)
    return f"{value:,.6g} mm^2" if name == "max_area" else plural(math.ceil(value), _NOUNS[name])


def _flag(name: str, value: float) -> str:
    """A budget as it is typed, never rounded down."""
    text = f"{math.ceil(value)}"
    if name == "max_power":
        text, _ = power_limit(value)
    elif name == "max_area":
        text = f"{rounded_up(value)}mm2"
    return f"--{_label(name)} {text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Freed:
    """A machine and chips that have a plan within larger budgets, and what those have to be."""

    one: Candidate
    chips: int
    needed: dict[str, float]

    @property
    def remedy(self) -> str:
        """`--max-area 6512mm2: 8 chips of 132 SMs, ring, fat-tree`."""
        flags = " ".join(_flag(name, value) for name, value in self.needed.items())
        return f"{flags} ({plural(self.chips, 'chip')} of {self.one.machine(self.chips).words})"


def _enough(
    machines: Machines, names: tuple[str, ...], on_progress: Progress | None
) -> _Freed | None:
    """The machine and chips with a plan that use the least of budgets above them.

    Of machines that need as much of the first budget, the one that needs the least of the next.
    """
    best, least = None, (math.inf,) * len(names)
    for at, one in enumerate(machines.candidates):
        if on_progress is not None:
            on_progress("machines within larger budgets", at, len(machines.candidates))
        chips = _first_with_plan(machines, at, _without(machines, one, names), least[0], names)
        if chips is None:
            continue
        use = use_of(one.model, chips)
        if "max_power" in names:
            power_w = _least_power(machines, at, chips)
            use["max_power"] = math.inf if power_w is None else power_w
        given = machines.budgets.given
        needed = {name: use[name] for name in names if use[name] > given[name]}
        taken = tuple(use[name] for name in names)
        if needed and taken < least and all(map(math.isfinite, needed.values())):
            best, least = _Freed(one=one, chips=chips, needed=needed), taken
    return best


def _without(machines: Machines, one: Candidate, names: tuple[str, ...]) -> tuple[int, ...]:
    """The chip counts of a machine that some budgets alone forbid.

    Power limits the plans on every count too.
    """
    asked = machines.request.chip_range
    most = max(_FEWEST, _FURTHER * (one.counts[-1] if one.counts else 1))
    larger: dict[str, Any] = dict.fromkeys(names)
    freed = replace(machines.budgets, **larger, chips=float(asked[1] if asked else most))
    counts = counts_within(one.model, freed)
    allowed = () if "max_power" in names else one.counts
    return tuple(n for n in counts if n not in allowed and (asked is None or asked[0] <= n))


def _first_with_plan(
    machines: Machines, at: int, counts: tuple[int, ...], cheaper: float, names: tuple[str, ...]
) -> int | None:
    """The smallest count with a plan and a use of at most `cheaper`; None where none has one.

    Runs of counts, each twice as long as the one before, until one holds a plan; then its counts.
    """
    model, boundary = machines.candidates[at].model, machines.budgets.power_boundary
    start, length = 0, _FIRST_RUN
    while start < len(counts) and use_of(model, counts[start], boundary)[names[0]] <= cheaper:
        run = counts[start : start + length]
        if _has_plan(machines, at, run, names):
            return next(chips for chips in run if _has_plan(machines, at, (chips,), names))
        start, length = start + length, 2 * length
    return None


def _has_plan(machines: Machines, at: int, counts: tuple[int, ...], names: tuple[str, ...]) -> bool:
    limits = machines.limits
    if "max_power" in names:
        limits = replace(limits, power_w=None)
    space = replace(machines.space(at, *counts), columns=BOTH, limits=limits)
    return len(Driver().run(space).points) > 0


def _least_power(machines: Machines, at: int, chips: int) -> float | None:
    """Watts of the plan that draws the least within all other limits."""
    found = Driver().run(replace(machines.space(at, chips), columns=BOTH))
    coolest = found.misses.coolest_fast
    return None if coolest is None else coolest.power_w
