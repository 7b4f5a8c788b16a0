"""Flags of Megatron-LM that state another model than the one of the launch, and gone ones."""

from pathlib import Path

from support.cases import each

from frameworks.export.cases import CASES
from frameworks.importing.test_import_megatron import LLAMA, MIXTRAL, launch, refused
from planner.frameworks.megatron.reading.names import known_flags
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan

GONE = "Megatron-LM no longer takes it; give"
LATENT_CHIPS = 256


def latent(*changes: tuple[str, str]) -> str:
    """The arguments of DeepSeek-V3, which has most of what a model can have, changed."""
    case = CASES["latent-experts"]
    one = export_plan(case.cost(), case.plan, TARGETS["megatron"])
    [text] = [file.text for file in one.files if file.name == "args.txt"]
    for before, after in changes:
        assert before in text
        text = text.replace(before, after)
    return text


@each(
    ("flags", "line"),
    [
        ("--normalization LayerNorm", "norm.kind layernorm contradicts llama2-13b, which has "
         "rmsnorm (see --normalization)"),
        ("--position-embedding-type learned_absolute", "positions.kind learned contradicts "
         "llama2-13b, which has rope (see --position-embedding-type)"),
        ("--multi-latent-attention", "attention.kind mla contradicts llama2-13b, which has "
         "mha (see --multi-latent-attention)"),
        ("--softmax-type learnable", "attention.sinks true contradicts llama2-13b, which has "
         "false (see --softmax-type)"),
        ("--add-qkv-bias", "--add-qkv-bias: llama2-13b has no biases of queries, keys and values"),
        ("--qk-layernorm", "--qk-layernorm: llama2-13b has no such norms of queries and keys"),
        ("--qk-l2-norm", "--qk-l2-norm: llama2-13b has no such norms of queries and keys"),
        ("--window-size 128,0", "--window-size: 129 tokens; llama2-13b attends to all before"),
        ("--kv-channels 64", "head_dim 64 contradicts llama2-13b, which has 128 (see "
         "--kv-channels)"),
        ("--squared-relu", "--squared-relu: stands beside --swiglu; keep one"),
        ("--normalization L2Norm", "--normalization: 'L2Norm' is not one of LayerNorm, RMSNorm"),
    ],
)  # fmt: skip
def test_flags_of_another_model_are_refused(flags: str, line: str, tmp_path: Path) -> None:
    assert line in [text.replace("'", "") if "contradicts" in text else text
                    for text in refused(LLAMA + flags, tmp_path)]  # fmt: skip


@each(
    ("name", "value", "words"),
    [
        ("--q-lora-rank", "64", "attention.q_lora_rank 64 contradicts"),
        ("--kv-lora-rank", "64", "attention.kv_lora_rank 64 contradicts"),
        ("--qk-head-dim", "64", "attention.qk_nope_head_dim 64 contradicts"),
        ("--qk-pos-emb-head-dim", "32", "attention.qk_rope_head_dim 32 contradicts"),
        ("--v-head-dim", "64", "attention.v_head_dim 64 contradicts"),
        ("--moe-shared-expert-intermediate-size", "64",
         "--moe-shared-expert-intermediate-size: 64 where"),
        ("--moe-layer-freq", "2", "--moe-layer-freq: '2' is not how"),
        ("--moe-layer-freq", "", "--moe-layer-freq: '1' is not how"),
        ("--moe-shared-expert-intermediate-size", "",
         "--moe-shared-expert-intermediate-size: 0 where"),
    ],
)  # fmt: skip
def test_parts_of_latent_attention_and_experts(
    name: str, value: str, words: str, tmp_path: Path
) -> None:
    case, text = CASES["latent-experts"], latent()
    found = launch(text, tmp_path, model=case.model, chips=LATENT_CHIPS)
    assert found.request.model == case.model
    kept = [line for line in text.split("\n") if not line.startswith(f"{name} ")]
    assert len(kept) == len(text.split("\n")) - 1
    other = "\n".join([*kept, f"{name} {value}" if value else ""])
    lines = refused(other, tmp_path, model=case.model, chips=LATENT_CHIPS)
    assert [line for line in lines if line.startswith(words)] == lines


def test_windows_are_those_of_the_model(tmp_path: Path) -> None:
    text = (
        "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --swiglu --bf16 "
        "--num-attention-heads 32 --group-query-attention --num-query-groups 8 "
        "--untie-embeddings-and-output-weights --seq-length 8192 --micro-batch-size 1 "
    )
    for flags in ("--window-size 4095,0", "--window-size '(4096,0)'"):
        found = launch(text + flags, tmp_path, model="mistral-7b")
        assert not any("--window" in line for line in found.imported.warnings)
    found = launch(text, tmp_path, model="mistral-7b")
    assert any(line.startswith("--window-size: is not given") for line in found.imported.warnings)
    for flags, line in (
        ("--window-size 127,0", "--window-size: 128 tokens; mistral-7b has windows of 4,096"),
        ("--window-size x", "--window-size: 'x' is not two whole numbers as 127,0"),
        (
            "--window-size 4095,0 --window-attn-skip-freq 2",
            "--window-attn-skip-freq: '2' is not how mistral-7b deals its windows",
        ),
    ):
        assert refused(text + flags, tmp_path, model="mistral-7b") == [line]


def test_flags_of_the_model_select_it(tmp_path: Path) -> None:
    text = MIXTRAL.replace("RMSNorm", "LayerNorm")
    [line] = refused(text, tmp_path, model=None, chips=None)
    assert "no model of the database has" in line
    assert "norm.kind" in line


@each("flag", ["--fp32-residual-connection", "--attention-output-gate"])
def test_what_is_not_counted_is_warned_of(flag: str, tmp_path: Path) -> None:
    found = launch(LLAMA + flag, tmp_path)
    assert any(line.startswith(f"{flag}: ") for line in found.imported.warnings)


@each(
    ("flags", "line"),
    [
        ("--model-parallel-size 8", f"{GONE} --tensor-model-parallel-size"),
        ("--checkpoint-activations", f"{GONE} --recompute-activations"),
        ("--batch-size 4", f"{GONE} --micro-batch-size"),
        ("--warmup 3", f"{GONE} --lr-warmup-fraction"),
        ("--no-position-embedding", f"{GONE} --position-embedding-type"),
    ],
)
def test_flags_that_are_gone_are_refused(flags: str, line: str, tmp_path: Path) -> None:
    assert refused(LLAMA + flags, tmp_path) == [f"{flags.split(maxsplit=1)[0]}: {line}"]


def test_rotary_positions_need_no_others(tmp_path: Path) -> None:
    flags = "--no-position-embedding --position-embedding-type rope"
    assert launch(LLAMA + flags, tmp_path).request.model == "llama2-13b"


def test_experts_over_tp_have_no_flag_any_more(tmp_path: Path) -> None:
    assert "--moe-extended-tp" not in known_flags()
    found = launch(f"{LLAMA}--moe-extended-tp", tmp_path)
    assert "--moe-extended-tp" in [one.name for one in found.imported.unknown]
