"""What a framework can load a checkpoint into: which choices of a plan have to stay."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of

if TYPE_CHECKING:  # numpy: `--help` and shells list the names of checkpoints
    from planner.frameworks.framework import Framework
    from planner.plan import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A form of checkpoint of a framework.

    Attributes:
        name: As users type it (`--checkpoint`).
        said: How it is chosen when a run saves it, in a few words.
        of: Shardings of the runs that save it.
        keeps: Fields of the plan that must be those of the run; the rest may change. With `pp` each
            stage keeps its layers.
        into: Shardings that it loads into; empty: that of the run alone.
        same_chips: Whether the number of chips has to stay as well.
        version, source: Of the framework whose source was read, and where the rule stands.
    """

    name: str
    said: str
    of: tuple[str, ...]
    keeps: tuple[str, ...] = ()
    into: tuple[str, ...] = ()
    same_chips: bool = False
    version: str
    source: str

    def keeps_layers(self, plan: Plan) -> bool:
        """Whether every stage has to keep its layers."""
        return "pp" in self.keeps and plan.pp > 1

    def kept(self, plan: Plan) -> Mapping[str, tuple[str, ...]]:
        """The values that fields of a plan may take, as `fix` has them."""
        found = {name: (str(getattr(plan, name)),) for name in self.keeps}
        if self.keeps_layers(plan) and plan.stages is None:
            found["split"] = (plan.split,)
        return {**found, "sharding": self.into or (plan.sharding,)}

    def refused(self, run: Plan, plan: Plan) -> tuple[str, ...]:
        """What of a plan keeps the checkpoint of a run from loading into it; empty: it loads.

        Args:
            run: The plan of the run that saved it.
            plan: The plan that is to load it.
        """
        kept = {name: values for name, values in self.kept(run).items() if name != "split"}
        found = [
            f"{name} {getattr(run, name)} to {getattr(plan, name)}"
            for name, values in kept.items()
            if str(getattr(plan, name)) not in values
        ]
        if self.keeps_layers(run) and not found and _dealt(run) != _dealt(plan):
            found.append("the layers of stages")
        if self.same_chips and run.chips != plan.chips:
            found.append(f"chips {run.chips:,} to {plan.chips:,}")
        return tuple(found)


def _dealt(plan: Plan) -> object:
    """What decides the layers of each stage, of plans with as many stages."""
    return plan.split if plan.stages is None else tuple(stage.layers for stage in plan.stages)


def checkpoint_of(framework: Framework, name: str | None, plan: Plan) -> Checkpoint:
    """The form in which a run saved its checkpoint: the one named, else the usual one of its plan.

    Raises:
        InputError: The framework has no such form, or none that is known of such a plan.
    """
    known = framework.checkpoints()
    if not known:
        raise InputError(f"resume-from: no form of checkpoint of {framework.name} is known")
    names = tuple(dict.fromkeys(one.name for one in known))
    if name is not None and name not in names:
        raise InputError(f"checkpoint: {not_one_of(name, names)} ({framework.name})")
    named = [one for one in known if name in (None, one.name)]
    found = next((one for one in named if plan.sharding in one.of), None)
    if found is None:
        forms = ", ".join(f"{one.name} of {' or '.join(one.of)}" for one in known)
        raise InputError(
            f"checkpoint: {framework.name} saves no {name or 'checkpoint'} of a run with sharding "
            f"{plan.sharding}; it saves {forms}"
        )
    return found
