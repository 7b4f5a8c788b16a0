"""The plans that each job may take: the exact front of days and energy at each number of chips.

Numbers of chips are whole domains by doubling, or those that a job says. A plan is left out where
another of the same number of chips takes neither more days nor more energy; so no plan is looked at
that saves power alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.progress import NotedProgress
from planner.base.units import DAY_S, HOUR_S
from planner.studies.fleet.question import FleetQuestion, Site, Task, site_fields

Ask = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""From the fields of a question to what a store of `sweep` keeps of its answer."""
_KWH_J = 3.6e6


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A plan that a job may take on a cluster.

    Attributes:
        task, site: Positions of the job and the cluster.
        units: Domains that it holds.
        days: Wall time of the run, failures included.
        money: Of the domains that are held, and of electricity; None without a price.
        energy_kwh: Nodes and fabric of the chips that are used.
        power_w: The same, in the mean of a step.
        plan: The plan and what it costs, as a store of `sweep` keeps it.
    """

    task: int
    site: int
    units: int
    days: float
    money: float | None
    energy_kwh: float
    power_w: float
    plan: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The choices of all jobs, and why some have none on some cluster.

    Attributes:
        choices: Of all jobs, by job.
        missing: (job, cluster) to why no plan fits there, where none does.
        asked: Questions, each once.
    """

    choices: tuple[Choice, ...]
    missing: Mapping[tuple[int, int], str]
    asked: int


def found_choices(
    question: FleetQuestion, ask: Ask, on_progress: NotedProgress | None = None
) -> Found:
    """The choices of all jobs; a question that two jobs ask is solved once.

    Args:
        question: The fleet.
        ask: Answers a question.
        on_progress: Called with (what, done, of, note).
    """
    asked = [
        (at, site, chips)
        for at, task in enumerate(question.tasks)
        for site in task.sites
        for chips in sizes_of(task, question.sites[site])
    ]
    known: dict[str, Mapping[str, Any]] = {}
    choices: list[Choice] = []
    missing: dict[tuple[int, int], str] = {}
    for done, (at, site, chips) in enumerate(asked):
        task, place = question.tasks[at], question.sites[site]
        if on_progress is not None:
            on_progress(
                "plans", done, len(asked), f"{task.name} on {chips:,} chips of {place.name}"
            )
        fields = question_of(task, place, chips)
        key = repr(sorted(fields.items(), key=lambda item: item[0]))
        if key not in known:
            known[key] = _answered(ask, fields, f"jobs: {task.name} on {place.name}")
        answer = known[key]
        if answer["diagnosis"] is not None:
            missing.setdefault((at, site), answer["diagnosis"])
        choices += _choices(at, site, place, answer, chips)
    have = {(one.task, one.site) for one in choices}
    kept = {pair: why for pair, why in missing.items() if pair not in have}
    return Found(choices=tuple(choices), missing=kept, asked=len(known))


def _answered(ask: Ask, fields: Mapping[str, Any], label: str) -> Mapping[str, Any]:
    """The answer of a question; a refusal names the job and the cluster."""
    try:
        return ask(fields)
    except InputError as error:
        lines = str(error).split("\n")
        raise InputError("\n".join(f"{label}: {line}" for line in lines)) from error


def question_of(task: Task, site: Site, chips: int) -> dict[str, Any]:
    """The question of a job on exactly so many chips of a cluster."""
    return {
        **task.fields,
        **site_fields(site),
        "chips": chips,
        "chips_exact": True,
        "front": ("days", "run-energy"),
        "objective": "days",
    }


def sizes_of(task: Task, site: Site) -> tuple[int, ...]:
    """The numbers of chips that a job may use on a cluster.

    Raises:
        InputError: None of those that it says are of the cluster.
    """
    if task.form.sizes is not None:
        given = set(site.record.chip_counts(site.form.chips))
        sizes = tuple(sorted(size for size in set(task.form.sizes) if size in given))
        if not sizes:
            raise InputError(
                f"jobs: {task.name}: sizes: {site.name} gives none of "
                f"{', '.join(f'{one:,}' for one in task.form.sizes)} chips"
            )
        return sizes
    return tuple(_doubled(site))


def _doubled(site: Site) -> Iterator[int]:
    """Whole domains by doubling; where a domain is no power of two, that within it as well."""
    counts = set(site.record.chip_counts(site.form.chips))
    inside = 1 << (site.unit_chips.bit_length() - 1)
    units = 1
    while units <= site.units:
        for chips in sorted({units * inside, units * site.unit_chips}):
            if chips in counts:
                yield chips
        units *= 2


def _choices(
    at: int, number: int, site: Site, answer: Mapping[str, Any], chips: int
) -> Iterator[Choice]:
    """The front, which holds the best plan; plans on other numbers of chips are left out."""
    for plan in answer["front"]["plans"]:
        run = plan["run"]
        if plan["chips"] != chips or run["time_s"] is None:  # it hardly ever ends
            continue
        units = -(-chips // site.unit_chips)
        yield Choice(
            task=at,
            site=number,
            units=units,
            days=run["time_s"] / DAY_S,
            money=_money(site, chips, run, units),
            energy_kwh=run["energy_j"] / _KWH_J,
            power_w=plan["power_per_chip_w"] * chips,
            plan=plan,
        )


def _money(site: Site, chips: int, run: Mapping[str, Any], units: int) -> float | None:
    """Money of a run, chips of its domains that it leaves idle included."""
    price = site.form.price_per_chip_hour
    if price is None:
        return None
    idle = units * site.unit_chips - chips
    return float(run["money"] + idle * price * run["time_s"] / HOUR_S)
