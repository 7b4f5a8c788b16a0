"""Flags of Megatron-LM as keys of Megatron-Bridge's ConfigContainer.

Names and meanings: Megatron-Bridge src/megatron/bridge/training/config.py, training/
mixed_precision.py, models/gpt_provider.py and scripts/translate_mlm_to_bridge.py (ARG_MAP),
067f987 (2026-08-22). A flag without an entry is a field of the model by its own name.
"""

from __future__ import annotations

from frozen_records import dataclass
from planner.frameworks.megatron.writing.flags import Flag

Value = bool | int | float | str | list[int] | list[str] | None


@dataclass(frozen=True, slots=True)
class Setting:
    """A field of the configuration.

    Attributes:
        key: Dotted path in the ConfigContainer.
        value: Its value.
        code: The value as Python text where it is an object of a module; else empty.
    """

    key: str
    value: Value
    code: str = ""


_SKIPPED = frozenset(
    {
        "--group-query-attention",  # what --num-query-groups says
        "--multi-latent-attention",  # the class of the model
        "--max-position-embeddings",  # the table has a row for every token of a sequence
        "--bf16",
        "--fp16",
        "--fp8-format",
        "--fp8-recipe",
        "--fp8-param-gather",
        "--fp4-format",
        "--fp4-recipe",
        "--grad-reduce-in-bf16",
        "--accumulate-allreduce-grads-in-fp32",
        "--mock-data",
        "--split",
        "--no-create-attention-mask-in-dataloader",
    }
)
_KEYS = {
    "--seq-length": ("model.seq_length", "dataset.seq_length"),
    "--norm-epsilon": ("model.layernorm_epsilon",),
    "--use-rope-scaling": ("model.rope_scaling",),
    "--num-experts": ("model.num_moe_experts",),
    "--num-virtual-stages-per-pipeline-rank": ("model.virtual_pipeline_model_parallel_size",),
    "--micro-batch-size": ("train.micro_batch_size",),
    "--global-batch-size": ("train.global_batch_size",),
    "--train-iters": ("train.train_iters",),
    "--eval-iters": ("validation.eval_iters",),
    "--eval-interval": ("validation.eval_interval",),
    "--lr": ("optimizer.lr",),
    "--clip-grad": ("optimizer.clip_grad",),
    "--log-interval": ("logger.log_interval",),
    "--log-throughput": ("logger.log_throughput",),
    "--tokenizer-type": ("tokenizer.tokenizer_type",),
    "--vocab-size": ("tokenizer.vocab_size",),
    "--ckpt-format": ("checkpoint.ckpt_format",),
    "--use-tp-pp-dp-mapping": ("dist.use_tp_pp_dp_mapping",),
    "--use-megatron-fsdp": ("dist.use_megatron_fsdp", "ddp.use_megatron_fsdp"),
    "--use-distributed-optimizer": (
        "ddp.use_distributed_optimizer",
        "optimizer.use_distributed_optimizer",
    ),
    "--data-parallel-sharding-strategy": ("ddp.data_parallel_sharding_strategy",),
    "--num-distributed-optimizer-instances": ("ddp.num_distributed_optimizer_instances",),
    "--outer-dp-sharding-strategy": ("ddp.outer_dp_sharding_strategy",),
    "--overlap-grad-reduce": ("ddp.overlap_grad_reduce",),
    "--overlap-param-gather": ("ddp.overlap_param_gather",),
    "--optimizer-cpu-offload": ("optimizer.optimizer_cpu_offload",),
    "--optimizer-offload-fraction": ("optimizer.optimizer_offload_fraction",),
    "--use-precision-aware-optimizer": ("optimizer.use_precision_aware_optimizer",),
    "--optimizer": ("optimizer.optimizer",),
    "--exp-avg-dtype": ("optimizer.exp_avg_dtype",),
    "--exp-avg-sq-dtype": ("optimizer.exp_avg_sq_dtype",),
}
_SEVERAL = {
    "--swiglu": (
        Setting("model.gated_linear_unit", True),
        Setting("model.activation_func", "silu", "silu"),
    ),
    "--quick-geglu": (
        Setting("model.gated_linear_unit", True),
        Setting("model.activation_func", "quick_gelu", "quick_gelu"),
    ),
    "--untie-embeddings-and-output-weights": (
        Setting("model.share_embeddings_and_output_weights", False),
    ),
    "--disable-bias-linear": (Setting("model.add_bias_linear", False),),
    "--no-bias-dropout-fusion": (Setting("model.bias_dropout_fusion", False),),
    "--no-overlap-p2p-communication": (
        Setting("model.overlap_p2p_comm", False),
        Setting("model.batch_p2p_comm", True),
    ),
    "--cross-entropy-loss-fusion": (
        Setting("model.cross_entropy_loss_fusion", True),
        Setting("model.cross_entropy_fusion_impl", "native"),
    ),
}
_FORMATS = {"bf16": "torch.bfloat16", "fp8": "torch.uint8"}
"""Formats of moments as `validate_args` reads them (`map_dtype`)."""
_PATTERNS = ("--moe-layer-freq", "--window-attn-skip-freq")


def settings_of(one: Flag) -> list[Setting]:
    """What a flag sets; nothing for those that `precision` and the data set say."""
    if one.name in _SKIPPED:
        return []
    if one.name in _SEVERAL:
        return list(_SEVERAL[one.name])
    name = one.name.removeprefix("--").replace("-", "_")
    keys = _KEYS.get(one.name, (f"model.{name}",))
    code = ""
    if one.name == "--attention-backend":
        code = f"AttnBackend.{one.values[0]}"
    if one.name in ("--exp-avg-dtype", "--exp-avg-sq-dtype"):
        code = _FORMATS[one.values[0]]
    if one.name in _PATTERNS:
        code = one.values[0].replace("*", " * ").replace("+", " + ")
    return [Setting(key, _value(one), code) for key in keys]


def _value(one: Flag) -> Value:
    """The value of a flag: of a switch, a list of layers, a window, a number or a word."""
    if not one.values:
        return True
    text = one.values[0]
    if one.name in _PATTERNS:
        return numbers_of(text)
    if one.name == "--window-size":
        return [int(number) for number in text.split(",")]
    if one.name == "--recompute-modules":
        return list(one.values)
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def numbers_of(pattern: str) -> list[int]:
    """The numbers behind a pattern of layers; inverse of `megatron_model.pattern`.

    >>> numbers_of("[0]*3+[1]*2"), numbers_of("([1]*2+[0])*2+[1]")
    ([0, 0, 0, 1, 1], [1, 1, 0, 1, 1, 0, 1])
    """
    cycle, times, rest = pattern, 1, ""
    if pattern.startswith("("):
        cycle, _, after = pattern[1:].partition(")*")
        count, _, rest = after.partition("+")
        times = int(count)
    return _bits(cycle) * times + (_bits(rest) if rest else [])


def _bits(runs: str) -> list[int]:
    found = []
    for run in runs.split("+"):
        bit, _, count = run.partition("*")
        found += [int(bit.strip("[]"))] * int(count or 1)
    return found
