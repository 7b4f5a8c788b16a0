"""Whether the checkpoint of one plan loads into another, by the rules of their framework."""

from __future__ import annotations

from planner.answers.run.phased import Passage
from planner.base.errors import InputError
from planner.frameworks.checkpoints import checkpoint_of
from planner.frameworks.registry import framework_of
from planner.plan import Plan


def passage_of(framework: str, run: Plan, plan: Plan, form: str | None = None) -> Passage:
    """From a run to a plan.

    Args:
        framework: Of both, by the name of its profile.
        run: The plan that saves the checkpoint.
        plan: The plan that is to load it.
        form: Of the checkpoint; None: the usual one.
    """
    known = framework_of(framework)
    try:
        if known is None:
            return Passage(form="")
        usual = checkpoint_of(known, form, run)
    except InputError:  # nobody says what such a plan saves
        return Passage(form="")
    forms = [one for one in known.checkpoints() if run.sharding in one.of and one is not usual]
    return Passage(
        form=usual.name,
        said=usual.said,
        refused=usual.refused(run, plan),
        others=tuple((one.name, one.said) for one in forms if not one.refused(run, plan)),
    )
