"""Which software and which defaults a published row gets."""

from dataclasses import replace

import pytest
from support.cases import each

from planner.assumptions.experts import GRAPHS
from planner.assumptions.software import ERAS
from planner.base.errors import InputError
from planner.evidence.runs.checking import COLUMNS, faults
from planner.evidence.runs.profiles import profile_of
from planner.evidence.runs.rows import run_of
from planner.frameworks.profiles import FRAMEWORKS

ROW = {
    "id": "a",
    "group": "g",
    "source": "",
    "model_name": "some decoder",
    "n_layers": "16",
    "d_model": "2048",
    "n_heads": "16",
    "n_kv_heads": "16",
    "d_ff": "8192",
    "gated_mlp": "0",
    "vocab": "50304",
    "seq_len": "2048",
    "moe_experts": "",
    "moe_topk": "",
    "moe_d_ff": "",
    "hardware": "h100-sxm5-80",
    "n_chips": "64",
    "chips_per_node": "8",
    "inter_node_net": "",
    "tp": "2",
    "sp": "",
    "pp": "1",
    "interleave_v": "",
    "cp": "1",
    "ep": "",
    "sharding": "zero1",
    "sharding_as_printed": "",
    "global_batch_seqs": "512",
    "micro_batch_seqs": "2",
    "precision": "bf16",
    "recompute": "none",
    "step_time_s": "1.0",
    "notes": "",
}


@each(
    ("flags", "said"),
    [
        ("", None),
        ("--overlap-grad-reduce", None),
        ("--moe-token-dispatcher-type alltoall", {"dispatcher": "all-to-all"}),
        ("--moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep",
         {"dispatcher": "hybridep"}),
        ("dispatcher=DeepEP; recompute=norm,act", {"dispatcher": "deepep"}),
        ("dispatcher=A2A", {"dispatcher": "all-to-all"}),
        ("--moe-token-dispatcher-type allgather", {"dispatcher": "all-gather"}),
        ("--moe-router-force-load-balancing", {"balance": "forced"}),
        ("--moe-expert-capacity-factor 1.0", {"balance": "capacity"}),
        ("deepep,capacity=1", {"dispatcher": "deepep", "balance": "capacity"}),
        ("deepep,capacity=5", {"dispatcher": "deepep"}),
        ("--moe-expert-capacity-factor 1.2", None),
        ("--moe-expert-capacity-factor 1.2 --moe-pad-expert-input-to-capacity",
         {"balance": "capacity", "capacity": 1.2}),
        ("--overlap-moe-expert-parallel-comm", {"overlaps": True}),
        ("--cuda-graph-scope attn moe_router moe_preprocess",
         {"graphs": ("attention", "router")}),
        ("--cuda-graph-scope moe_router moe_preprocess", {"graphs": ("router",)}),
        ("--cuda-graph-scope full_iteration", {"graphs": GRAPHS}),
        ("cutedsl_fused_grouped_mlp=False", {"kernels": "grouped"}),
        ("cutedsl_fused_grouped_mlp", {"kernels": "fused"}),
    ],
)  # fmt: skip
def test_flags_say_how_experts_ran(flags: str, said: dict[str, object] | None) -> None:
    """What they leave out is that of the software era."""
    run = run_of({**ROW, "flags": flags})
    usual = ERAS[run.job.era].experts
    assert run.job.experts == (None if said is None else replace(usual, **said))


def test_flags_name_dualpipe() -> None:
    """DualPipeV is another schedule."""
    row = {**ROW, "source": "DeepSeek-V3 technical report", "tp": "1", "pp": "16"}
    assert run_of({**row, "flags": "DualPipe; DeepEP"}).plan.schedule == "dualpipe"
    assert run_of({**row, "flags": "--schedules-method dualpipev"}).plan.schedule == "1f1b"
    assert run_of({**row, "flags": ""}).job.expert_software == FRAMEWORKS["hai-llm"].experts


