"""What `planner feasible` answers: rows that print well and turn into JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from frozen_records import dataclass
from planner.base.frozen import freeze, thawed
from planner.base.printable import Shown
from planner.base.version import SCHEMA_VERSION

NOTHING = "nothing"
TP = "tp communication"
CP = "cp communication"
EP = "ep communication"
PP = "pp communication"
FSDP = "fsdp communication"
DP = "dp communication"
DCN = "dcn"
STATE = "memory: state"
ACTIVATIONS = "memory: activations"
GRANULARITY = "batch granularity"
CLUSTER = "cluster"
RULES = "rules"
BINDS = (NOTHING, TP, CP, EP, PP, FSDP, DP, DCN, STATE, ACTIVATIONS, GRANULARITY, CLUSTER, RULES)
"""What `Row.binds` may say."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One strategy for one model, cluster and chip count, and one batch where it was given.

    Attributes:
        strategy: A name of `planner.studies.feasibility.strategies.NAMES`.
        model, hardware: Names of the records.
        chips: N; None where no chip count is compute-bound at the batch.
        min_batch_tokens_compute_bound: Smallest tokens per step from which it is compute-bound;
            None where it never is. Under `roofline` with given torus axes the value of the
            formula with continuous X and Y, else that of the best whole mesh.
        min_batch_tokens_whole_mesh: The same for whole meshes on their real placement.
        mesh: That mesh, axes above 1.
        min_batch_tokens_fit, max_batch_tokens_fit: Smallest and largest batch that fits in memory;
            None where none fits, or no batch is too large.
        max_tp: Largest useful degree of tensor parallelism, for strategies that have it.
        x_opt: FSDP ranks with the least communication, at the batch asked for or the threshold.
        x_opt_mesh: The whole split that communicates least there: of a torus slice proved together
            with its axes, elsewhere that to which X_opt rounds.
        x_opt_torus: Which parts of that split each physical axis serves, on a torus slice.
        binds: What keeps the batch from being smaller, or what is in the way: one of `BINDS`.
        words: The same as a sentence.
        batch_tokens: The batch asked for.
        compute_bound, fits, feasible: At that batch, of whole meshes; feasible: one mesh is both.
        compute_bound_continuous, margin_continuous: The same by the formula with continuous X and
            Y, where it is used.
        margin: The batch over the smallest from which whole meshes are compute-bound.
        min_batch_tokens_at_peak, feasible_at_peak: What `min_batch_tokens_compute_bound` and
            `feasible` are at the peak rate, with which the text decides; None but under `roofline`
            with another `mfu`, which times take.
        step_time_s: Of the best mesh at that batch; step_time_low_s, step_time_high_s: ends of its
            80 % interval, None under `roofline`, whose times are bounds.
        max_chips: Largest count that is compute-bound and fits at the batch, if counts were open.
        max_chips_continuous: The value of the formula, where there is one.
    """

    strategy: str
    model: str
    hardware: str
    chips: int | None
    min_batch_tokens_compute_bound: float | None = None
    min_batch_tokens_whole_mesh: float | None = None
    mesh: Mapping[str, int] | None = None
    min_batch_tokens_fit: float | None = None
    max_batch_tokens_fit: float | None = None
    max_tp: float | None = None
    x_opt: float | None = None
    x_opt_mesh: Mapping[str, int] | None = None
    x_opt_torus: str | None = None
    binds: str
    words: str
    batch_tokens: float | None = None
    compute_bound: bool | None = None
    compute_bound_continuous: bool | None = None
    fits: bool | None = None
    feasible: bool | None = None
    margin: float | None = None
    margin_continuous: float | None = None
    min_batch_tokens_at_peak: float | None = None
    feasible_at_peak: bool | None = None
    step_time_s: float | None = None
    step_time_low_s: float | None = None
    step_time_high_s: float | None = None
    max_chips: int | None = None
    max_chips_continuous: float | None = None

    def __post_init__(self) -> None:
        freeze(self, "mesh", "x_opt_mesh")

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        return {name: thawed(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadlineRow:
    """The smallest chip count that trains so many tokens in time, for one model and cluster.

    Attributes:
        model, hardware: Names of the records.
        chips: The count; None where none does.
        batch_tokens, train_tokens, deadline_s: As asked.
        step_time_s, days: With the plan; step_time_low_s, step_time_high_s as in `Row`.
        ideal_days, goodput: Days if nothing failed, and those over `days`; None where nobody
            published how often such chips fail, and under `roofline`.
        plan: Its mesh and sharding, JSON-ready.
        counts_tried: Counts looked at before.
        words: One sentence.
    """

    model: str
    hardware: str
    chips: int | None
    batch_tokens: float
    train_tokens: float
    deadline_s: float
    step_time_s: float | None = None
    step_time_low_s: float | None = None
    step_time_high_s: float | None = None
    days: float | None = None
    ideal_days: float | None = None
    goodput: float | None = None
    plan: Mapping[str, Any] | None = None
    counts_tried: int = 0
    words: str

    def __post_init__(self) -> None:
        freeze(self, "plan")

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON-ready data."""
        return {name: thawed(getattr(self, name)) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class FeasibleResult(Shown):
    """The answer of `planner.feasible`.

    Attributes:
        assumptions: The preset, or the file.
        question: "thresholds" (chips given), "chips" (batch given), "verdict" (both), "deadline".
        rows: One per model, cluster, chip count, batch and strategy.
        deadlines: One per model and cluster, where a deadline was given.
        defaults: What was assumed: (name, value, reason).
        notes: Sentences that hold for all rows.
        seconds: Wall time.
        versions: planner, schema, and the hashes of the databases.
    """

    assumptions: str
    question: str
    rows: tuple[Row, ...] = field(repr=False)
    deadlines: tuple[DeadlineRow, ...] = field(default=(), repr=False)
    defaults: tuple[tuple[str, str, str], ...] = field(default=(), repr=False)
    notes: tuple[str, ...] = ()
    seconds: float
    versions: Mapping[str, str] = field(repr=False)

    def __post_init__(self) -> None:
        freeze(self, "versions")

    @property
    def impossible(self) -> bool:
        """Whether it is proved that nothing asked for can be done."""
        if self.question == "deadline":
            return all(row.chips is None for row in self.deadlines)
        if self.question == "thresholds":
            return all(row.min_batch_tokens_fit is None for row in self.rows)
        return not any(row.feasible for row in self.rows)

    def to_dict(self) -> dict[str, Any]:
        """One JSON-ready object; its keys are documented in docs/json.md."""
        return {
            "schema_version": SCHEMA_VERSION,
            "assumptions": self.assumptions,
            "question": self.question,
            "rows": [row.to_dict() for row in self.rows],
            "deadlines": [row.to_dict() for row in self.deadlines],
            "defaults": [
                {"name": name, "value": value, "reason": reason}
                for name, value, reason in self.defaults
            ],
            "notes": list(self.notes),
            "seconds": self.seconds,
            "versions": thawed(self.versions),
        }
