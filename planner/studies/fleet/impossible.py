"""Why a fleet has no schedule, and the smallest change of one limit that makes one possible."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from planner.base.messages import distinguished
from planner.base.units import DAY_S, plain, show_watts
from planner.studies.fleet.answer import Change
from planner.studies.fleet.choices import Choice
from planner.studies.fleet.program import MONEY, POWER_W
from planner.studies.fleet.question import FleetQuestion
from solvers.fleet import changes as least
from solvers.fleet.changes import Least
from solvers.fleet.listing import earliest_end
from solvers.fleet.problem import UNLIMITED, Fleet


def smallest_changes(
    question: FleetQuestion, choices: Sequence[Choice], program: Fleet, seconds: float
) -> tuple[tuple[str, ...], tuple[Change, ...]]:
    """Why there is no schedule, in sentences, and what would make one possible.

    Args:
        question: The fleet.
        choices: Of all jobs.
        program: Its arrays.
        seconds: Wall time of each search.
    """
    reasons = tuple(_alone(question, program))
    limits = list(_limits(question, program, seconds))
    changes = [change for name, ask, words in limits if (change := _change(name, ask(), words))]
    if not reasons:
        names = ", ".join(dict.fromkeys(change.limit for change in changes))
        reasons = (
            (f"the limits cannot all be kept at once; each of these alone could give way: {names}",)
            if changes
            else ("no change of one limit alone was found that makes a schedule possible",)
        )
    return reasons, tuple(changes)


def _change(
    name: str, found: Least | None, words: Callable[[int], tuple[str, float]]
) -> Change | None:
    if found is None:
        return None
    text, value = words(found.value)
    return Change(limit=name, words=text, value=value, proved=found.proved)


def _alone(question: FleetQuestion, program: Fleet) -> Iterator[str]:
    """Jobs that have no place even alone."""
    jobs, choices, day = program.jobs, program.choices, question.grid_s / DAY_S
    for at, task in enumerate(question.tasks):
        end = earliest_end(program, at)
        if end is None:
            least_w = float(choices.power[program.rows_of(at)].min()) * POWER_W
            yield f"{task.name}: alone it draws {show_watts(least_w)} at least, more than max_power"
            continue
        last = min(program.horizon, int(jobs.latest[at]))
        if end > last:
            what = "its deadline" if jobs.latest[at] < program.horizon else "the last day"
            yield (
                f"{task.name}: alone it ends on day {end * day:.4g} at the earliest, "
                f"after {what} ({last * day:.4g})"
            )


Row = tuple[str, Callable[[], Least | None], Callable[[int], tuple[str, float]]]


def _limits(question: FleetQuestion, program: Fleet, seconds: float) -> Iterator[Row]:
    """Each limit with the search for its smallest change and the words for it."""
    day = question.grid_s / DAY_S
    if (program.jobs.latest < program.horizon).any():
        yield (
            "deadlines",
            lambda: least.later_deadlines(program, seconds),
            lambda n: (f"every deadline {n * day:.4g} days later", n * day),
        )
    yield (
        "days",
        lambda: least.longer_horizon(program, seconds),
        lambda n: (f"{n * day:.4g} days instead of {program.horizon * day:.4g}", n * day),
    )
    if program.money != UNLIMITED:
        yield (
            "budget",
            lambda: least.more_money(program, seconds),
            lambda n: (
                f"a budget of {plain(n * MONEY, 6)} instead of {plain(program.money * MONEY, 6)}",
                n * MONEY,
            ),
        )
    if program.total_power != UNLIMITED:
        yield (
            "max_power",
            lambda: least.more_power(program, None, seconds),
            lambda n: (
                _instead(n, program.total_power, " for all clusters"),
                n * POWER_W,
            ),
        )
    for at in range(len(question.sites)):
        yield from _limits_of(question, program, at, seconds)


def _instead(needed: float, given: float, where: str) -> str:
    """More power than was given, in words."""
    more, less = distinguished(needed * POWER_W, given * POWER_W, show_watts)
    return f"{more}{where} instead of {less}"


def _limits_of(question: FleetQuestion, program: Fleet, at: int, seconds: float) -> Iterator[Row]:
    """The limits of one cluster."""
    site = question.sites[at]
    yield (
        "chips",
        lambda: least.more_units(program, at, seconds),
        lambda n: (
            f"{n * site.unit_chips:,} chips on {site.name} instead of {site.form.chips:,}",
            float(n * site.unit_chips),
        ),
    )
    if program.power[at] != UNLIMITED:
        yield (
            "max_power",
            lambda: least.more_power(program, at, seconds),
            lambda n: (
                _instead(n, float(program.power[at]), f" on {site.name}"),
                n * POWER_W,
            ),
        )
