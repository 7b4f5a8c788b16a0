"""The base of objectives: what one has to say of itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from planner.base.arrays import FloatArray

BY_TIME, BY_ENERGY, BY_PRODUCT = "time", "energy", "product"
"""What a search over stages that differ can prove: the least step time, energy per step, and
product of both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Costs:
    """What plans cost, or lower bounds of it: arrays of one shape, or single numbers.

    Attributes:
        step_time_s: Seconds of a step.
        energy_j: Joules of a step, all chips together.
        memory_bytes: Of the fullest chip, without the reserve.
        chips: How many a plan uses.
    """

    step_time_s: FloatArray | float
    energy_j: FloatArray | float
    memory_bytes: FloatArray | float = np.nan
    chips: FloatArray | float = np.nan


@dataclass(frozen=True, kw_only=True)
class Objective(ABC):
    """What a best plan has the least of.

    To add one, write a subclass that gives the fields below their values and says in `value` what
    it makes of the costs of plans. Nothing else of the planner has to change: the search, its
    proof, the front, explanations, comparisons, pictures and the command line ask the objective.
    Register an instance in `planner.objectives.registry`, or the class in an entry point of the
    group `planner.objectives` of your own package, under the same name.

    The search finds the optimum on the front of step time and energy, so `value` must never fall
    where the step time or the energy of a plan grows and all else stays. Money per step, energy
    and their products with powers of the step time are such; tokens per joule, to be maximized, is
    minus an objective: give its inverse, joules per token.

    Attributes:
        name: As a question has it, and as JSON has it; one word.
        noun: What there is the least of: "energy per step".
        short: The same in a phrase of two: "energy".
        unit: Of `value`, for documents.
        field: The field of a plan's JSON that holds it; empty: a product of others.
        more, less: How a plan with more, or less, of it is called: "slower", "more energy".
        told_apart: What is compared where two plans tie: "times".
        degree: How often the step counts in it: 1, it doubles with twice the steps of a run, and
            carries the error of a predicted time once; 2: four times, and twice; 0: it has no such
            error, and the times of two plans decide whether they tie.
        with_time: Whether a comparison by it also says which plan is faster.
        of_memory: Whether it is about memory, not about step time and energy.
        uneven: What proves its least value over stages that differ: one of `BY_TIME`,
            `BY_ENERGY`, `BY_PRODUCT`; empty: nothing does, and the question is refused.
    """

    name: str
    noun: str
    short: str
    unit: str
    more: str
    less: str
    field: str = ""
    told_apart: str = "times"
    degree: int = 1
    with_time: bool = True
    of_memory: bool = False
    uneven: str = ""

    @abstractmethod
    def value(self, costs: Costs) -> FloatArray | float:
        """What it makes of the costs of plans, in their shape; SI units."""

    @abstractmethod
    def show(self, value: float) -> str:
        """A value in words, with its unit."""

    def values(self, costs: Costs) -> FloatArray:
        """`value` of arrays."""
        return np.asarray(self.value(costs), dtype=np.float64)

    def value_of(self, costs: Costs) -> float:
        """`value` of a single plan."""
        return float(self.value(costs))

    def shown(self, costs: Costs) -> str:
        """The value of a single plan in words."""
        return self.show(self.value_of(costs))
