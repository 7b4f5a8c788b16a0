"""The plan of a launch as flags of Megatron-LM: mesh, pipeline, sharding, recomputation, offload.

Names and meanings: megatron/training/arguments.py (`_add_distributed_args`, `validate_args`) and
megatron/core/model_parallel_config.py, core 0.16.1.
"""

from __future__ import annotations

from planner.assumptions.software import ERAS
from planner.frameworks.megatron.recompute import recomputation
from planner.frameworks.megatron.words import FP8_RECIPES, LATENT_EXPOSES_TP, pipeline_inside
from planner.frameworks.megatron.writing.flags import Flag, Group, flag, switches
from planner.frameworks.megatron.writing.optimizer import by_muon, optimizer_flags
from planner.frameworks.rules.alike import keeps_scores
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan
from planner.plan.layout_text import layout_text

STRATEGIES = {"zero2": "optim_grads", "zero3": "optim_grads_params"}
"""Shardings that Megatron-FSDP has, by its `--data-parallel-sharding-strategy`."""
MAIN_GRADIENTS = ("0.18", "0.19")
"""Versions whose Megatron-FSDP has a flag of its own for the format of its gradients."""
_OVERLAPS = "Collectives hide behind the computation where the prediction assumes it."


def parallel_groups(launch: Launch) -> tuple[Group, ...]:
    """Everything that the plan says, and the batch."""
    return (
        Group(name="BATCH_ARGS", flags=_batch(launch), comments=(_accumulation(launch),)),
        Group(name="PARALLEL_ARGS", flags=_mesh(launch), comments=(_data_ranks(launch.plan),)),
        Group(name="SHARDING_ARGS", flags=_sharding(launch), comments=(_OVERLAPS,)),
        Group(name="MEMORY_ARGS", flags=_memory(launch)),
        Group(name="PRECISION_ARGS", flags=_precision(launch)),
    )


def uses_fsdp(plan: Plan) -> bool:
    """Whether Megatron-FSDP shards, not the distributed optimizer."""
    return plan_sharding(plan) in STRATEGIES


def overlaps_tp(launch: Launch) -> bool:
    """Whether the collectives of tp hide behind products."""
    return not why_tp_is_exposed(launch)


def why_tp_is_exposed(launch: Launch) -> str:
    """Why --tp-comm-overlap is left out; empty where the collectives of tp hide behind products.

    Source: `validate_args`, which asks for sequence parallelism, and before Blackwell warns of
    Megatron-FSDP beside tp.
    """
    era = launch.cost.job.era
    if not ERAS[era].overlaps_tp:
        return f"{era} has none"
    if not launch.plan.sequence_parallel:
        return "it needs sequence parallelism"
    if uses_fsdp(launch.plan):
        return "Megatron-FSDP wants other hardware queues before Blackwell"
    return LATENT_EXPOSES_TP if launch.cost.shapes.latent else ""


def plan_sharding(plan: Plan) -> str:
    """The sharding of all stages; of the first one where they differ."""
    return (plan.stages[0].sharding if plan.stages else None) or plan.sharding


def _batch(launch: Launch) -> tuple[Flag, ...]:
    return (
        flag("--micro-batch-size", launch.plan.micro_batch),
        flag("--global-batch-size", launch.global_batch),
    )


def _accumulation(launch: Launch) -> str:
    return f"A step has {launch.micro_batches} micro-batches on every data rank."


def _data_ranks(plan: Plan) -> str:
    ranks = plan.dp * plan.fsdp
    return f"The {ranks} data ranks follow: {plan.chips} chips / (tp x cp x pp)."


def _mesh(launch: Launch) -> tuple[Flag, ...]:
    """Axes, their order, the pipeline's split; experts have a tensor parallelism of their own."""
    plan = launch.plan
    experts = [
        flag("--expert-model-parallel-size", plan.ep),
        flag("--expert-tensor-parallel-size", plan.etp),
    ]
    mode = {"ring": "p2p", "all-to-all": "a2a"}[plan.cp_mode]
    return (
        flag("--tensor-model-parallel-size", plan.tp),
        *switches(
            sequence_parallel=plan.sequence_parallel,
            tp_comm_overlap=overlaps_tp(launch),
        ),
        flag("--context-parallel-size", plan.cp),
        *((flag("--cp-comm-type", mode),) if plan.cp > 1 else ()),
        *(experts if launch.model.moe else ()),
        flag("--pipeline-model-parallel-size", plan.pp),
        *pipeline_flags(launch),
        *switches(use_tp_pp_dp_mapping=pipeline_inside(plan)),
    )


def pipeline_flags(launch: Launch) -> list[Flag]:
    """How layers and chunks are dealt to the stages; nothing where Megatron-LM deals evenly."""
    plan, layers = launch.plan, launch.chunk_layers
    chunks = [flag("--num-virtual-stages-per-pipeline-rank", plan.interleave)]
    overlaps = ERAS[launch.cost.job.era].overlaps_p2p or plan.pp == 2
    chunks += switches(no_overlap_p2p_communication=not overlaps)
    chunks = chunks if plan.interleave > 1 else []
    if plan.pp == 1 or len(set(layers)) <= 1:
        return chunks
    if plan.stages is None and plan.split == "even-counted":
        return [*chunks, *(flag(f"--account-for-{end}-in-pipeline-split") for end in _ENDS)]
    return [flag("--pipeline-model-parallel-layout", layout_text(layers)), *chunks[1:]]


