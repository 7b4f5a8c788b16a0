"""What flags and notes of a row say of its plan and its chips."""

import pytest
from support.cases import each

from planner.base.errors import InputError
from planner.evidence.csvfile import published
from planner.evidence.runs.rows import run_of
from planner.evidence.validation.predicting import Constants

GOOD = {
    "id": "a", "hardware": "a100-sxm4-80", "n_chips": "64", "seq_len": "2048",
    "global_batch_seqs": "512", "step_time_s": "3.5665", "n_layers": "30", "d_model": "3072",
    "n_heads": "32", "d_ff": "12288", "vocab": "51200", "micro_batch_seqs": "8", "tp": "1",
    "pp": "1", "precision": "fp16", "recompute": "full", "sharding": "ddp",
}  # fmt: skip

EXPERTS = {
    **GOOD, "model_name": "deepseek-v3", "hardware": "h100-sxm5-80", "n_chips": "256",
    "n_layers": "61", "d_model": "7168", "ep": "64", "micro_batch_seqs": "1", "recompute": "",
    "sharding": "zero1", "source": "Megatron-Bridge, NeMo 26.08",
}  # fmt: skip


@each(
    ("said", "full"),
    [
        ({"flags": "num-ckpt-layers=5"}, 5),
        ({"flags": "num-ckpt-layers=0"}, None),
        ({"flags": "--recompute-method block --recompute-num-layers 7"}, 7),
        ({"notes": "full recompute of 21 layers by block"}, 21),
        ({"notes": "AC: selective every 2nd layer"}, 15),
        ({"notes": "12 of 30 layers checkpointed"}, 12),
        ({"notes": "31 of 30 layers checkpointed"}, None),
        ({"flags": "num-ckpt-layers=5", "pp": "2"}, None),
        ({}, None),
    ],
)
def test_layers_that_are_checkpointed_are_counted(said: dict[str, str], full: int | None) -> None:
    """On one stage; elsewhere, and where nothing is counted, the column `recompute` holds."""
    plan = run_of(shipped_row() | GOOD | said).plan
    if full is None:
        assert (plan.stages, plan.recompute) == (None, "full")
    else:
        assert plan.stages is not None
        (stage,) = plan.stages
        assert (stage.layers, stage.full, stage.selective) == (30, (full, 0), (0, 0))
        assert (stage.recompute, plan.recompute) == ("none", "none")


@each(
    ("said", "recompute"),
    [
        ({"flags": "--recompute-modules mla_up_proj; fused"}, "mla_up_proj"),
        ({"flags": "--recompute-modules moe_act layernorm"}, "layernorm+moe_act"),
        ({"flags": "deepep; recompute moe_act layernorm; forced"}, "layernorm+moe_act"),
        ({"flags": "--recompute-modules core_attn"}, "selective"),
        ({"flags": "recompute=norm,act; -", "recompute": "selective"}, "layernorm+moe_act"),
        ({"flags": "recompute=moe; -", "recompute": "selective"}, "moe"),
        ({"flags": "--recompute-modules mlp", "recompute": "full"}, "full"),
        ({"flags": "--recompute-modules mlp mhc"}, "none"),
        ({"flags": "recompute uniform 1"}, "none"),
        ({"recompute": "moe_act+layernorm"}, "layernorm+moe_act"),
    ],
)
def test_modules_that_recompute_are_those_of_flags_or_column(
    said: dict[str, str], recompute: str
) -> None:
    """Where another one is listed, and under whole layers, the common rules hold."""
    assert run_of(shipped_row() | EXPERTS | said).plan.recompute == recompute


def test_modules_that_no_layer_has_recompute_nothing_and_are_refused_as_a_column() -> None:
    """Megatron-LM warns of the flag; a plan that names them is a mistake."""
    row = shipped_row() | GOOD | {"recompute": ""}
    flags = {"flags": "--recompute-modules layernorm mlp moe_act"}
    assert run_of(row | flags).plan.recompute == "mlp"
    with pytest.raises(InputError, match="no layer has moe_act apart; those it has: core_attn, ml"):
        run_of(row | {"recompute": "mlp+moe_act"})


@each(
    ("hardware", "notes", "key"),
    [
        ("b200-sxm-180", "power-limited B200, the limit is not printed", "b200-limited"),
        ("b200-sxm-180", "", "b200"),
        ("a100-sxm4-80", "power-limited B200", "a100"),
    ],
)
def test_a_chip_under_a_power_limit_has_rates_of_its_own(
    hardware: str, notes: str, key: str
) -> None:
    run = run_of(shipped_row() | GOOD | {"hardware": hardware, "notes": notes})
    assert run.cluster.chip.calibration_gemm == key


@each(
    ("hardware", "flags", "key", "share"),
    [
        ("trainium1", "use_flash_attention 0", "unmasked", 1.0),
        ("trainium1", "use_flash_attention 1", "tpu", 0.5),
        ("mi250x", "--fp16; no flash attention", "unfused", 0.5),
        ("h100-sxm5-80", "--use-flash-attn", "fa2_hopper", 0.5),
        ("ascend-910b", "--use-flash-attn", "tpu", 0.5),
        ("h100-sxm5-80", "torch.compile; cuDNN's attention", "cudnn", 0.5),
        ("a100-sxm4-80", "torch.compile; cuDNN's attention", "ampere", 0.5),
        ("h100-sxm5-80", "", "hopper", 0.5),
    ],
)
def test_the_kernel_of_attention_is_the_one_that_the_flags_name(
    hardware: str, flags: str, key: str, share: float
) -> None:
    """A compiler without a flash kernel computes the masked half of the scores too."""
    run = run_of(shipped_row() | GOOD | {"hardware": hardware, "flags": flags})
    assert run.cluster.chip.calibration_attention == key
    assert Constants.of().assumptions(run).causal_share == share


