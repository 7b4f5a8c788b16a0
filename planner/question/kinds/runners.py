"""What has to run the plans of a search: the targets that a question names, or those it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.vocabulary import ANY, LAYOUTS
from planner.frameworks.launching import LAUNCHED_VENDORS, default_target
from planner.frameworks.targets import TARGETS, Target
from planner.question.records import preset_of

if TYPE_CHECKING:
    from planner.cost.context import CostModel
    from planner.question.options import SpaceOptions
    from planner.question.request import Request


@dataclass(frozen=True, slots=True, kw_only=True)
class Runners:
    """What has to run the plans of a search.

    Attributes:
        targets: All of them; empty: every plan of the framework is searched.
        reason: Why, in words; empty where the question says so.
    """

    targets: tuple[Target, ...] = ()
    reason: str = ""

    @property
    def assumed(self) -> bool:
        """Whether the question left it open."""
        return bool(self.reason)

    def lifted(self, options: SpaceOptions) -> SpaceOptions | None:
        """A space without targets that were assumed; None where it has none of these."""
        if not (self.assumed and options.runnable_in):
            return None
        return replace(options, runnable_in=())

    @property
    def words(self) -> str:
        """As a question has it: `megatron`, or `any`."""
        return ",".join(target.name for target in self.targets) or ANY


def named_targets(request: Request) -> tuple[Target, ...]:
    """The targets that a question names."""
    names = dict.fromkeys(request.runnable_in or ())
    return tuple(TARGETS[name] for name in names if name != ANY)


def runners_of(request: Request, model: CostModel) -> Runners:
    """What has to run the plans of a question: what it names, else the target of its framework.

    Args:
        request: As asked.
        model: Its job on its cluster.
    """
    if request.runnable_in is not None:
        return Runners(targets=named_targets(request))
    name = model.framework.name
    target = default_target(name, model.job.learns)
    if reason := next(_lifting(request, model, target), ""):
        return Runners(reason=reason)
    if target is None:
        job = f"{model.job.learns} jobs of " if default_target(name) else ""
        return Runners(reason=f"planner export has no target for {job}{name}")
    return Runners(targets=(target,), reason=f"what launches {name}")


def _lifting(request: Request, model: CostModel, target: Target | None) -> Iterator[str]:
    """Why plans that a framework's target cannot run are searched too; the first counts."""
    job, chip = model.job, model.chip
    if preset_of(request.assumptions) != "calibrated":
        yield f"{request.assumptions} predicts no framework"
    if job.optimizer not in model.framework.optimizers:
        yield f"{model.framework.name} is told of no optimizer {job.optimizer}"
    if request.framework is None and chip.vendor not in LAUNCHED_VENDORS:
        yield f"{model.framework.name} is assumed for memory and speed alone on {chip.name}"
    if target is None:
        return
    if request.placement != "framework":
        yield f"placement {request.placement} asks for layouts beyond those of {target.title}"
    if request.layout != LAYOUTS[0] and not target.lists_layers:
        yield f"{target.title} deals out layers by a rule, and layout asks for stages that differ"
