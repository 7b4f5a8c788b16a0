"""What a rule is."""

from __future__ import annotations

from collections.abc import Callable

from frozen_records import dataclass
from planner.base.arrays import BoolArray, IntArray
from planner.cost.context import CostModel
from planner.plan import Plan, PlanTable

Predicate = Callable[[CostModel, PlanTable], BoolArray]
Counted = Callable[[CostModel, PlanTable, IntArray], BoolArray]
Explanation = Callable[[CostModel, Plan], str]
PLACEMENT = "placement"
"""`Rule.field` of rules that depend on the mesh and the order of its axes alone."""
HARDWARE = "hardware"
"""`Rule.field` of rules that look at the chips alone."""
DEVICES_RULE = "chip-devices"
"""`Rule.name` of what a chip is to software, no matter where nothing runs on such chips."""
OF_JOB = ("model", "precision", "job", "optimizer", HARDWARE, "seq_len")
"""`Rule.field` of rules that look at the job and its chips alone, whatever the plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One rule.

    Attributes:
        name: Short name, used in counts.
        field: The field of a plan, or the axis of its mesh, that it is about.
        framework: "any", "framework" (every one says what it offers), or the one that enforces it.
        version: The version of the framework whose source was read; empty where none is meant.
        source: Where it is enforced or why it holds.
        holds: (n,) True where a plan obeys it.
        counted: The same of (n,) numbers of micro-batches beside plans, where it depends on that
            number: what a question about many batches asks.
        explain: One line for a plan that does not: what, what is allowed, what is nearest.
        alone: The value of its field alone breaks it, whatever the rest of the plan.
        per_stage: It is about what explicit stages may choose for themselves (recomputation,
            sharding, clock), so that every stage must obey it.
        launch: It is about what the framework has settings for, which counts where a plan is to be
            launched: a search for the best plan leaves it out unless a target is asked for.
        placed: It looks at the mesh, the order of its axes and its field, a choice of the plan, so
            that a search judges it where an order is known. Only rules with `launch` are.
        of_sharding: It looks at the mesh and the sharding alone, so that a search drops meshes with
            a single sharding that breaks it.
        versions: Those of `planner.frameworks.targets.Target.versions` that it holds for; empty:
            all.
    """

    name: str
    field: str
    framework: str
    version: str = ""
    source: str
    holds: Predicate
    explain: Explanation
    counted: Counted | None = None
    alone: bool = False
    per_stage: bool = False
    launch: bool = False
    placed: bool = False
    of_sharding: bool = False
    versions: tuple[str, ...] = ()

    @property
    def of_order(self) -> bool:
        """Whether it depends on the order of the axes."""
        return self.placed or self.field == PLACEMENT

    @property
    def of_other_chips(self) -> bool:
        """Whether nothing runs on the chips of a job that breaks it, as whatever devices."""
        return self.field == HARDWARE and self.name != DEVICES_RULE

    @property
    def of_job(self) -> bool:
        """Whether it holds for every plan of a job or for none."""
        return self.field in OF_JOB
