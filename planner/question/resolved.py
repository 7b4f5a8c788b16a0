"""A question made concrete: its records loaded, its defaults taken, its cost model built."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from frozen_records import dataclass
from hardware_db import Chip, Cluster
from models_db import Model
from planner.assumptions.assumptions import PRESETS, Assumptions
from planner.base.files import names_a_file
from planner.base.log import DEBUG, log
from planner.base.messages import Attempts, Origin
from planner.collectives.tables.tables import table_of
from planner.cost.context import CostModel
from planner.cost.energy.meter import below_fabric
from planner.cost.job import Job
from planner.machine.degraded import with_degraded
from planner.machine.torus_axes import torus_axes_problem
from planner.machine.variants import variant_of
from planner.network.fabric import no_tables
from planner.network.synthesized.tables import NCCL
from planner.question.asked.usual import COOLING
from planner.question.changes.changed import NONE, Changes
from planner.question.changes.resolving import assumptions_of, changed_records, with_powers
from planner.question.checks import (
    lengths_problems,
    placement_problems,
    problems_of,
    without_constants,
)
from planner.question.defaults import (
    Defaults,
    batch_of,
    era_of,
    framework_of,
    note_chip,
    note_network,
    precision_of,
    recipe_of_software,
    seq_len_of,
    tunes_whole,
)
from planner.question.facility import clock_limit_of, cooled_as, facility_of
from planner.question.kinds.adapters import target_problems, targets_in, tuning_problems
from planner.question.kinds.images import image_problems
from planner.question.kinds.kind import Kind, kind_of
from planner.question.kinds.lengths import lengths_in
from planner.question.kinds.runners import Runners, named_targets, runners_of
from planner.question.records import (
    cluster_named,
    local_named,
    model_named,
    preset_of,
)
from planner.question.request import ARGUMENTS, DEFAULT_HARDWARE, Request
from planner.question.run.phases import several_problems
from planner.question.run.upkeep import spares_problems, upkeep_problems, whole_run

if TYPE_CHECKING:
    from planner.assumptions.local_file import LocalCalibration

# Defaults in the order in which they are shown.
_SHOWN = (
    "set", "hardware", "chip", "network", "framework", "seq-len", "batch-tokens", "precision",
    "fp8-recipe", "era", "calibration", "power-cap", "cooling", "pue",
)  # fmt: skip
_AS_ASKED = ("lora_rank", "adapter", "frozen_weights", "optimizer", "images", "tower_recompute")
_NO_CHIPS = "chips: is missing; say how many chips to plan for, e.g. --chips 4096"


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """A request made concrete.

    Attributes:
        request: As asked.
        chips: Chips to plan for; of a range the most.
        fewest_chips: The fewest of a range, else the same.
        cost: The cost model of the job on the cluster.
        batch_tokens: Tokens per step.
        seq_len: Tokens per sequence.
        defaults: What was not asked for, with the value taken and why: (name, value, reason).
        runners: What has to run the plans of a search.
        changes: Fields of records and assumptions that the question changes.
    """

    request: Request
    chips: int
    fewest_chips: int
    cost: CostModel
    batch_tokens: float
    seq_len: int
    defaults: tuple[tuple[str, str, str], ...]
    runners: Runners
    changes: Changes = NONE

    @property
    def counts(self) -> tuple[int, ...]:
        """Numbers of chips that a plan may use, ascending; of a range what the cluster gives."""
        if self.fewest_chips == self.chips:
            return (self.chips,)
        return tuple(n for n in self.cost.cluster.chip_counts(self.chips) if n >= self.fewest_chips)

    @property
    def takes_fewer(self) -> bool:
        """Whether fewer chips are used where no plan fits on all that are asked for."""
        open_to_it = not self.request.chips_exact and self.request.keeps_to_chips
        return open_to_it and not _all_chips_in(self.request)

    @property
    def cooling(self) -> str | None:
        """Of the nodes: as asked, else as usual; None where the chip's record does not tell."""
        known = self.cost.chip.host_liquid_w is not None
        return self.request.cooling or (COOLING if known else None)


def _without_effect(request: Request) -> list[str]:
    """Fields that were given but mean nothing without another one, one line per field."""
    lines = _alone(request)
    if request.scale and request.pes is None:
        lines.append(
            f"scale: {', '.join(request.scale)} has no effect without pes, the processing elements "
            "per chip; give them or leave it out"
        )
    known = request.assumptions in PRESETS or names_a_file(request.assumptions)
    if request.mfu is not None and known and preset_of(request.assumptions) != "roofline":
        lines.append(
            f"mfu: {request.mfu:g} has no effect under {_rates(preset_of(request.assumptions))}; "
            "use the assumptions roofline or leave it out"
        )
    return lines + (without_constants(request) if known else [])


