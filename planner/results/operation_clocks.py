"""What a clock for every operation of a plan saves, as immutable records."""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.plan import Plan
from planner.question.files.plan_text import plan_fields
from planner.schedules.orders import KINDS, Orders

WORTH = 0.01
"""Share of the joules of a step below which clocks per operation are not used."""
SWITCHING_S = 0.01
"""Seconds of a change of the clock where none are given.

Assumed. Velicka et al. (arXiv:2502.20075) measure A100, GH200 and Quadro RTX 6000 and find that it
depends on the chip and on the clock that is asked for: measure yours by their method.
"""
_ROUNDING = 1e-6
"""Of linear programs, relative."""
SHOWN_S = (0.0, 0.001, 0.01, 0.05)
"""Seconds of a change that every answer compares."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockChoice:
    """The best clocks per operation that were found for one time of a change.

    Attributes:
        switching_s: Seconds of a change of the clock, in which the stage stands still.
        step_time_s: Simulated.
        energy_j: Of the step, all chips, nodes and fabric.
        bound_j: No clocks of operations need less within the same time.
        saved: Share of the joules of the best clock per stage.
        switches: Changes of the clock in a step, on all stages.
    """

    switching_s: float
    step_time_s: float
    energy_j: float
    bound_j: float
    saved: float
    switches: int

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class PassClocks:
    """The clocks of a plan's operations, as its simulated step is drawn with them.

    Attributes:
        clocks: (pp, k) relative, of the passes.
        ends: (pp,) of the optimizers.
        switching_s: Seconds that a change of the clock takes.
        begin_s: (o,) of all operations, where some pause; None: each begins as soon as it may.
        step_time_s: Where some pause.
    """

    clocks: FloatArray
    ends: FloatArray
    switching_s: float
    begin_s: FloatArray | None = None
    step_time_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PausedClocks:
    """Clocks and begins of all operations that keep to a limit on power at every moment.

    Attributes:
        step_time_s: Simulated.
        energy_j: Of the step, all chips, nodes and fabric.
        most_w: Drawn at most at a moment, where the limit holds.
        bound_s: No clocks and pauses that keep to the limit take less.
        pauses: Operations that begin later than what they wait for allows.
        without_pauses_w: Drawn at most at a moment where all begin as soon as they may.
        clocks: (pp, k) of the passes.
        ends: (pp,) of the optimizers.
        begin_s: (o,) of all operations.
        begins: (pp, k) of the passes, of those side by side together.
    """

    step_time_s: float
    energy_j: float
    most_w: float
    bound_s: float
    pauses: int
    without_pauses_w: float
    clocks: FloatArray
    ends: FloatArray
    begin_s: FloatArray
    begins: FloatArray

    @property
    def gap(self) -> float:
        """How far below the step time the bound is, relative."""
        return 1 - self.bound_s / self.step_time_s


@dataclass(frozen=True, slots=True, kw_only=True)
class UnderPower:
    """The shortest step under a limit on power at every moment, simulated.

    Attributes:
        limit_w, boundary: What is drawn at most, and where (`planner.base.vocabulary.BOUNDARIES`).
        needed_w: No schedule keeps to less, and one keeps to it.
        as_it_is_s, as_it_is_w: The plan with its own clocks: its seconds, and its most at a moment.
        one_clock: The fastest clock of all chips, of those with levels, whose most is within the
            limit, and its seconds; None: none.
        found: What keeps to the limit; None: nothing does.
        switching_s: Seconds of a change of the clock.
    """

    limit_w: float
    boundary: str
    needed_w: float
    as_it_is_s: float
    as_it_is_w: float
    one_clock: tuple[float, float] | None
    found: PausedClocks | None
    switching_s: float

    def to_dict(self, orders: Orders) -> dict[str, Any]:
        """The record as JSON-ready data; passes as kind, micro-batch, chunk, clock and begin."""
        clock, seconds = self.one_clock or (None, None)
        data = {
            "limit_w": self.limit_w,
            "boundary": self.boundary,
            "needed_w": self.needed_w,
            "switching_s": self.switching_s,
            "as_it_is": {"step_time_s": self.as_it_is_s, "most_w": self.as_it_is_w},
            "one_clock": {"clock": clock, "step_time_s": seconds},
            "found": None,
        }
        if self.found is None:
            return data
        names = ("step_time_s", "bound_s", "gap", "energy_j", "most_w", "pauses")
        found = {name: getattr(self.found, name) for name in (*names, "without_pauses_w")}
        stages = _passes(orders, self.found.clocks, self.found.begins)
        return {**data, "found": {**found, "stages": stages}}


def _passes(orders: Orders, *figures: FloatArray) -> list[list[list[Any]]]:
    """Of each stage its passes: kind, micro-batch, chunk, and figures, (pp, k) each."""
    tables = (orders.micro_batch, orders.chunk, *figures)
    rows = zip(orders.kind.tolist(), *(one.tolist() for one in tables), strict=True)
    return [
        [[KINDS[kind], *rest] for kind, *rest in zip(*of_stage, strict=True)] for of_stage in rows
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Slower:
    """The least joules at a longer step; changes of the clock take no time.

    Attributes:
        step_time_s: The limit.
        per_stage_j: One clock per stage.
        per_operation_j: One clock per operation.
        mixed_j: Operations may change between two clocks while they run: exact, but for rounding.
        bound_j: What proves it.
    """

    step_time_s: float
    per_stage_j: float
    per_operation_j: float
    mixed_j: float
    bound_j: float

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationClocks:
    """Clocks of all operations of a plan, in the simulated time of the plan as it is.

    Attributes:
        operations: How many there are in a step.
        limit_s: The simulated step time of the plan with its own clocks.
        per_stage_j: Joules of the best clock per stage within it, its bound `per_stage_bound_j`.
        per_stage: Those clocks.
        choices: By time of a change, ascending; one is of `switching_s`.
        switching_s: That was asked for.
        front: Joules at longer steps, the first of them `limit_s`.
        clocks: (pp, k) relative clocks of the passes, those of `choices` for `switching_s` where
            they are worth it, else one per stage.
        ends: (pp,) of the optimizers.
        orders: The passes.
        under_power: The step under a limit on power at every moment, where one was asked for.
    """

    operations: int
    limit_s: float
    per_stage_j: float
    per_stage_bound_j: float
    per_stage: tuple[float, ...]
    choices: tuple[ClockChoice, ...]
    switching_s: float
    front: tuple[Slower, ...]
    clocks: FloatArray
    ends: FloatArray
    orders: Orders
    under_power: UnderPower | None = None

    @property
    def chosen(self) -> ClockChoice:
        """The choice for the time of a change that was asked for."""
        return next(one for one in self.choices if one.switching_s == self.switching_s)

    @property
    def worth(self) -> bool:
        """Whether clocks per operation save enough to be used."""
        return self.chosen.saved >= WORTH

    @property
    def drawn(self) -> PassClocks:
        """What the step is drawn with: under a limit on power what keeps to it."""
        paused = None if self.under_power is None else self.under_power.found
        if paused is not None:
            return PassClocks(
                clocks=paused.clocks, ends=paused.ends, switching_s=self.switching_s,
                begin_s=paused.begin_s, step_time_s=paused.step_time_s,
            )  # fmt: skip
        switching_s = self.switching_s if self.worth else 0.0
        return PassClocks(clocks=self.clocks, ends=self.ends, switching_s=switching_s)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data; passes as kind, micro-batch, chunk and clock."""
        limited = self.under_power
        return {
            "operations": self.operations,
            "step_time_s": self.limit_s,
            "per_stage": {
                "energy_j": self.per_stage_j,
                "bound_j": self.per_stage_bound_j,
                "clocks": list(self.per_stage),
            },
            "per_operation": [one.to_dict() for one in self.choices],
            "switching_s": self.switching_s,
            "used": self.worth,
            "front": [one.to_dict() for one in self.front],
            "stages": _passes(self.orders, self.clocks),
            **({} if limited is None else {"under_power": limited.to_dict(self.orders)}),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationPoint:
    """The least joules that were found within the step time of a point of the front.

    Attributes:
        step_time_s: Of the point, which none of these exceeds.
        one_clock_j: Joules of the point: its plan has one clock.
        plan: The plan that needs `energy_j`, at the highest clock; that of the point, at its own,
            where none was found to need less.
        energy_j: With whole clocks, whose changes take `OperationFront.switching_s`.
        mixed_j: Of the plan, maybe another, that needs least where an operation changes between
            two clocks while it runs, in no time.
        bound_j: No plan of the space needs less, whatever the clocks of its operations.
        operations: Of the plan; 0 where it is that of the point.
        all_sought: Whether whole clocks were sought for every plan that may need less.
    """

    step_time_s: float
    one_clock_j: float
    plan: Plan
    mixed_j: float
    energy_j: float
    bound_j: float
    operations: int
    all_sought: bool

    @property
    def saved(self) -> float:
        """Share of the joules of the point that whole clocks per operation save."""
        return 1 - self.energy_j / self.one_clock_j

    @property
    def most_saved(self) -> float:
        """Share of the joules of the point that no plan with any clocks saves more than."""
        return 1 - self.bound_j / self.one_clock_j

    @property
    def gap(self) -> float:
        """How far below the joules with mixed clocks the bound is, relative."""
        return 1 - self.bound_j / self.mixed_j

    @property
    def worth(self) -> bool:
        """Whether that is enough to use them."""
        return self.saved >= WORTH

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "step_time_s": self.step_time_s,
            "one_clock_j": self.one_clock_j,
            "mixed_j": self.mixed_j,
            "energy_j": self.energy_j,
            "bound_j": self.bound_j,
            "saved": self.saved,
            "used": self.worth,
            "operations": self.operations,
            "all_sought": self.all_sought,
            "plan": plan_fields(self.plan),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class OperationFront:
    """The front over plans and clocks of their operations.

    Attributes:
        points: Ascending in step time.
        switching_s: Seconds of a change of the clock.
        gap: To which the search was asked to prove the joules of mixed clocks.
        considered: Plans with placements that the first bound left.
        bounded: Of these, those whose operations were looked at.
        solved: Linear programs.
        in_time: Whether no time limit ended it.
        left: Points whose bound is further away than that.
        unsought: Points where whole clocks were not sought for every plan that may need less.
    """

    points: tuple[OperationPoint, ...]
    switching_s: float
    gap: float
    considered: int
    bounded: int
    solved: int
    in_time: bool = True

    @property
    def left(self) -> int:
        """Points that are not proved to the gap."""
        return sum(point.gap > self.gap + _ROUNDING for point in self.points)

    @property
    def unsought(self) -> int:
        """Points where whole clocks were not sought for every plan that may need less."""
        return sum(not point.all_sought for point in self.points)

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON-ready data."""
        return {
            "switching_s": self.switching_s,
            "gap": self.gap,
            "points": [point.to_dict() for point in self.points],
            "considered": self.considered,
            "bounded": self.bounded,
            "solved": self.solved,
            "in_time": self.in_time,
        }
