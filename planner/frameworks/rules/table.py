"""The table of rules: where each is enforced, and what it tells whoever breaks it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cache, partial

from planner.assumptions.software import FrameworkProfile
from planner.cost.context import CostModel
from planner.cost.stages.explicit import wrong_counts
from planner.frameworks.decoders import unwritten
from planner.frameworks.framework import Target
from planner.frameworks.registry import every, framework_of, framework_of_target
from planner.frameworks.rules import alike, predicates, shared, words
from planner.frameworks.rules.numbers import nearest_divisors
from planner.frameworks.rules.rule import DEVICES_RULE, HARDWARE, PLACEMENT, Rule
from planner.plan import Plan, PlanTable
from planner.schedules import BUILT_IN, known_schedules
from planner.schedules.schedule import Schedule


def of_schedule(schedule: Schedule) -> Rule:
    """The rule that a schedule runs with a plan's stages and micro-batches."""
    return Rule(
        name=schedule.name,
        field="schedule",
        framework="any",
        source=schedule.rule_source,
        holds=partial(predicates.schedule_runs, schedule),
        explain=lambda c, p: schedule.why_not(
            p.pp, words.micro_batches(c, p), trains_all=c.job.trains_all
        ),
    )


GENERAL: tuple[Rule, ...] = (
    Rule(
        name="written-layers",
        field="model",
        framework="framework",
        source="planner.frameworks.decoders.unwritten",
        holds=predicates.layers_are_written,
        explain=lambda c, p: (
            f"{c.job.model.name} has {unwritten(c.job)}, which no target is written with yet"
        ),
        launch=True,
    ),
    Rule(
        name="heads",
        field="tp",
        framework="any",
        source="attention heads are whole on a chip; Megatron-LM core TransformerConfig",
        holds=predicates.heads_divide,
        alone=True,
        explain=lambda c, p: (
            f"tp {p.tp} does not divide the {c.shapes.heads} attention heads of "
            f"{c.job.model.name}; nearest: {nearest_divisors(p.tp, c.shapes.heads)}"
        ),
    ),
    Rule(
        name="kv-heads",
        field="tp",
        framework="any",
        source="Megatron-LM core >= 0.16 TransformerConfig: query groups divide tp or tp them",
        holds=predicates.kv_heads_divide,
        alone=True,
        explain=lambda c, p: (
            f"tp {p.tp} and the {c.shapes.kv_heads} key-value heads of {c.job.model.name} do not "
            f"divide one another; nearest: {nearest_divisors(p.tp, c.shapes.kv_heads)}"
        ),
    ),
    Rule(
        name="scan-heads",
        field="tp",
        framework="any",
        source="Megatron-LM core/ssm/mamba_mixer.py: nheads and ngroups divide by tp_size",
        holds=predicates.scan_heads_divide,
        alone=True,
        explain=words.undivided_scan,
    ),
    Rule(
        name="scan-sequence",
        field="cp",
        framework="any",
        source="Megatron-LM core/ssm/mamba_context_parallel.py changes sequence for head shards",
        holds=predicates.scans_whole_sequences,
        alone=True,
        explain=lambda c, p: (
            f"cp {p.cp}: the recurrences of {c.job.model.name} run through whole sequences; "
            "Megatron-LM swaps heads for tokens around them, which is not modelled; allowed: 1"
        ),
    ),
    Rule(
        name="mlp-width",
        field="tp",
        framework="any",
        source="column-parallel MLP",
        holds=predicates.mlp_width_divides,
        alone=True,
        explain=words.undivided_width,
    ),
    Rule(
        name="sequence",
        field="cp",
        framework="any",
        source="Megatron-LM arguments.py validate_args: seq % (2 cp); torchtitan seq_len_divisor",
        holds=predicates.sequence_divides,
        explain=lambda c, p: (
            f"sequences of {c.job.seq_len} tokens do not divide into cp {p.cp} x tp {p.tp} "
            f"(a multiple of {(2 * p.cp if p.cp > 1 else 1) * (p.tp if p.sequence_parallel else 1)}"
            " is needed)"
        ),
    ),
    Rule(
        name="batch",
        field="micro_batch",
        framework="any",
        source="Megatron-LM num_microbatches_calculator.py: batch % (micro_batch dp)",
        holds=predicates.batch_divides,
        explain=lambda c, p: (
            f"dp {p.dp} x fsdp {p.fsdp} x micro-batch {p.micro_batch} does not divide the global "
            f"batch of {c.job.global_batch} sequences; nearest products: "
            f"{nearest_divisors(p.dp * p.fsdp * p.micro_batch, c.job.global_batch)}"
        ),
    ),
    Rule(
        name="pairs",
        field="micro_batch",
        framework="any",
        source="DPO, arXiv:2305.18290, equation 7: the loss of a pair takes both of its sequences",
        holds=predicates.pairs_whole,
        alone=True,
        explain=lambda c, p: (
            f"micro-batch {p.micro_batch}: a preference pair is two sequences of one micro-batch; "
            f"nearest: {p.micro_batch + 1}"
        ),
    ),
    Rule(
        name="experts",
        field="ep",
        framework="any",
        source="Megatron-LM validate_args: experts % ep; parallel_state.py: ep folds over tp cp dp",
        holds=predicates.experts_divide,
        explain=lambda c, p: (
            f"ep {p.ep} must divide the {c.shapes.experts} experts of {c.job.model.name} and "
            f"{words.shared(p)}tp x cp x fsdp x dp = {p.chips // p.pp}"
            if c.shapes.experts
            else f"ep {p.ep}: {c.job.model.name} has no experts; allowed: 1"
        ),
    ),
    Rule(
        name="expert-width",
        field="etp",
        framework="any",
        source="Megatron-LM core_v0.14 transformer/moe/experts.py: columns and rows of an expert "
        "divide by the size of its tensor parallel group",
        holds=predicates.experts_split,
        alone=True,
        explain=lambda c, p: (
            f"etp {p.etp} does not divide the width of {c.shapes.expert_width} of the experts of "
            f"{c.job.model.name}; nearest: {nearest_divisors(p.etp, c.shapes.expert_width)}"
            if c.shapes.experts
            else f"etp {p.etp}: {c.job.model.name} has no experts; allowed: 1"
        ),
    ),
    Rule(
        name="layers",
        field="pp",
        framework="any",
        source="planner.cost.stages.layout, the rule named by `split`",
        holds=predicates.layers_divide,
        explain=words.undealt,
    ),
    Rule(
        name="stage-recompute",
        field="stages",
        framework="any",
        source="a stage recomputes layers that it has",
        holds=predicates.counts_fit,
        explain=lambda c, p: wrong_counts(p, c.job.model),
    ),
    Rule(
        name="stage-chunks",
        field="stages",
        framework="any",
        source="the chunks of a stage run on the same chips",
        holds=predicates.chunks_agree,
        explain=lambda c, p: words.disagreeing(p),
    ),
    Rule(
        name="interleave",
        field="interleave",
        framework="any",
        source="Megatron-LM schedules.py: interleaved needs micro-batches % pp = 0",
        holds=predicates.interleave_fits,
        explain=lambda c, p: (
            f"interleave {p.interleave} with schedule {p.schedule!r}, pp {p.pp} and "
            f"{words.micro_batches(c, p):g} micro-batches: interleave > 1 needs schedule "
            "interleaved, pp > 1 and micro-batches that are a multiple of pp"
        ),
    ),
    *(of_schedule(schedule) for schedule in BUILT_IN if schedule.rule_source),
    Rule(
        name="sharding",
        field="sharding",
        framework="any",
        source="fsdp shards weights; zero needs ranks to share state",
        holds=predicates.sharding_shares,
        per_stage=True,
        explain=lambda c, p: words.unshared(p),
    ),
    Rule(
        name="sequence-parallel",
        field="sequence_parallel",
        framework="any",
        source="Megatron-LM ModelParallelConfig: sequence parallelism needs tp > 1",
        holds=predicates.sequence_parallel_fits,
        explain=lambda c, p: "sequence_parallel needs tp > 1",
    ),
    Rule(
        name="expert-tp",
        field="sequence_parallel",
        framework="any",
        source="Megatron-LM moe_layer.py: experts with tp > 1 train only with sequence parallelism",
        holds=predicates.expert_tp_fits,
        explain=lambda c, p: f"experts with tp {p.tp} need sequence_parallel",
    ),
    Rule(
        name="all-to-all",
        field="cp_mode",
        framework="any",
        source="DeepSpeed Ulysses, arXiv:2309.14509: heads are divided by cp; TransformerEngine "
        "attention/dot_product_attention/context_parallel.py: a2a needs query and key-value "
        "heads % cp = 0",
        holds=predicates.all_to_all_divides,
        explain=words.unswapped,
    ),
    Rule(
        name="clock",
        field="clock",
        framework="any",
        source="hardware_db: clock_settable and clock levels of the chip",
        holds=predicates.clock_settable,
        per_stage=True,
        explain=lambda c, p: (
            f"clock {p.clock:g}: {c.chip.name} runs at 1.0 only"
            if not c.chip.clock_settable
            else f"clock {p.clock:g} is outside {c.levels[-1]:g}..1 of {c.chip.name}"
        ),
    ),
    Rule(
        name="offload-activations",
        field="offload",
        framework="any",
        source="Megatron-LM validate_args: activation offloading excludes recomputation",
        holds=predicates.offload_fits,
        per_stage=True,
        explain=lambda c, p: "offloading activations excludes recomputation; use recompute none",
    ),
    Rule(
        name="modules",
        field="recompute",
        framework="framework",
        source="planner.cost.kernels.selection; planner.frameworks.profiles: recompute_modules",
        holds=predicates.modules_there,
        alone=True,
        per_stage=True,
        explain=words.modules_lacking,
    ),
    Rule(
        name="axes-offered",
        field="mesh",
        framework="framework",
        source="planner.frameworks.profiles: lacks; PyTorch FSDP (fully_shard) has no stages, and "
        "Accelerate's ParallelismConfig has dp_replicate, dp_shard, tp, cp and sp only",
        holds=predicates.axes_offered,
        explain=words.axes_it_lacks,
    ),
    Rule(
        name="expert-split",
        field="etp",
        framework="framework",
        source="planner.frameworks.profiles: splits_experts",
        holds=predicates.split_of_experts_offered,
        alone=True,
        explain=lambda c, p: (
            f"{words.called(c)} does not divide experts over etp {p.etp} apart from the rest; "
            "allowed: 1"
        ),
    ),
    Rule(
        name="schedule-offered",
        field="schedule",
        framework="framework",
        source="planner.frameworks.profiles: schedules",
        holds=predicates.schedule_offered,
        alone=True,
        explain=lambda c, p: words.lacks(c, "schedule", p.schedule, c.framework.schedules),
    ),
    Rule(
        name="split-offered",
        field="split",
        framework="framework",
        source="planner.frameworks.profiles: splits",
        holds=predicates.split_offered,
        alone=True,
        explain=lambda c, p: (
            f"{words.called(c)} does not split layers by {p.split!r}; it has "
            f"{', '.join(c.framework.splits)}"
        ),
    ),
    Rule(
        name="sharding-offered",
        field="sharding",
        framework="framework",
        source="planner.frameworks.profiles: shardings",
        holds=predicates.sharding_offered,
        alone=True,
        per_stage=True,
        explain=lambda c, p: words.lacks(c, "sharding", p.sharding, c.framework.shardings),
    ),
    Rule(
        name="placement-offered",
        field="placement",
        framework="framework",
        source="planner.frameworks.profiles: orders; Megatron-LM --use-tp-pp-dp-mapping",
        holds=predicates.order_offered,
        explain=lambda c, p: (
            f"{words.called(c)} cannot lay out ranks as {words.rank_order(p)} (innermost first); "
            f"it can: {'; '.join(' '.join(order) for order in _orders_allowed(c, p))}"
        ),
    ),
    Rule(
        name=DEVICES_RULE,
        field=HARDWARE,
        framework="framework",
        source="hardware_db: devices of the chip; PyTorch, JAX and their launchers count these",
        holds=alike.one_device,
        explain=lambda c, p: alike.many_devices(c),
        launch=True,
    ),
    Rule(
        name="optimizer",
        field="optimizer",
        framework="framework",
        source="FrameworkProfile.optimizers: the optimizers that its launches can name",
        holds=shared.names_optimizer,
        explain=lambda c, p: (
            f"{words.called(c)} is not told of {c.job.optimizer}; allowed: "
            f"{', '.join(c.framework.optimizers)}"
        ),
        launch=True,
    ),
)