def _alone(request: Request) -> list[str]:
    """Fields that were given without the one whose meaning they change, one line per field."""
    lines = []
    if request.checkpoint is not None and request.resume_from is None:
        lines.append(
            f"checkpoint: {request.checkpoint} has no effect without resume-from, the run whose "
            "checkpoint it is; give it or leave the form out"
        )
    lines += [*tuning_problems(request), *upkeep_problems(request)]
    if "power_boundary" in request.model_fields_set and request.max_power is None:
        lines.append(
            f"power-boundary: {request.power_boundary} has no effect without max-power; give that "
            "or leave it out"
        )
    return lines


def _rates(preset: str) -> str:
    """How fast chips compute under a preset without `mfu`, in words."""
    if preset == "calibrated":
        return "the fitted efficiencies of calibrated"
    return f"the peak rates of {preset}"


def _cost_of(
    job: Job, cluster: Cluster, assumptions: Assumptions, request: Request, chips: int
) -> CostModel:
    """The cost model of a question whose job is known."""
    log(
        __name__, DEBUG, "resolved", model=job.model.name, cluster=cluster.name, chips=chips,
        batch_tokens=job.batch_tokens, precision=job.precision, framework=job.framework.name,
    )  # fmt: skip
    return CostModel.build(job, cluster, assumptions, request.torus_axes)


def resolve(request: Request, origin: Origin = ARGUMENTS, chips: int | None = None) -> Resolved:
    """Loads records, applies defaults, checks what can be checked before any plan.

    Args:
        request: As asked.
        origin: Where its fields come from, for messages.
        chips: Chips of the plan that the question is about, where there is one.

    Raises:
        InputError: What cannot be used, one line per mistake.
    """
    tried = Attempts(origin, Request.model_fields)
    _check_one_kind(tried, request)
    fewest, most = (chips, chips) if chips else _chips_of(tried, request)
    tried.add([*_without_effect(request), *_contradicting(request)])
    model = tried.attempt(model_named, request.model)
    cluster = tried.attempt(cluster_named, request.hardware)
    local = tried.attempt(local_named, request.calibration)
    if model is None or cluster is None or (request.calibration and local is None):
        raise tried.error()
    changes, model, cluster = changed_records(tried, request, model, cluster)
    cluster = _machine(
        tried, request, cluster if local is None else local.on_cluster(cluster), changes.given
    )
    chip, defaults = cluster.chip, Defaults(changes.defaults)
    cooled = tried.attempt(cooled_as, cluster, request.cooling, defaults)
    _note_hardware(request, cluster, changes, defaults)
    job, assumptions = _job_of(tried, request, model, chip, defaults, most, local, changes)
    if job is None or assumptions is None or cooled is None or tried.problems:
        raise tried.error()
    tried.add([*_unfit(request, assumptions, model, cluster), *target_problems(model, request)])
    tried.add(image_problems(request, assumptions))
    tried.add(spares_problems(request, cluster, most))
    if tried.problems:
        raise tried.error()
    cost = _cost_of(job, cooled, assumptions, request, most)
    cost = tried.needed(tried.attempt(with_powers, request, cost, changes, local))
    cost = _as_run(tried, request, cost, defaults)
    tried.add([*problems_of(cost, request.fix, request.max_memory), *lengths_problems(cost)])
    tried.add(placement_problems(cost, request.placement, named_targets(request)))
    return Resolved(
        request=request,
        chips=most,
        fewest_chips=fewest,
        cost=tried.needed(cost),
        batch_tokens=_plainly(request.batch_tokens, job.batch_tokens),
        seq_len=seq_len_of(request.seq_len, model, request.job),
        defaults=tuple(sorted(defaults, key=lambda taken: _SHOWN.index(taken[0]))),
        runners=runners_of(request, cost),
        changes=changes,
    )


def on_chips(resolved: Resolved, chips: int) -> Resolved:
    """The same question about one number of chips alone."""
    changes = {"chips": chips, "chips_at_most": None}
    request = resolved.request.model_copy(update=changes)
    return replace(resolved, request=request, chips=chips, fewest_chips=chips)


def _check_one_kind(tried: Attempts, request: Request) -> None:
    """Refuses pools of different chips, and what is about more than one plan.

    Raises:
        InputError: There are some.
    """
    tried.add(several_problems(request))
    if request.pools is not None:
        tried.add(["pools: this is about one kind of chips; planner solve and evaluate take pools"])
    if tried.problems:
        raise tried.error()


def _chips_of(tried: Attempts, request: Request) -> tuple[int, int]:
    """The fewest and the most chips that are asked for.

    Raises:
        InputError: The request does not say.
    """
    if request.chip_range is None:
        tried.add([_NO_CHIPS])
    return tried.needed(request.chip_range)


def _contradicting(request: Request) -> list[str]:
    """What is said twice of the number of chips, one line each."""
    lines = []
    if request.chips is not None and request.chips_at_most is not None:
        lines.append("chips-at-most: chips says how many there are; leave one of the two out")
    if request.chips_exact and not request.keeps_to_chips:
        lines.append("chips-exact: contradicts a range of chips; leave one of the two out")
    return lines


def _all_chips_in(request: Request) -> str:
    """What keeps plans to all of their chips, also where none fits; empty: nothing."""
    kind = kind_of(request)
    if kind is Kind.UNIFORM:
        return ""
    return "several machines" if kind is Kind.MACHINES else "uneven stages"