@each(
    ("source", "hardware", "era", "framework"),
    [
        ("vTrain (MICRO'24) open measurements", "a100-sxm4-80", "megatron-deepspeed", "megatron"),
        ("NeMo 24.07 performance summary", "h100-sxm5-80", "megatron-core-2025", "megatron"),
        ("Megatron-Bridge, NeMo 25.11 container", "b200-sxm-180", "megatron-core-2025", "megatron"),
        (
            "Megatron-Bridge, NeMo 26.04.01 container",
            "b200-sxm-180",
            "megatron-core-2026.04",
            "megatron",
        ),
        ("Megatron-Bridge, NeMo 26.08 container", "gb300-nvl72-gpu", "megatron-core", "megatron"),
        ("MLPerf Training v5.1 result logs", "b200-sxm-180", "megatron-core-2026.04", "megatron"),
        ("MLPerf Training v4.1 result logs", "h100-sxm5-80", "megatron-core-2025", "megatron"),
        ("AI-Hypercomputer/tpu-recipes", "tpu-v6e", "jax", "jax"),
        ("somebody's blog", "tpu-v5p", "jax", "jax"),
        ("somebody's blog", "trainium1", "neuron", "jax"),
        ("somebody's blog", "h100-sxm5-80", "megatron-core", "megatron"),
        ("mosaicml/llm-foundry README", "a100-sxm4-40", "llm-foundry", "fsdp"),
        ("HF nanotron playbook", "h100-sxm5-80", "nanotron", "nanotron"),
        ("huggingface/optimum-habana tests", "gaudi2", "gaudi", "fsdp"),
        ("somebody's blog", "gaudi3", "gaudi", "megatron"),
        ("somebody's blog", "ascend-910b", "megatron-core-2025", "megatron"),
        (
            "MLPerf Training result logs v5.1, Cisco",
            "h100-sxm5-80",
            "megatron-core-2026.04",
            "megatron",
        ),
        ("MLPerf Training result logs v4.0, Intel-HabanaLabs", "gaudi2", "gaudi", "megatron"),
        ("facebookresearch/fairseq examples", "v100-sxm2-32", "megatron-2022", "fsdp"),
    ],
)
def test_the_rule_of_a_source(source: str, hardware: str, era: str, framework: str) -> None:
    found = profile_of({**ROW, "source": source, "hardware": hardware})
    assert (found.era, found.framework) == (era, framework)
    assert found.rule


@each(
    ("framework", "version", "era", "profile"),
    [
        (
            "deepspeed",
            "HF transformers + DeepSpeed (finetune.py) | CUDA 11.8",
            "torch-eager",
            "deepspeed",
        ),
        ("fsdp", "PyTorch FSDP | 2.5.1", "torch-eager", "fsdp"),
        ("fsdp", "2.5.1", "torch-fsdp", "fsdp"),
        ("megatron", "NeMo | 25.04", "megatron-core-2025", "megatron"),
        ("megatron", "NeMo | v5.1 submission", "megatron-core", "megatron"),
        ("megatron", "Megatron-LM | main(1e057005)+FSDP", "megatron-core", "megatron"),
        ("", "modded-nanogpt | PyTorch 2.4.1+cu121", "torch-fsdp", "fsdp"),
        ("", "Colossal-AI | 2025", "torch-fsdp", "megatron"),
    ],
)
def test_the_rule_of_a_printed_version(
    framework: str, version: str, era: str, profile: str
) -> None:
    found = profile_of({**ROW, "framework": framework, "framework_version": version})
    assert (found.era, found.framework) == (era, profile)


def test_scripts_say_what_is_recomputed_where_a_row_does_not() -> None:
    said = {**ROW, "framework_version": "HF transformers + DeepSpeed (finetune.py) | 2023"}
    assert run_of({**said, "recompute": ""}).plan.recompute == "full"
    assert run_of({**said, "recompute": "none"}).plan.recompute == "none"


def test_experts_take_the_width_of_the_mlp_where_they_have_none_and_the_reverse() -> None:
    routed = {**ROW, "moe_experts": "8", "moe_topk": "2"}
    for widths in ({"d_ff": "8192", "moe_d_ff": ""}, {"d_ff": "", "moe_d_ff": "8192"}):
        moe = run_of({**routed, **widths}).job.model.moe
        assert moe is not None
        assert moe.expert_hidden == 8192


def test_permutation_is_fused_by_a_flag_where_software_does_not_fuse_it_anyway() -> None:
    row = {**ROW, "moe_experts": "8", "moe_topk": "2", "flags": "--moe-permute-fusion"}
    of_2025 = run_of({**row, "era": "megatron-core-2025", "framework": "megatron"}).job.experts
    assert of_2025 == replace(ERAS["megatron-core-2025"].experts, kernels="grouped")
    newer = {**row, "era": "megatron-core", "framework": "megatron"}
    assert run_of(newer).job.experts is None


LATENT = "kv_lora_rank=512; qk_nope_head_dim=128; qk_rope_head_dim=64; v_head_dim=128"


