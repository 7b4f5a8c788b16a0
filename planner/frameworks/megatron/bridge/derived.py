"""What Megatron-LM makes of its arguments by itself, and Megatron-Bridge only where it is told.

Sources: Megatron-LM megatron/training/arguments.py (`validate_args`) and argument_utils.py
(`core_transformer_config_from_args`), d98e8a64dd (2026-08-22); Megatron-Bridge
src/megatron/bridge/models/gpt_provider.py, mla_provider.py, transformer_config.py and
training/config.py, 067f987 (2026-08-22).
"""

from __future__ import annotations

from collections.abc import Collection

from planner.frameworks.megatron.bridge.keys import Setting
from planner.frameworks.megatron.writing.parallel import uses_fsdp
from planner.frameworks.writing.launch import Launch

_OVERLAPS = (Setting("model.overlap_p2p_comm", True), Setting("model.batch_p2p_comm", False))


def defaults(launch: Launch) -> list[Setting]:
    """Fields whose default is another one than that of the flag; flags that are given come later.

    The padded vocabulary, sharding that is off, kernels that join small operations, and the loss.
    """
    model = launch.model
    joined = model.mlp.gated or model.mlp.bias
    return [
        Setting("model.should_pad_vocab", True),
        Setting("ddp.use_distributed_optimizer", False),
        Setting("optimizer.use_distributed_optimizer", False),
        Setting("model.apply_rope_fusion", model.positions.kind == "rope"),
        Setting("model.bias_activation_fusion", joined),
        Setting("model.bias_dropout_fusion", True),
        Setting("model.persist_layer_norm", True),
        Setting("model.cross_entropy_loss_fusion", False),
        *(_latent() if model.attention.kind == "mla" else ()),
        *_formats(launch.cost.job.precision),
    ]


def _formats(precision: str) -> tuple[Setting, ...]:
    """What the recipe has for bf16; without mixed precision nothing else replaces it.

    Gradients that overflow are what scales the loss in fp16, no reason to stop.
    """
    if precision == "fp16":
        return (Setting("ddp.check_for_nan_in_grad", False),)
    if precision != "fp32":
        return ()
    return (
        Setting("optimizer.bf16", False),
        Setting("ddp.grad_reduce_in_fp32", False),
        Setting("model.pipeline_dtype", "float32", "torch.float32"),
    )


def _latent() -> tuple[Setting, ...]:
    """Fields that the class of latent attention has otherwise than that of other models.

    Without a rank, of which a flag says another one, the query is projected directly.
    """
    return (
        Setting("model.q_lora_rank", None),
        Setting("model.multi_latent_attention", True),
        Setting("model.attention_softmax_in_fp32", False),
        Setting("model.deallocate_pipeline_outputs", True),
        Setting("model.gradient_accumulation_fusion", True),
        Setting("model.masked_softmax_fusion", True),
    )


def implied(launch: Launch, flags: Collection[str]) -> list[Setting]:
    """Fields that follow from flags: interleaving beside a layout, offloading, gradients of shards.

    The Megatron-FSDP that Megatron-Bridge has keeps gradients in the format of the weights unless
    a field of its own says otherwise (core/distributed/distributed_data_parallel_config.py).

    Args:
        launch: The plan.
        flags: Names of the flags that Megatron-LM has for it.
    """
    plan, found = launch.plan, list[Setting]()
    if plan.interleave > 1:
        found.append(Setting("model.virtual_pipeline_model_parallel_size", plan.interleave))
        found.append(Setting("ddp.align_param_gather", True))
        found += () if "--no-overlap-p2p-communication" in flags else _OVERLAPS
    if "activations" in plan.offload:
        found.append(Setting("model.cpu_offloading", True))
    if uses_fsdp(plan) and "--accumulate-allreduce-grads-in-fp32" in flags:
        found.append(Setting("ddp.megatron_fsdp_main_grads_dtype", "fp32", "torch.float32"))
    return found