def all_rules() -> Iterator[Rule]:
    """Every rule: those of arithmetic and of what frameworks offer first."""
    yield from GENERAL
    for framework in every():
        yield from framework.rules()


def rules_of(framework: FrameworkProfile, target: Target | None = None) -> tuple[Rule, ...]:
    """The rules of arithmetic, of a framework with its parent, and of a target."""
    names = (framework.name, framework.derived_from)
    return (*_rules_of(tuple(name for name in names if name), target), *_of_other_packages())


def _of_other_packages() -> list[Rule]:
    """The rules of schedules that are not built in, of those that were asked for."""
    others = known_schedules()[len(BUILT_IN) :]
    return [of_schedule(schedule) for schedule in others if schedule.rule_source]


@cache
def _rules_of(profiles: tuple[str, ...], target: Target | None) -> tuple[Rule, ...]:
    owners = {"any", "framework", *profiles}
    whose = [found for name in profiles if (found := framework_of(name)) is not None]
    if target is not None:
        owners |= {*target.rules}
        whose.append(framework_of_target(target))
    own = (rule for framework in dict.fromkeys(whose) for rule in framework.rules())
    return tuple(rule for rule in (*GENERAL, *own) if rule.framework in owners)


def _orders_allowed(model: CostModel, plan: Plan) -> list[tuple[str, ...]]:
    """The orders of a framework that place this mesh apart from one another and break no rule."""
    framework = model.framework
    rules = [rule for rule in rules_of(framework) if rule.field == PLACEMENT]
    found: dict[tuple[str, ...], tuple[str, ...]] = {}
    for order in framework.orders:
        placed = PlanTable.from_plans([replace(plan, order=order, layout=None)])
        if all(rule.holds(model, placed)[0] for rule in rules):
            found.setdefault(tuple(a for a in order if getattr(plan, a) > 1), order)
    return list(found.values())
