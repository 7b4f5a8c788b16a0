"""What `planner check` answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from frozen_records import dataclass
from planner.question.provenance import stamped

INSIDE, OUTSIDE, DIVERGED = "inside", "outside", "diverged"
MEMORY = "memory_per_chip_bytes"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """One measured quantity beside its prediction.

    Attributes:
        name: `step_time_s`, `tokens_per_s_per_chip` or `memory_per_chip_bytes`.
        measured, predicted: In the unit of the name.
        low, high: Ends of the 80 % interval.
        inside: Whether the measurement lies in it. Memory below it counts as inside where the log
            need not be of the fullest stage.
    """

    name: str
    measured: float
    predicted: float
    low: float
    high: float
    inside: bool

    @property
    def ratio(self) -> float:
        """Measured over predicted."""
        return self.measured / self.predicted

    @property
    def is_below(self) -> bool:
        """Whether it is memory below its interval, of which the upper end alone was judged."""
        return self.name == MEMORY and self.inside and self.measured < self.low

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready data."""
        return {**asdict(self), "ratio": self.ratio}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A part of the step that may explain the ratio of step times alone.

    Attributes:
        part: In words.
        share: How much of the variance of the prediction's error it is expected to bring, before
            the measurement: 0 to 1 over all parts.
        elasticity: By how many per cent the step grows when the part takes one per cent longer.
        factor: How many times as long it would have to take to explain the ratio alone; None: no
            factor does.
        tells: What would tell it from the others.
        command: What is typed for that.
    """

    part: str
    share: float
    elasticity: float
    factor: float | None
    tells: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LookAlike:
    """Another plan whose prediction the log agrees with.

    Attributes:
        change: What is different from the plan that was asked about.
        step_time_s, memory_per_chip_bytes: Predicted for it.
    """

    change: str
    step_time_s: float
    memory_per_chip_bytes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class StepsRead:
    """Which steps of a log were read, and which count.

    Attributes:
        counted: Lines that count.
        first, last: Numbers of the first and the last step that do.
        warm_up: Steps at the beginning of each launch that do not.
        launches: How often the run was started.
        skipped: Steps whose update was skipped.
        bad: Steps whose loss was NaN or infinite.
        spread: Nine tenths of the counted steps are within this share of their median.
        drift: Median of the second half of the counted steps over that of the first, minus one.
    """

    counted: int
    first: int
    last: int
    warm_up: int
    launches: int
    skipped: int
    bad: tuple[int, ...]
    spread: float
    drift: float


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """The answer of `planner check`.

    Attributes:
        status: `inside`, `outside`, or `diverged` where a loss was NaN or infinite.
        framework: What printed the log, of `planner.evidence.training_logs.readers.READERS`.
        file: The log, as asked for.
        steps: Which steps count.
        quantities: Each measured quantity.
        suspects: Parts that may explain the ratio of step times, the likeliest first; empty where
            the step time is inside of its interval.
        others: Plans that the log agrees with, where it does not with this one.
        remarks: One sentence each.
        row: The run as a row of `planner calibrate --runs`.
        row_lacks: What the row cannot say of the plan, in words.
    """

    status: str
    framework: str
    file: str
    steps: StepsRead
    quantities: tuple[Checked, ...]
    suspects: tuple[Suspect, ...]
    others: tuple[LookAlike, ...]
    remarks: tuple[str, ...]
    row: Mapping[str, str]
    row_lacks: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Whether everything that was measured lies in its interval and the loss is a number."""
        return self.status == INSIDE

    def of(self, name: str) -> Checked | None:
        """A quantity; None: it was not measured."""
        return next((one for one in self.quantities if one.name == name), None)

    def to_dict(self, written: str = "") -> dict[str, Any]:
        """JSON-ready data; see docs/json.md.

        Args:
            written: File that the row was added to.
        """
        return stamped(
            {
                "status": self.status,
                "framework": self.framework,
                "log": self.file,
                "steps": {**asdict(self.steps), "bad": list(self.steps.bad)},
                "quantities": [one.to_dict() for one in self.quantities],
                "suspects": [asdict(one) for one in self.suspects],
                "others": [asdict(one) for one in self.others],
                "remarks": list(self.remarks),
                "row": dict(self.row),
                "row_lacks": list(self.row_lacks),
                "file": written,
            }
        )
