"""Objectives: what a best plan minimizes, one file each.

Here live the base of them all (its docstring is the guide to adding one) and the registry, which
also holds those of installed packages. Everything that compares plans reads them: the question,
results, search, explanations, reports and the command line. This room imports `planner.base`
alone. Begin with `planner.objectives.objective`; a new objective is one file beside it and one
line of `planner.objectives.registry`, or a package of its own (`docs/extending/objective.md`).
"""

from planner.objectives.objective import (
    BY_ENERGY as BY_ENERGY,
)
from planner.objectives.objective import (
    BY_PRODUCT as BY_PRODUCT,
)
from planner.objectives.objective import (
    BY_TIME as BY_TIME,
)
from planner.objectives.objective import (
    Bounds as Bounds,
)
from planner.objectives.objective import (
    Costs as Costs,
)
from planner.objectives.objective import (
    Objective as Objective,
)
from planner.objectives.objective import (
    RunCosts as RunCosts,
)
from planner.objectives.registry import (
    DAYS as DAYS,
)
from planner.objectives.registry import (
    ENERGY as ENERGY,
)
from planner.objectives.registry import (
    FRONTS as FRONTS,
)
from planner.objectives.registry import (
    MEMORY as MEMORY,
)
from planner.objectives.registry import (
    OBJECTIVES as OBJECTIVES,
)
from planner.objectives.registry import (
    TIME as TIME,
)
from planner.objectives.registry import (
    fronts as fronts,
)
from planner.objectives.registry import (
    objective_asked as objective_asked,
)