_ENDS = ("embedding", "loss")


def _sharding(launch: Launch) -> tuple[Flag, ...]:
    """Who shares what of the training state, and what is hidden."""
    plan, era = launch.plan, ERAS[launch.cost.job.era]
    sharding = plan_sharding(plan)
    if uses_fsdp(plan):
        replicas = plan.dp if sharding == "zero3" else 1
        return (
            flag("--use-megatron-fsdp"),
            flag("--use-distributed-optimizer"),
            flag("--data-parallel-sharding-strategy", STRATEGIES[sharding]),
            *_replicas(replicas),
            flag("--overlap-grad-reduce"),
            flag("--overlap-param-gather"),
            flag("--init-model-with-meta-device"),
            flag("--ckpt-format", "fsdp_dtensor"),
        )
    muon = by_muon(launch)
    shares = sharding == "zero1" and not muon
    return (
        *switches(
            use_distributed_optimizer=shares,
            overlap_grad_reduce=era.hides_reduction and plan.dp * plan.cp > 1 and not muon,
            overlap_param_gather=shares and era.hides_gather and era.hides_reduction,
        ),
        flag("--ckpt-format", "torch_dist"),
    )


def _replicas(count: int) -> list[Flag]:
    """Hybrid sharding: replicas of the shards, each a whole instance."""
    if count == 1:
        return []
    return [
        flag("--num-distributed-optimizer-instances", count),
        flag("--outer-dp-sharding-strategy", "no_shard"),
    ]


def _memory(launch: Launch) -> tuple[Flag, ...]:
    """Recomputation and offloading; recomputation needs one way for all stages."""
    plan = launch.plan
    way = recomputation(launch.model, plan)
    flags = [
        flag(f"--recompute-{name}", value)
        for name, value in (
            ("granularity", way.granularity),
            ("method", way.method),
            ("num-layers", way.layers),
        )
        if value
    ]
    flags += [flag("--recompute-modules", *way.modules)] if way.modules else []
    flags += optimizer_flags(launch, plan_sharding(plan))
    if "optimizer" in plan.offload:
        flags += [
            flag("--optimizer-cpu-offload"),
            flag("--optimizer-offload-fraction", "1.0"),
            flag("--use-precision-aware-optimizer"),
        ]
    if "activations" in plan.offload:
        flags.append(flag("--cpu-offloading-num-layers", launch.model.layers - 1))
    return tuple(flags)


def attends_fused(launch: Launch) -> bool:
    """Whether attention is one kernel, where there is one; context parallelism has no other."""
    wanted = launch.cost.assumptions.fused_attention or launch.plan.cp > 1
    return wanted and not keeps_scores(launch.cost)


def gathers_in_8_bits(launch: Launch) -> bool:
    """Whether weights are kept in 8 bits, as they are and transposed: 2 B, as the plan counts.

    Else Transformer Engine keeps both beside weights of 16 bits (pytorch/module/linear.py
    `new_weight_workspace`). Source: `validate_args`, beside the distributed optimizer only, and
    where that is on the host for the recipe `delayed` only.
    """
    job, plan = launch.cost.job, launch.plan
    moves = "optimizer" in plan.offload and job.recipe != "delayed"
    return job.precision == "fp8" and plan_sharding(plan) == "zero1" and not moves


def _precision(launch: Launch) -> tuple[Flag, ...]:
    """Number formats of products and of gradients on the wire, and the kernels of the era."""
    precision = launch.cost.job.precision
    formats = {
        "fp8": [
            flag("--fp8-format", "hybrid"),
            flag("--fp8-recipe", FP8_RECIPES[launch.cost.job.recipe]),
        ],
        "mxfp8": [flag("--fp8-format", "e4m3"), flag("--fp8-recipe", "mxfp8")],
        "fp4": [flag("--fp4-format", "e2m1"), flag("--fp4-recipe", "nvfp4")],
    }
    base = {"fp16": ["--fp16"], "fp32": []}.get(precision, ["--bf16"])
    short = launch.cost.assumptions.gradient_wire_bytes <= 2.0 and precision != "fp32"
    wire = switches(
        fp8_param_gather=gathers_in_8_bits(launch),
        grad_reduce_in_bf16=short and precision != "fp16",
        accumulate_allreduce_grads_in_fp32=not short and precision != "fp32",
    )
    newer = []
    if uses_fsdp(launch.plan) and not short and launch.version in MAIN_GRADIENTS:
        newer = [flag("--megatron-fsdp-main-grads-dtype", "fp32")]
    fused = [] if attends_fused(launch) else [flag("--attention-backend", "unfused")]
    loss = launch.cost.framework.logits_bytes <= 6.0
    return (
        *map(flag, base),
        *formats.get(precision, []),
        *wire,
        *newer,
        *switches(cross_entropy_loss_fusion=loss),
        *fused,
    )