def test_states_that_are_swapped_are_on_the_host() -> None:
    run = run_of(shipped_row() | GOOD | {"flags": "--swap-optimizer", "sharding": "zero1"})
    assert run.plan.offload == ("optimizer",)


@each(
    ("source", "flags", "drops"),
    [
        ("aws-neuron/aws-neuron-sdk training_data_decoder.csv", "", "core-attention"),
        (
            "aws-neuron/aws-neuron-sdk training_data_decoder.csv",
            "use_flash_attention 0",
            "keeps elementwise,out,qkv,up",
        ),
        (
            "aws-neuron/aws-neuron-sdk training_data_decoder.csv",
            "use_flash_attention 1; checkpoints CoreAttention and LlamaMLP",
            "keeps context,out,qkv",
        ),
        ("AI-Hypercomputer/maxtext configs/tpu/v5p", "remat_policy=minimal", "keeps out,qkv,up"),
        (
            "AI-Hypercomputer/maxtext configs/tpu/v5e",
            "remat_policy=qkv_proj_offloaded",
            "keeps qkv",
        ),
        (
            "AI-Hypercomputer/tpu-recipes training/trillium/Llama3.1-8B-MaxText/v6e-16",
            "remat_policy=custom decoder_layer_input=offload out_proj=offload query_proj=offload",
            "keeps out,qkv",
        ),
        (
            "AI-Hypercomputer/tpu-recipes training/ironwood/README.md",
            "remat_policy=custom context=device query_proj=device num_vocab_tiling=4",
            "keeps context,qkv",
        ),
        ("AI-Hypercomputer/maxtext configs/tpu/v5p", "remat_policy=full", "half-matmuls"),
    ],
)
def test_what_selective_recomputation_drops_is_that_of_the_scripts(
    source: str, flags: str, drops: str
) -> None:
    row = {"hardware": "tpu-v5p", "framework": "MaxText", "source": source, "flags": flags}
    assert run_of(shipped_row() | GOOD | row).job.framework.selective == drops


@each(
    ("source", "version", "era", "stops"),
    [
        ("mosaicml/llm-foundry README.md (A100 80GB)", "", "llm-foundry", False),
        ("mosaicml/llm-foundry README.md (H100 80GB BF16)", "", "llm-foundry", True),
        ("foundation-model-stack/fms-acceleration refs", "HF SFTTrainer", "torch-eager", False),
        ("Tucano", "HF Accelerate + Liger", "torch-fsdp", False),
        ("NeMo Megatron 22.06 A100 scaling table", "", "megatron-2022", False),
    ],
)
def test_software_of_a_source_says_whether_checkpoints_stop_early(
    source: str, version: str, era: str, stops: bool
) -> None:
    run = run_of(shipped_row() | GOOD | {"source": source, "framework_version": version})
    assert (run.job.era, run.job.framework.stops_early) == (era, stops)


@each(
    ("printed", "said", "dp", "fsdp"),
    [
        ("FSDP over 16 within slice, DP over 4 slices", {}, 4, 16),
        ("FSDP over 64 within slice, DP over 1 slices", {}, 1, 64),
        ("FSDP over all chips", {}, 1, 64),
        ("HSDP", {"chips_per_node": "8"}, 8, 8),
        ("HSDP", {"chips_per_node": "8", "tp": "2"}, 8, 4),
        ("HSDP", {}, 1, 64),  # of which node, no one knows
        ("HSDP", {"chips_per_node": "8", "sharding": "zero1"}, 64, 1),
    ],
)
def test_replicas_of_sharded_weights_are_those_that_a_row_prints(
    printed: str, said: dict[str, str], dp: int, fsdp: int
) -> None:
    row = {"sharding": "zero3", "sharding_as_printed": printed} | said
    plan = run_of(shipped_row() | GOOD | row).plan
    assert (plan.dp, plan.fsdp) == (dp, fsdp)


@each(
    ("source", "sent"),
    [
        ("foundation-model-stack/fms-fsdp README.md", 2.0),
        ("KempnerInstitute/KempnerForge benchmarks", 4.0),
        ("pytorch/torchtitan docs/performance.md", 0.0),  # what its era has
    ],
)
def test_gradients_travel_in_the_format_of_the_source_s_code(source: str, sent: float) -> None:
    assert run_of(shipped_row() | GOOD | {"source": source}).job.framework.sent_bytes == sent


def test_zero3_of_one_chip_keeps_its_hooks() -> None:
    said = {"n_chips": "1", "sharding": "zero3", "framework": "DeepSpeed"}
    run = run_of(shipped_row() | GOOD | said | {"source": "any"})
    assert (run.plan.sharding, run.plan.fsdp) == ("zero3", 1)
    plain = run_of(shipped_row() | GOOD | said | {"framework": "", "source": "pytorch fsdp"})
    assert plain.plan.sharding == "ddp"


def shipped_row() -> dict[str, str]:
    """The columns of the published runs, all empty."""
    return dict.fromkeys(published("runs")[0], "")
