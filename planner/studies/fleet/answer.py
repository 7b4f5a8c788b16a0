"""What `planner fleet` answers: who runs where and when, at what cost, and why not better."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, field
from typing import Any

from frozen_records import dataclass
from planner.base.frozen import thawed
from planner.base.printable import Shown
from planner.question.provenance import stamped


@dataclass(frozen=True, slots=True, kw_only=True)
class Segment:
    """A job, or one part of it, at one size.

    Attributes:
        chips: That the plan uses.
        held_chips: Of the domains that are held.
        start_day, end_day: On the grid, from day 0.
        run_days: What the plan takes; the rest is rounding.
        power_w: Nodes and fabric, mean of a step.
        plan: The plan and what it costs, with the keys of a plan in docs/json.md.
    """

    chips: int
    held_chips: int
    start_day: float
    end_day: float
    run_days: float
    power_w: float
    plan: Mapping[str, Any] = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "plan": thawed(self.plan)}


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRow:
    """A job and what it got.

    Attributes:
        name, model, cluster: Labels.
        priority: How often a day late counts.
        segments: One, but of jobs that change their size.
        deadline_day: None: there is none.
        late_days: After it.
        money: None without a price.
        energy_kwh: Nodes and fabric (PUE 1).
    """

    name: str
    model: str
    cluster: str
    priority: int
    segments: tuple[Segment, ...]
    deadline_day: float | None
    late_days: float
    money: float | None
    energy_kwh: float

    @property
    def start_day(self) -> float:
        """When it begins."""
        return self.segments[0].start_day

    @property
    def end_day(self) -> float:
        """When it ends, on the grid."""
        return self.segments[-1].end_day

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        segments = [segment.to_dict() for segment in self.segments]
        return {**fields, "segments": segments}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRow:
    """A cluster and how full it is.

    Attributes:
        name, hardware: Labels.
        chips: That there are.
        unit, unit_chips: What is given whole, and its chips.
        used: Share of chip-days until the last job ends that jobs hold.
        peak_chips, peak_power_w: Most at any time.
        max_power_w: Allowed; None: no limit.
    """

    name: str
    hardware: str
    chips: int
    unit: str
    unit_chips: int
    used: float
    peak_chips: int
    peak_power_w: float
    max_power_w: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """A whole schedule.

    Attributes:
        money: None without a price.
        energy_kwh: Nodes and fabric (PUE 1).
        late_days: Of all jobs, each times its priority.
        late_jobs: How many.
        end_day: When the last job ends.
    """

    money: float | None
    energy_kwh: float
    late_days: float
    late_jobs: int
    end_day: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """What a change buys.

    Attributes:
        change: In words.
        late_days: Lateness of the fleet with it, times priority, and of the job alone.
        job_late_days: Of the job.
        proved: Whether no schedule with it is less late; else there may be one.
    """

    change: str
    late_days: float
    job_late_days: float
    proved: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Late:
    """Why a job is late.

    Attributes:
        job: Its name.
        alone_day: When it would end at the earliest if it had its clusters for itself.
        waits_for: Jobs that hold its cluster while it waits, or while it runs on few chips.
        bought: What changes buy.
    """

    job: str
    alone_day: float
    waits_for: tuple[str, ...]
    bought: tuple[Bought, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """The smallest change of one limit that makes a schedule possible.

    Attributes:
        limit: Which: `deadlines`, `days`, `budget`, `max_power`, `chips`.
        words: The limit as it is, and as it would have to be.
        value: As it would have to be, in the unit of the file (W, money, days, chips).
        proved: Whether less is not enough.
    """

    limit: str
    words: str
    value: float
    proved: bool


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class FleetResult(Shown):
    """The answer of `planner.fleet`.

    Attributes:
        status: `optimal`, `feasible` (with its gap), `infeasible` or `time_limit`.
        objective_name: cost, energy, lateness or weighted.
        objective, bound, gap: Value, what no schedule is below, and their relative distance.
        second, second_proved: Of lateness: what decided between schedules that are equally late,
            and whether none has less of it.
        grid_s, days: Step of time, and the days that there are.
        jobs, clusters: Rows.
        totals: Of the schedule; None without one.
        usual: Of first come, first served, each job its fastest plan; None where that does not
            end within the days, the power or the budget; deadlines may be missed.
        late: Why jobs are late.
        reasons: Why nothing is possible, in sentences.
        changes: Then: what would make it so.
        solved, read: Questions asked for plans, and how many of their answers a store had.
        choices: Plans to choose from.
        seconds: Wall time of the scheduling.
    """

    status: str
    objective_name: str
    objective: float | None
    bound: float | None
    gap: float | None
    grid_s: float
    days: float
    jobs: tuple[JobRow, ...] = ()
    clusters: tuple[ClusterRow, ...] = ()
    totals: Totals | None = None
    usual: Totals | None = None
    late: tuple[Late, ...] = ()
    reasons: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()
    second: str = ""
    second_proved: bool = False
    solved: int = 0
    read: int = 0
    choices: int = 0
    seconds: float = 0.0

    @property
    def impossible(self) -> bool:
        """Whether it is proved that there is no schedule."""
        return self.status == "infeasible"

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return stamped({name: _plain(value) for name, value in fields.items()})


def _plain(value: Any) -> Any:
    if isinstance(value, tuple):
        return [_plain(one) for one in value]
    if isinstance(value, JobRow):
        return value.to_dict()
    if isinstance(value, ClusterRow | Totals | Late | Change):
        return asdict(value)
    return value