def _machine(
    tried: Attempts, request: Request, cluster: Cluster, given: tuple[str, ...]
) -> Cluster:
    """The cluster with the PEs per chip, the wiring and the slow links that are asked for.

    Fields whose values are given stay so.

    Raises:
        InputError: It cannot be built so.
    """
    built = tried.attempt(variant_of, cluster, request.pes, request.topology, request.scale, given)
    if built is None:
        raise tried.error()
    degraded = tried.attempt(with_degraded, built, request.degrade_link)
    if degraded is None:
        raise tried.error()
    return degraded


def _as_run(tried: Attempts, request: Request, cost: CostModel, defaults: Defaults) -> CostModel:
    """The cost model in its facility, under its power cap, with the collectives it assumes.

    Raises:
        InputError: The chip cannot be capped so.
    """
    limit = tried.attempt(clock_limit_of, request.power_cap, cost.chip, defaults)
    return replace(
        cost,
        facility=facility_of(request.pue, defaults),
        clock_limit=tried.needed(limit),
        run=whole_run(request, cost),
        tables=no_tables if cost.assumptions.collectives == NCCL else table_of,
    )


def _note_hardware(
    request: Request, cluster: Cluster, changes: Changes, defaults: Defaults
) -> None:
    """Lists what of the hardware was not asked for."""
    if "hardware" not in request.model_fields_set:
        defaults.append(("hardware", DEFAULT_HARDWARE, "the default cluster"))
    note_network(cluster, defaults)
    if not changes.of("chip"):
        note_chip(cluster.chip, defaults)


def _job_of(
    tried: Attempts,
    request: Request,
    model: Model,
    chip: Chip,
    defaults: Defaults,
    chips: int,
    local: LocalCalibration | None,
    changes: Changes,
) -> tuple[Job | None, Assumptions | None]:
    """The job and the assumptions; None and a problem noted where they cannot be had."""
    preset = preset_of(request.assumptions)
    targets = named_targets(request)
    seq_len = seq_len_of(request.seq_len, model, request.job, defaults)
    precision = precision_of(request.precision, chip, defaults)
    tuned = precision if tunes_whole(request) else ""
    framework = framework_of(request.framework, chip, defaults, preset, targets, tuned=tuned)
    era = era_of(request.era, framework, chip, defaults, request.job)
    if local is not None:
        defaults.append(("calibration", *local.use(chip, era)))
    recipe = recipe_of_software(request, framework, era, precision, defaults)
    assumptions = tried.attempt(
        assumptions_of, request, chip, era, precision, local, framework.experts, recipe, changes
    )
    if assumptions is not None and request.collectives is not None:
        assumptions = replace(assumptions, collectives=request.collectives)
    evenly = assumptions is None or assumptions.token_granularity  # unknown: sequences may do
    tokens, kind = request.batch_tokens, request.job
    batch = tried.attempt(batch_of, tokens, seq_len, chips, defaults, job=kind, evenly=evenly)
    global_batch, share = batch or (1, seq_len)
    job = tried.attempt(
        Job,
        model=model,
        seq_len=share,
        global_batch=global_batch,
        lengths=lengths_in(request.lengths, seq_len),
        precision=precision,
        kind=kind,
        **{name: getattr(request, name) for name in _AS_ASKED},
        lora_targets=targets_in(request) if kind == "lora" else (),
        lora_dropout=request.lora_dropout or 0.0,
        reference=request.reference or "",
        fp8_recipe=request.fp8_recipe or "",
        framework=framework,
        era=era,
    )
    return job, assumptions


def _plainly(asked: float | None, tokens: float) -> float:
    """The tokens of a step as asked for, without what dividing them among chips rounds."""
    tokens = tokens if asked is None else asked
    return int(tokens) if float(tokens).is_integer() else tokens


def _unfit(request: Request, assumptions: Assumptions, model: Model, cluster: Cluster) -> list[str]:
    """What the assumptions or the cluster cannot express, one line each."""
    lines = []
    if assumptions.mlp_blocks and model.moe is not None:
        lines.append(
            f"assumptions: {request.assumptions}: {model.name} has experts, which a stack of MLPs "
            "leaves out; use calibrated, or a model without experts"
        )
    inside = request.power_boundary
    if request.max_power is not None and assumptions.component_energy and below_fabric(inside):
        lines.append(
            f"power-boundary: {inside} is not limited under {request.assumptions}, where what the "
            "network draws depends on the plan; use node_and_fabric or facility"
        )
    ranged = request.chip_range is not None and not request.keeps_to_chips
    if assumptions.token_granularity and ranged:
        lines.append(
            f"chips: under {request.assumptions} the chips share a step's tokens, so that each "
            "number of chips has its own plans; give one number"
        )
    whole = _all_chips_in(request)
    if request.chips_exact is False and request.keeps_to_chips and whole:
        lines.append(f"chips-exact: {whole} use all chips in any case; leave it out")
    if problem := torus_axes_problem(request.torus_axes or {}, cluster):
        lines.append(problem)
    return lines
