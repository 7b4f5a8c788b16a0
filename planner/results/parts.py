"""Small parts of answers: a whole training run, why no plan fits, how far a time may be off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.frozen import freeze, thawed
from planner.cost.intervals import BY_HAND, UNMEASURED, UNSEEN
from planner.results.recovery import OtherChoice, Recovery


@dataclass(frozen=True, slots=True, kw_only=True)
class RunGoodput:
    """The share of a run's wall time that is work that counts, and where the rest goes.

    Attributes:
        share: Goodput; with the next seven it sums to 1.
        low, high: At the 10 % and the 90 % quantile of the chip-hours per failure.
        stalls, down, lost, stragglers, waits: Checkpoints, detection and restart, lost work, slow
            chips, waiting for a spare.
        smaller, maintenance: What running on fewer chips takes longer, planned maintenance.
        chip_hours_per_failure, chip_hours_low, chip_hours_high: With its 80 % interval.
        rate: What that rests on.
        mtbf_s: Mean time between failures of the job.
        failures: Expected in the run; None: it hardly ever ends.
        checkpoint_bytes, checkpoint_stall_s, checkpoint_write_s: Of one; for how long it stops the
            job, and for how long it is written beside the work.
        checkpoint_steps, checkpoint_every_s: Steps and seconds of work between two; with copies in
            the memory of peers, between two of these.
        recovery: What a failure takes out, and what the job does then.
        spares: Nodes that wait; None: enough.
        spares_wanted, spares_chance: So many are enough at any time, at this chance.
        chips_at_half: Where goodput is below a half: chips at which it is one half.
    """

    share: float
    low: float
    high: float
    stalls: float
    down: float
    lost: float
    stragglers: float
    waits: float
    smaller: float
    maintenance: float
    chip_hours_per_failure: float
    chip_hours_low: float
    chip_hours_high: float
    rate: str
    mtbf_s: float
    failures: float | None
    checkpoint_bytes: float
    checkpoint_stall_s: float
    checkpoint_write_s: float
    checkpoint_steps: int
    checkpoint_every_s: float
    recovery: Recovery
    spares: int | None
    spares_wanted: int
    spares_chance: float
    chips_at_half: float | None

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        return {**fields, "recovery": self.recovery.to_dict()}


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRun:
    """What a whole training run takes with a plan.

    Attributes:
        tokens, steps: Size.
        days: Wall time, failures included where `goodput` is known; None: it hardly ever ends.
        days_low, days_high: 80 % interval; both None where times are bounds, `days_high` alone
            where it hardly ever ends there.
        ideal_days: If nothing failed, and no time went to slow chips and maintenance.
        energy_mwh: Node and fabric, IT side (PUE 1).
        facility_energy_mwh: With what the facility adds.
        cost: Chips times hours times the price given, or None.
        electricity_cost: At the price per kWh given, of the facility's energy, or None.
        co2_t: Tonnes at the carbon intensity given, of the facility's energy, or None.
        deadline_days, deadline_chance: The deadline that was asked for, and how likely the run is
            to be within it by the interval of its days; None: none was, or there is no interval.
        goodput: Where the time goes; None where nobody published how often such chips fail.
        prices: Where published ones were asked for: their amounts, dates and sources, in words.
        break_even_chip_hours: Then: chip-hours per failure below which goodput is below 90 %.
        half_chips: Then: half of the chips, with half of the data ranks; None: the plan cannot be
            halved so, or they are slower at any rate.
        another_plan_chip_hours: Then: chip-hours per failure below which another plan of the front
            is faster; None: at no rate.
    """

    tokens: float
    steps: float
    days: float | None
    days_low: float | None
    days_high: float | None
    ideal_days: float
    energy_mwh: float | None
    facility_energy_mwh: float | None
    cost: float | None
    electricity_cost: float | None
    co2_t: float | None
    deadline_days: float | None = None
    deadline_chance: float | None = None
    goodput: RunGoodput | None = None
    break_even_chip_hours: float | None = None
    half_chips: OtherChoice | None = None
    another_plan_chip_hours: float | None = None
    prices: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        fields = {name: getattr(self, name) for name in self.__slots__}
        goodput = None if self.goodput is None else self.goodput.to_dict()
        half = None if self.half_chips is None else self.half_chips.to_dict()
        return {**fields, "goodput": goodput, "half_chips": half, "prices": list(self.prices)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontLimits:
    """Limits on the step time at each of which the plan of least energy is looked for.

    Attributes:
        asked: How many.
        proved: For how many it is proved that no plan within the limit takes less energy.
    """

    asked: int
    proved: int

    def to_dict(self) -> dict[str, int]:
        """The record as JSON-ready data."""
        return {"asked": self.asked, "proved": self.proved}


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """The machine of a plan, where PEs per chip or wirings are a decision.

    Attributes:
        pes, pe_kind: Processing elements per chip, and what they are.
        scale_up, scale_out: Wirings, as `topology` names them; as the record has them: its words.
        total_pes: Of all chips.
        die_area_m2: Silicon of all chips; None where the record does not say.
        links: Of all levels.
        ports_per_chip: A switched level counted as one.
        fields: What a job file says to have this machine: `pes`, `topology`, `scale`.
    """

    pes: int
    pe_kind: str
    scale_up: str
    scale_out: str
    total_pes: int
    die_area_m2: float | None
    links: int
    ports_per_chip: int
    fields: Mapping[str, Any]

    @property
    def words(self) -> str:
        """`264 SMs, ring, fat-tree`."""
        parts = [f"{self.pes:,} {self.pe_kind}s", self.scale_up, self.scale_out]
        return ", ".join(part for part in parts if part)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__ if name != "fields"}


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineSearch:
    """What was searched of one machine.

    Attributes:
        words: PEs and wirings.
        most_chips: The largest chip count that the budgets allow; 0 where there is none.
        limited_by: The budget that sets it; empty where the cluster does.
        chip_counts: Chip counts searched.
        partial_plans, bound: Meshes with a micro-batch and a pipeline, and how many of them a plan
            found before, of any machine, excludes.
        evaluated: Plans costed in full.
        front: Plans of the front on this machine.

    What was found before decides how many are excluded and costed: answers that differ in that
    alone are equal.
    """

    words: str
    most_chips: int
    limited_by: str
    chip_counts: int
    partial_plans: int
    bound: int = field(compare=False)
    evaluated: int = field(compare=False)
    front: int

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """Why no plan fits, and the smallest changes that free it.

    Attributes:
        constraint: The binding constraint.
        explanation: One sentence with the figures.
        needed, available: In the unit of the constraint, where it has one.
        remedies: Changes that were checked to make a plan possible, smallest first.
    """

    constraint: str
    explanation: str
    needed: float | None = None
    available: float | None = None
    remedies: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "constraint": self.constraint,
            "explanation": self.explanation,
            "needed": self.needed,
            "available": self.available,
            "remedies": list(self.remedies),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """What the intervals of an answer rest on.

    Attributes:
        level: Share of measurements that an interval is made to contain.
        situation: The class of the prediction; words: the rule that chose it.
        low, high: Factors on the step time, 10 % and 90 % quantile.
        rows, sources: Published runs behind them, and where they come from.
        tie_factor: Two plans whose step times differ by less cannot be told apart.
    """

    level: float
    situation: str
    words: str
    low: float
    high: float
    rows: int
    sources: int
    tie_factor: float

    @property
    def is_seen(self) -> bool:
        """Whether runs of such a job with its framework on its chip count among those behind it."""
        return UNSEEN not in self.situation.split(", ")

    @property
    def is_measured(self) -> bool:
        """Whether chip and network are as some record has them."""
        return UNMEASURED not in self.situation.split(", ")

    @property
    def is_fitted(self) -> bool:
        """Whether the constants are those of runs, none changed by hand."""
        return BY_HAND not in self.situation.split(", ")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What was asked, and the job as it was understood.

    Attributes:
        job: The resolved job, for display and JSON.
        plan_job: The same as plan files hold it.
        asked: The question, as a job file holds it.
    """

    job: Mapping[str, Any]
    plan_job: Mapping[str, Any] = field(default_factory=dict, repr=False)
    asked: Mapping[str, Any] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        freeze(self, "job", "plan_job", "asked")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: thawed(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """What is said of an answer beside its figures.

    Attributes:
        why: Sentences on what binds the best plan, made when they are first read.
        caveats: Sentences that must not be missed: what the best plan was chosen among (what runs
            it, its risk, its chips, its power where that is limited), what a wider choice would
            give, and what is in doubt; where that takes another search, made when first read.
        runs_in: The targets that run the best plan as it is; empty: none was asked to.
        losses: What the cluster gives away at this number of chips.
        defaults: What was assumed: (name, value, reason).
        spread: What the intervals rest on; None where times are bounds, not predictions.
        mfu_convention: Which FLOP count as useful.
        sources: Titles of the documents behind the numbers used.
    """

    why: Sequence[str] = ()
    caveats: Sequence[str] = ()
    runs_in: Sequence[str] = ()
    losses: tuple[str, ...] = ()
    defaults: tuple[tuple[str, str, str], ...] = ()
    spread: Spread | None = None
    mfu_convention: str = ""
    sources: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        freeze(self, "sources")

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "why": list(self.why),
            "caveats": list(self.caveats),
            "runs_in": list(self.runs_in),
            "losses": list(self.losses),
            "defaults": [
                {"name": name, "value": value, "reason": why} for name, value, why in self.defaults
            ],
            "interval": self.spread.to_dict() if self.spread else None,
            "mfu_convention": self.mfu_convention,
            "sources": thawed(self.sources),
        }
