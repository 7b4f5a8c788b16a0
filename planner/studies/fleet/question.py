"""A fleet that was asked for, checked: its grid, its clusters in whole domains, its jobs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from frozen_records import dataclass
from hardware_db import Cluster
from planner.assumptions.file_kinds import with_command
from planner.base.errors import InputError
from planner.base.files import read_yaml_text
from planner.base.messages import Origin, not_one_of, shown
from planner.base.mistakes import mistakes
from planner.base.units import DAY_S, HOUR_S, show_seconds
from planner.question.records import cluster_named, located
from planner.question.request import ARGUMENTS, Request, request_from
from planner.studies.fleet.form import (
    COST,
    LATENESS,
    MOST_SEGMENTS,
    WEIGHTED,
    ClusterForm,
    FleetForm,
    JobForm,
    WeightsForm,
)

_GRIDS_S = tuple(hours * HOUR_S for hours in (0.25, 0.5, 1, 2, 3, 6, 12, 24, 48, 96, 168, 336, 720))
_STEPS = 240
_MOST_STEPS = 2000
_FAR = 1e9  # steps that are not counted further
_ROUNDING = 1e-9
_OWN_OF_FLEET = {
    "hardware": "clusters say it",
    "pools": "a job runs on one cluster",
    "chips": "sizes says it",
    "chips_at_most": "sizes says it",
    "chips_exact": "sizes says it",
    "objective": "the fleet has one",
    "front": "the fleet takes the plans of days and run-energy",
    "budget": "the fleet has one",
    "max_run_energy": "the objective of the fleet may be energy",
    "phases": "they are jobs of their own here",
    "down": "it is asked of one plan: planner solve --down",
    "gap": "plans are proved; that of the schedule is planner fleet --gap",
    "time_limit": "plans are proved; that of the schedule is planner fleet --time-limit",
    "resume_from": "it is asked of one plan: planner solve",
    "layout": "plans of the fleet have uniform stages",
    "pes": "clusters say it",
    "topology": "clusters say it",
    "scale": "clusters say it",
    "price_per_chip_hour": "clusters say it",
    "electricity_price": "clusters say it",
    "prices": "clusters say price_per_chip_hour",
    "pue": "clusters say it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A cluster that jobs share.

    Attributes:
        form: As it was asked for.
        record: Of the database.
        unit_chips: Chips of a domain that is given whole.
        unit_name: What that is, in words.
        units: How many there are.
    """

    form: ClusterForm
    record: Cluster
    unit_chips: int
    unit_name: str
    units: int

    @property
    def name(self) -> str:
        """Its label."""
        return self.form.name


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A job of the fleet.

    Attributes:
        form: As it was asked for.
        fields: Those of its question, on whatever cluster.
        request: The question on the first cluster it may use, checked.
        sites: Positions of the clusters that it may use.
        release, deadline: Steps of the grid; the deadline None: there is none.
        segments: How many it may have.
    """

    form: JobForm
    fields: Mapping[str, Any]
    request: Request
    sites: tuple[int, ...]
    release: int
    deadline: int | None
    segments: int

    @property
    def name(self) -> str:
        """Its label."""
        return self.form.name


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetQuestion:
    """A fleet.

    Attributes:
        form: As it was asked for.
        sites, tasks: Its clusters and jobs.
        grid_s: A step of time.
        steps: How many there are.
    """

    form: FleetForm
    sites: tuple[Site, ...]
    tasks: tuple[Task, ...]
    grid_s: float
    steps: int

    @property
    def objective(self) -> str:
        """What there is to be the least of."""
        return self.form.objective

    @property
    def weights(self) -> WeightsForm:
        """Of the objective `weighted`."""
        return self.form.weights or WeightsForm()

    @property
    def priced(self) -> bool:
        """Whether chips have a price everywhere."""
        return all(site.form.price_per_chip_hour is not None for site in self.sites)

    @property
    def counts_lateness(self) -> bool:
        """Whether jobs may be late, at a price."""
        return self.objective in (LATENESS, WEIGHTED)


def read_fleet(path: Path, changed: Mapping[str, Any]) -> FleetQuestion:
    """The fleet in a file.

    Args:
        path: Of the file.
        changed: Fields at its top that replace those of the file.

    Raises:
        InputError: One line per mistake.
    """
    data, text = read_yaml_text(path)
    if mistaken := with_command(data, "a fleet file", "fleet"):
        raise InputError(f"{path}: {mistaken}")
    origin = Origin(file=str(path), content=text.content, arguments=frozenset(changed), dashes=True)
    data = {**data, **changed}
    if isinstance(jobs := data.get("jobs"), list):
        data["jobs"] = [located(job, path) if isinstance(job, dict) else job for job in jobs]
    if isinstance(sites := data.get("clusters"), list):
        data["clusters"] = [located(one, path) if isinstance(one, dict) else one for one in sites]
    if isinstance(defaults := data.get("defaults"), dict):
        data["defaults"] = located(defaults, path)
    return fleet_from(data, origin)


def fleet_from(data: Mapping[str, Any], origin: Origin = ARGUMENTS) -> FleetQuestion:
    """A checked fleet.

    Args:
        data: Fields of `FleetForm`.
        origin: Names them in messages.

    Raises:
        InputError: One line per mistake.
    """
    known = (*FleetForm.model_fields, *ClusterForm.model_fields, *JobForm.model_fields)
    try:
        form = FleetForm.model_validate(dict(data))
    except ValidationError as error:
        raise InputError("\n".join(mistakes(error, origin.label, known))) from error
    problems = [*_named_twice(form, origin), *_objective_problems(form, origin)]
    sites = []
    for at, cluster in enumerate(form.clusters):
        try:
            sites.append(_site(cluster))
        except InputError as error:
            problems += [f"{origin.label(['clusters', at])}: {line}" for line in _lines(error)]
    if problems:
        raise InputError("\n".join(problems))
    grid_s, steps = _grid(form, origin)
    tasks = []
    for at in range(len(form.jobs)):
        try:
            tasks.append(_task(form, at, sites, (grid_s, steps)))
        except InputError as error:
            problems += [f"{origin.label(['jobs', at])}: {line}" for line in _lines(error)]
    if problems:
        raise InputError("\n".join(problems))
    return FleetQuestion(
        form=form, sites=tuple(sites), tasks=tuple(tasks), grid_s=grid_s, steps=steps
    )


def _lines(error: InputError) -> list[str]:
    return str(error).split("\n")


def _named_twice(form: FleetForm, origin: Origin) -> Iterator[str]:
    groups: tuple[tuple[str, Sequence[ClusterForm | JobForm]], ...] = (
        ("clusters", form.clusters),
        ("jobs", form.jobs),
    )
    for what, entries in groups:
        names = [one.name for one in entries]
        for at, name in enumerate(names):
            if name in names[:at]:
                yield f"{origin.label([what, at, 'name'])}: {shown(name)} is there twice"


def _objective_problems(form: FleetForm, origin: Origin) -> Iterator[str]:
    """What the objective needs, and what it cannot use."""
    weights = form.weights
    costed = form.objective == COST or (
        form.objective == WEIGHTED and (weights is None or weights.cost > 0)
    )
    if costed or form.budget is not None:
        for at, cluster in enumerate(form.clusters):
            if cluster.price_per_chip_hour is None:
                why = "budget" if not costed else f"objective {form.objective}"
                yield (
                    f"{origin.label(['clusters', at, 'price_per_chip_hour'])}: is missing; {why} "
                    "needs what a chip-hour costs (or objective: energy)"
                )
    if weights is not None and form.objective != WEIGHTED:
        yield f"{origin.label(['weights'])}: are those of objective: weighted; leave them out"
    late = form.objective == LATENESS or (
        form.objective == WEIGHTED and weights is not None and weights.lateness > 0
    )
    if late and not any(job.deadline is not None for job in form.jobs):
        yield f"{origin.label(['objective'])}: {form.objective}: no job has a deadline"
    if weights is not None and not (weights.cost or weights.energy or weights.lateness):
        yield f"{origin.label(['weights'])}: all are 0; give one that is more"


def _grid(form: FleetForm, origin: Origin) -> tuple[float, int]:
    """A step of time, and how many there are.

    Raises:
        InputError: There are none, or too many.
    """
    whole_s = form.days * DAY_S
    grid_s = form.grid
    if grid_s is None:
        grid_s = next(one for one in _GRIDS_S if whole_s / one <= _STEPS or one == _GRIDS_S[-1])
    steps = math.floor(min(whole_s / grid_s, _FAR) + _ROUNDING)
    label = origin.label(["grid"])
    if steps < 1:
        raise InputError(f"{label}: {show_seconds(grid_s)} is more than all days; at most that")
    if steps > _MOST_STEPS:
        least = show_seconds(whole_s / _MOST_STEPS)
        made = f"{steps:,}" if steps < _FAR else f"more than {_FAR:,.0f}"
        raise InputError(
            f"{label}: {show_seconds(grid_s)} makes {made} steps of the {form.days:g} days; at "
            f"least {least}, which makes {_MOST_STEPS:,}"
        )
    return grid_s, steps


def _site(form: ClusterForm) -> Site:
    """A cluster in whole domains.

    Raises:
        InputError: It is not known, or gives not so many.
    """
    record = cluster_named(form.hardware)
    if form.chips > record.max_chips:
        raise InputError(
            f"chips: {form.chips:,} is more than {record.name} is modelled for "
            f"({record.max_chips:,})"
        )
    chips, name = _domain(form, record)
    if form.chips % chips:
        near = [n for n in (form.chips // chips * chips, -(-form.chips // chips) * chips) if n]
        raise InputError(
            f"chips: {form.chips:,} is no whole number of {name} domains of {chips:,}; nearest: "
            f"{' and '.join(f'{one:,}' for one in near)}"
        )
    return Site(
        form=form, record=record, unit_chips=chips, unit_name=name, units=form.chips // chips
    )


def _domain(form: ClusterForm, record: Cluster) -> tuple[int, str]:
    """Chips of a domain that is given whole, and its name."""
    sizes = {level.name: level.domain_chips for level in record.levels if level.domain_chips}
    if form.whole is not None:
        if form.whole not in sizes:
            raise InputError(f"whole: {not_one_of(form.whole, sizes)}")
        return max(sizes[form.whole] or 1, 1), form.whole
    first = record.levels[0]
    inner = first.domain_chips or 0
    if first.kind == "scale-up" and record.node_chips < inner <= form.chips and not first.torus:
        return inner, first.name
    return min(record.node_chips, form.chips), "node"


def _task(form: FleetForm, at: int, sites: Sequence[Site], grid: tuple[float, int]) -> Task:
    """A checked job.

    Raises:
        InputError: One line per mistake, with the field first.
    """
    job, names = form.jobs[at], [site.name for site in sites]
    extra = job.model_extra or {}
    own = {**form.defaults, **extra}
    refused = [
        f"{name}: {shown(own[name])} has no place in a job of a fleet: {why}"
        for name, why in _OWN_OF_FLEET.items()
        if name in own
    ]
    refused += [
        f"clusters: {not_one_of(one, names)}" for one in job.clusters or () if one not in names
    ]
    segments = _segments(job)
    if refused:
        raise InputError("\n".join(refused))
    used = tuple(names.index(one) for one in dict.fromkeys(job.clusters or names))
    request = request_from(
        {**own, **site_fields(sites[used[0]])}, ARGUMENTS, needed=("model", "train_tokens")
    )
    grid_s, steps = grid
    release = math.ceil(job.start / grid_s - _ROUNDING)
    if release >= steps:
        raise InputError(f"start: {show_seconds(job.start)} is after the last day")
    deadline = None if job.deadline is None else math.floor(job.deadline / grid_s + _ROUNDING)
    if deadline is not None and deadline <= release:
        raise InputError(
            f"deadline: {show_seconds(job.deadline or 0.0)} is within one step of the grid "
            f"({show_seconds(grid_s)}) of its start, or before it"
        )
    return Task(
        form=job,
        fields=own,
        request=request,
        sites=used,
        release=release,
        deadline=None if deadline is None else min(deadline, steps),
        segments=segments,
    )


def _segments(job: JobForm) -> int:
    """How many segments a job may have.

    Raises:
        InputError: Too many, or none.
    """
    if job.resizable is True or job.resizable is False:
        return 1 + job.resizable
    if not 1 <= job.resizable <= MOST_SEGMENTS:
        raise InputError(
            f"resizable: {job.resizable} segments: must be true, false or 1 to {MOST_SEGMENTS}"
        )
    return job.resizable


def site_fields(site: Site) -> dict[str, Any]:
    """The fields of a question that a cluster says."""
    form = site.form
    given = {
        "hardware": form.hardware,
        "price_per_chip_hour": form.price_per_chip_hour,
        "electricity_price": form.electricity_price,
        "pue": form.pue,
    }
    return {name: value for name, value in given.items() if value is not None}