def test_a_row_may_say_what_its_dimensions_leave_out() -> None:
    wide = run_of({**ROW, "architecture": "head_dim=256; output_gate=1; tied_embeddings=1"})
    model = wide.job.model
    assert (model.head_dim, model.attention.v_head_dim) == (256, 256)
    assert (model.attention.output_gate, model.tied_embeddings) == (True, True)
    experts = {**ROW, "moe_experts": "8", "moe_topk": "2", "moe_d_ff": "1408"}
    said = f"{LATENT}; first_dense_layers=1; shared_experts=2; shared_expert_hidden=1408"
    latent = run_of({**experts, "architecture": said}).job.model
    assert (latent.attention.kind, latent.head_dim) == ("mla", 192)
    assert latent.layer_kinds[:2] == ("dense", "moe")
    assert latent.mlp.hidden == 8192
    assert latent.moe is not None
    assert latent.moe.shared_experts * latent.moe.shared_expert_hidden == 2816
    queries, latents = 2048 * 16 * 192, 2048 * (512 + 64) + 512 + 512 * 16 * (128 + 128)
    assert latent.attention_parameters == queries + latents + 16 * 128 * 2048


@each(
    ("text", "fault"),
    [
        ("head_dim=128; heads=4", "architecture: 'heads=4' is not NAME=NUMBER with a whole"),
        ("head_dim=1.5", "architecture: 'head_dim=1.5' is not NAME=NUMBER with a whole"),
        ("head_dim=0", "architecture: 'head_dim=0' is not NAME=NUMBER with a whole number from 1"),
        ("kv_lora_rank=512", "architecture: latent attention needs qk_nope_head_dim, "
                             "qk_rope_head_dim, v_head_dim too"),
        ("q_lora_rank=512", "architecture: latent attention needs kv_lora_rank, "),
        ("shared_experts=1", "architecture: shared_experts needs moe_experts"),
    ],
)  # fmt: skip
def test_what_is_said_of_an_architecture_is_checked(text: str, fault: str) -> None:
    cells = dict.fromkeys(COLUMNS, "") | ROW | {"architecture": text}
    (found,) = faults(cells)
    assert found.startswith(fault)
    named = {**cells, "architecture": "head_dim=128", "model_name": "llama3-8b"}
    assert faults(named) == ["architecture: llama3-8b of the database has its own; leave it empty"]


def test_a_row_may_name_its_software() -> None:
    found = profile_of({**ROW, "era": "jax", "framework": "jax"})
    assert (found.era, found.rule) == ("jax", "given in the row")
    with pytest.raises(InputError, match=r"^era: 'cobol' is not one of "):
        profile_of({**ROW, "era": "cobol"})


def test_known_models_bring_what_the_columns_do_not_say() -> None:
    gemma = {**ROW, "model_name": "gemma3-12b", "n_layers": "48", "d_model": "3840"}
    assert run_of(gemma).job.model.window is not None
    other = run_of({**gemma, "n_layers": "12"}).job.model
    assert other.window is None
    assert other.layers == 12


def test_a_mesh_of_cores_becomes_one_of_chips() -> None:
    row = {**ROW, "hardware": "trainium1", "chips_per_node": "16", "tp": "8"}
    counted = run_of({**row, "notes": "TP/PP/DP count NeuronCores (2 per chip)"})
    assert (counted.plan.tp, counted.plan.dp) == (4, 16)
    assert "cores" in counted.filled["tp"]
    assert run_of(row).plan.tp == 8


@each(
    ("source", "notes", "hardware", "precision"),
    [
        ("MLPerf Training v5.1 result logs, AMD", "", "h100-sxm5-80", "fp8"),
        ("AI-Hypercomputer/tpu-recipes", "probably int8 (AQT)", "tpu-v5p", "int8"),
        ("a blog", "", "h100-sxm5-80", "bf16"),
    ],
)
def test_a_precision_that_is_not_printed(
    source: str, notes: str, hardware: str, precision: str
) -> None:
    row = {**ROW, "precision": "", "source": source, "notes": notes, "hardware": hardware}
    found = run_of({**row, "tp": "1"})
    assert found.job.precision == precision
    assert found.filled["precision"] == precision


def test_a_batch_that_does_not_divide_is_a_fault() -> None:
    with pytest.raises(InputError, match=r"512 sequences does not divide among 32 .* nearest: 480"):
        run_of({**ROW, "micro_batch_seqs": "3"})


def test_what_a_row_without_a_micro_batch_gets() -> None:
    row = {**ROW, "micro_batch_seqs": ""}
    assert run_of(row).plan.micro_batch == 1
    xla = run_of({**row, "hardware": "tpu-v5p", "tp": "1", "sharding": "zero3"})
    assert xla.plan.micro_batch == 8
    assert "8" in xla.filled["micro_batch"]


def test_fewer_sequences_than_chips_are_cut_under_xla() -> None:
    row = {**ROW, "hardware": "tpu-v5p", "tp": "1", "cp": "", "global_batch_seqs": "16"}
    found = run_of({**row, "sharding": "zero3", "micro_batch_seqs": ""})
    assert (found.plan.fsdp, found.plan.cp, found.plan.micro_batch) == (16, 4, 1)
    assert found.filled["cp"].startswith("4")
