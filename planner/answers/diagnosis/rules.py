"""That the rules on meshes, micro-batches and plans leave nothing of what was asked for."""

from __future__ import annotations

from planner.base.units import plural
from planner.frameworks.rules import TARGET, all_rules
from planner.results.parts import Diagnosis
from planner.search.driver import Found
from planner.search.infeasible.batches import undivided
from planner.search.infeasible.chunks import layers_in_chunks, unequal_chunks_alone
from planner.search.infeasible.remedies import (
    fewer_chips,
    first_few,
    more_chips,
    other_batch,
    other_options,
)
from planner.search.uniform.engine import UniformSpace

_RULES = {
    "axes": "the axes and values that were asked for",
    "fixed": "the values that were asked for",
    "framework": "pipeline parallelism, which the framework does not have",
    "heads": "attention heads or MLP width that tp does not divide",
    "sequence": "a sequence length that cp does not divide",
    "layers": "layers that pp does not divide",
    "batch": "a global batch that the data ranks do not divide",
    "experts": "ranks that ep does not divide",
    "micro_batches": "micro-batches that an interleaved pipeline does not divide",
}
_MOST_UNITS = 3
_WAYS = {
    "factorizations": "way to write {chips} as tp x cp x pp x data ranks",
    "meshes": "mesh of tp, cp, pp, dp, fsdp and ep on {chips}",
    "partial_plans": "micro-batch and pipeline on {chips}",
    "plans": "plan on {chips}",
}


def of_rules(space: UniformSpace, chips: int, found: Found) -> Diagnosis:
    """The rules leave nothing, whatever the memory: at the stage after which nothing is left."""
    stage = next(name for name in reversed(_WAYS) if found.counts[name].get("considered"))
    counts = found.counts[stage]
    passed = ("considered", "kept", "searched", "opened")
    reasons = "; ".join(
        f"{count:,} by {_RULES.get(name) or of_framework(name)}"
        for name, count in counts.items()
        if name not in passed
    )
    noun = "chip" if chips == 1 else "chips"
    own = "" if "batch" in counts else _of_batch(space, chips)
    way = _WAYS[stage].format(chips=f"{chips:,} {noun}")
    return Diagnosis(
        constraint="divisibility",
        explanation=(
            f"no {way} can run {space.model.job.model.name}: {counts['considered']:,} were "
            f"excluded, {reasons}{_unequal_chunks(space, chips)}{own}"
        ),
        remedies=first_few(
            other_options(space, chips),
            fewer_chips(space, chips),
            more_chips(space, chips),
            other_batch(space, chips),
        ),
    )


def _of_batch(space: UniformSpace, chips: int) -> str:
    """That what was asked for divides another batch than this; empty: it divides this one."""
    units = " or ".join(f"{unit:,}" for unit in undivided(space, chips)[:_MOST_UNITS])
    if not units:
        return ""
    sequences, sized = space.model.job.global_batch, "micro_batch" in space.options.fixed
    ranks = "data ranks times micro-batch" if sized else "data ranks"
    return (
        f"; what binds is the batch: its {plural(sequences, 'sequence')} would have to be a "
        f"multiple of {units} ({ranks} of what was asked for)"
    )


def _unequal_chunks(space: UniformSpace, chips: int) -> str:
    """That chunks have to be equal, where what was asked for has no equal ones; else nothing."""
    if not unequal_chunks_alone(space.model, chips, space.options):
        return ""
    own = space.model.job.model.layers
    counted = ", embedding and head counted"
    words = [
        f"{layers} layers{counted if layers > own else ''}"
        for layers in layers_in_chunks(space.model)
    ]
    return (
        "; more than one chunk per stage is searched with equal chunks only, here of "
        f"{' or '.join(words)} (planner evaluate costs a plan with others)"
    )


def of_framework(name: str) -> str:
    """A rule, with where it is enforced."""
    rule = next(rule for rule in all_rules() if rule.name == name.rpartition(TARGET)[2])
    return f"the rule {name} ({rule.source})"
