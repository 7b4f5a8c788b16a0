"""The base of objectives: what one has to say of itself."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from frozen_records import dataclass

if TYPE_CHECKING:
    from planner.base.arrays import FloatArray


BY_TIME, BY_ENERGY, BY_PRODUCT = "time", "energy", "product"
"""What a search over stages that differ can prove: the least step time, energy per step, and
product of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCosts:
    """What the whole run of plans takes, failures included, or lower bounds of it.

    Attributes:
        time_s: Wall time; infinite: it hardly ever ends.
        energy_j: Joules of nodes and fabric (PUE 1).
        money: Of chips and, where that has a price, electricity; NaN without a price.
        late_s: What the wall time stays within at the chance that a deadline asks for; NaN without.
    """

    time_s: FloatArray | float
    energy_j: FloatArray | float
    money: FloatArray | float = math.nan
    late_s: FloatArray | float = math.nan

    def row(self, at: int) -> RunCosts:
        """Those of one of some plans."""
        every = {name: getattr(self, name) for name in self.__slots__}
        return RunCosts(**{name: float(figures[at]) for name, figures in every.items()})


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What plans cost, or lower bounds of it: arrays of one shape, or single numbers.

    Attributes:
        step_time_s: Seconds of a step.
        energy_j: Joules of a step, all chips together.
        memory_bytes: Of the fullest chip, without the reserve.
        chips: How many a plan uses.
        run: What the whole run takes; None where no objective asks.
    """

    step_time_s: FloatArray | float
    energy_j: FloatArray | float
    memory_bytes: FloatArray | float = math.nan
    chips: FloatArray | float = math.nan
    run: RunCosts | None = None

    @property
    def of_run(self) -> RunCosts:
        """`run`, where an objective asks for it.

        Raises:
            ValueError: The tokens of the run are not known.
        """
        if self.run is None:
            raise ValueError("the tokens of the whole run are not known")
        return self.run


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounds:
    """What is known of all plans that a search has not opened.

    Attributes:
        low: No plan costs less; `chips` are those of the plans.
        longest_s: No plan that the limits of the question allow takes longer.
        standing_w: Watts of all chips that flow whatever happens: what a plan takes beyond them,
            E - standing_w T, is at least that of `low`.
    """

    low: Costs
    longest_s: FloatArray | float = math.inf
    standing_w: FloatArray | float = 0.0


class Objective(ABC):
    """What a best plan has the least of.

    To add one, write a subclass that gives the attributes below their values and says in `value`
    what it makes of the costs of plans. Nothing else of the planner has to change: the search, its
    proof, the front, explanations, comparisons, pictures and the command line ask the objective.
    Register an instance in `planner.objectives.registry`, or the class in an entry point of the
    group `planner.objectives` of your own package, under the same name.

    Where `value` never falls while the step time or the energy of a plan grows and its chips stay,
    the objective is monotone, and its value of lower bounds is a lower bound of it: products of
    time and energy are such. What is to be as large as possible is given as its inverse: joules
    per token for tokens per joule. Any other objective also says in `least` what no plan goes
    below, given bounds of time and energy; the search is exact if that is true, whatever it is.

    Attributes:
        name: As a question has it, and as JSON has it; one word.
        noun: What there is the least of: "energy per step".
        short: The same in a phrase of two: "energy".
        unit: Of `value`, for documents.
        more, less: How a plan with more, or less, of it is called: "slower", "more energy".
        distinguished_by: What is compared where two plans tie: "times".
        degree: How often the step counts in it: 1, it doubles with twice the steps of a run, and
            carries the error of a predicted time once; 2: four times, and twice; 0: it has no such
            error, and the times of two plans decide whether they tie.
        with_time: Whether a comparison by it also says which plan is faster.
        of_memory: Whether it is about memory, not about step time and energy.
        of_run: Whether it is about the whole run: it reads `Costs.of_run`, so that a question needs
            the tokens of the run.
        monotone: See above.
        over_chips: Whether fewer chips than there are may be better, so that their number is a
            decision where the question gives a range of them. So it has to be where `value`
            counts chips.
        front: Objectives of a front that holds its optimum, and of the one that is shown unless
            the question has another; what is fast first.
        has_price: Whether the price of a chip-hour changes it.
        needs_price: Whether a question has to say what a chip-hour costs.
        needs_limit: Whether a question has to limit the time of a step: where nothing else ends
            what slower plans gain.
        uneven: What proves its least value over stages that differ, on exactly so many chips: one
            of `BY_TIME`, `BY_ENERGY`, `BY_PRODUCT`; empty: nothing does, and the question is
            refused.
    """

    name: str
    noun: str
    short: str
    unit: str
    more: str
    less: str
    distinguished_by: str = "times"
    degree: int = 1
    with_time: bool = True
    of_memory: bool = False
    of_run: bool = False
    monotone: bool = True
    over_chips: bool = False
    front: tuple[str, ...] = ("time", "energy")
    has_price: bool = False
    needs_price: bool = False
    needs_limit: bool = False
    uneven: str = ""

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash((type(self), self.name))

    @abstractmethod
    def value(self, costs: Costs) -> FloatArray | float:
        """What it makes of the costs of plans, in their shape; SI units."""

    @abstractmethod
    def show(self, value: float) -> str:
        """A value in words, with its unit."""

    def least(self, bounds: Bounds) -> FloatArray | float:
        """What no plan goes below; where it is not monotone, it has to say more than this."""
        assert self.monotone, f"{self.name}: say in `least` what no plan goes below"
        return self.value(bounds.low)

    def priced(self, price_per_chip_hour: float | None) -> Objective:
        """The same where a chip-hour has a price; None: it is not known."""
        del price_per_chip_hour
        return self

    def values(self, costs: Costs) -> FloatArray:
        """`value` of arrays."""
        import numpy as np  # noqa: PLC0415  (names of objectives are listed without it)

        return np.asarray(self.value(costs), dtype=np.float64)

    def value_of(self, costs: Costs) -> float:
        """`value` of a single plan."""
        return float(self.value(costs))

    def shown(self, costs: Costs) -> str:
        """The value of a single plan in words."""
        return self.show(self.value_of(costs))
