"""Launches of Megatron-LM as plans; published launches are re-typed from its examples."""

import re
from pathlib import Path

import pytest
from support.cases import each

from frameworks.export.cases import CASES
from planner.base.errors import InputError
from planner.frameworks.megatron.reading.names import known_flags
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import export_plan
from planner.plan import Stage
from planner.question.launch import LaunchRead, read_launch

# Megatron-LM examples/gpt3/train_gpt3_175b_distributed.sh, d98e8a64dd.
GPT3 = """
GPUS_PER_NODE=8
NUM_NODES=1
DISTRIBUTED_ARGS=(--nproc_per_node $GPUS_PER_NODE --nnodes $NUM_NODES)
GPT_MODEL_ARGS=(
    --num-layers 96
    --hidden-size 12288
    --num-attention-heads 96
    --seq-length 2048
    --max-position-embeddings 2048
    --attention-backend auto # Can be another
)
TRAINING_ARGS=(
    --micro-batch-size 1
    --global-batch-size 1536
    --rampup-batch-size 16 16 5859375
    --lr 6.0e-5
    --fp16
)
MODEL_PARALLEL_ARGS=(
\t--tensor-model-parallel-size 8
\t--pipeline-model-parallel-size 16
)
DATA_ARGS=(--data-path $DATA_PATH --vocab-file $1 --split 949,50,1)
torchrun ${DISTRIBUTED_ARGS[@]} pretrain_gpt.py \\
    ${GPT_MODEL_ARGS[@]} \\
    ${TRAINING_ARGS[@]} \\
    ${MODEL_PARALLEL_ARGS[@]} \\
    ${DATA_ARGS[@]}
"""
# Megatron-LM examples/mixtral/train_mixtral_8x7b_distributed.sh, d98e8a64dd.
MIXTRAL = """
torchrun --nproc_per_node 8 --nnodes 8 pretrain_gpt.py --use-mcore-models --disable-bias-linear
  --seq-length 4096 --max-position-embeddings 32768 --num-layers 32 --hidden-size 4096
  --ffn-hidden-size 14336 --num-attention-heads 32 --normalization RMSNorm --swiglu
  --untie-embeddings-and-output-weights --group-query-attention --num-query-groups 8
  --num-experts 8 --moe-router-topk 2 --moe-grouped-gemm --moe-token-dispatcher-type alltoall
  --overlap-param-gather --overlap-grad-reduce --micro-batch-size 1 --global-batch-size 256
  --lr 1e-4 --bf16 --tensor-model-parallel-size 1 --pipeline-model-parallel-size 4
  --expert-model-parallel-size 8 --use-distributed-optimizer --sequence-parallel
""".replace("\n  ", " \\\n  ")
LLAMA = """
--num-layers 40 --hidden-size 5120 --ffn-hidden-size 13824 --swiglu --num-attention-heads 40
--untie-embeddings-and-output-weights --seq-length 4096 --micro-batch-size 1 --bf16
--overlap-grad-reduce
"""


def launch(text: str, folder: Path, fix: str = "", **more: object) -> LaunchRead:
    path = folder / "run.sh"
    path.write_text(text, encoding="utf-8")
    changes = {"model": "llama2-13b", "hardware": "dgx-h100-ndr", "chips": 64, **more}
    given = {name: value for name, value in changes.items() if value is not None}
    fixes = dict(one.split("=") for one in fix.split())
    return read_launch("megatron", path, given, {name: [v] for name, v in fixes.items()})


def refused(text: str, folder: Path, fix: str = "", **more: object) -> list[str]:
    with pytest.raises(InputError) as error:
        launch(text, folder, fix, **more)
    return [line.removeprefix(f"{folder / 'run.sh'}: ") for line in str(error.value).split("\n")]


def test_gpt3(tmp_path: Path) -> None:
    found = launch(GPT3, tmp_path, model="gpt3-175b", chips=1024)
    plan = found.plan
    assert (plan.dp, plan.tp, plan.pp, plan.sharding) == (8, 8, 16, "ddp")
    assert (plan.sequence_parallel, plan.split, plan.schedule) == (False, "even", "1f1b")
    assert found.request.precision == "fp16"
    assert found.request.batch_tokens == 1536 * 2048
    assert found.imported.unknown == ()
    names = [one.name for one in found.imported.ignored]
    assert names == [
        "--max-position-embeddings", "--attention-backend", "--lr", "--data-path", "--vocab-file",
        "--split",
    ]  # fmt: skip
    assert found.imported.warnings == (
        "--rampup-batch-size: the step is that of the whole batch, at the end",
        "chips: 8 by its launcher: 1 x 8; --chips 1024 takes their place",
        "--overlap-grad-reduce: is not given; the prediction hides these collectives behind "
        "computation",
        "--tp-comm-overlap: is not given; the prediction hides these collectives behind "
        "computation",
    )


def test_mixtral_is_found_by_its_dimensions(tmp_path: Path) -> None:
    found = launch(MIXTRAL, tmp_path, model=None, chips=None)
    assert found.request.model == "mixtral-8x7b"
    plan = found.plan
    assert (plan.dp, plan.pp, plan.ep, plan.sharding) == (16, 4, 8, "zero1")
    assert [one.name for one in found.imported.assumed] == ["plan.sequence_parallel"]


@each(
    ("flags", "fields"),
    [
        ("", {"sharding": "ddp", "dp": 64}),
        ("--use-distributed-optimizer", {"sharding": "zero1"}),
        (
            "--use-megatron-fsdp --ckpt-format fsdp_dtensor",
            {"sharding": "zero3", "fsdp": 64, "dp": 1},
        ),
        (
            "--use-megatron-fsdp --ckpt-format fsdp_dtensor "
            "--num-distributed-optimizer-instances 4",
            {"sharding": "zero3", "fsdp": 16, "dp": 4},
        ),
        (
            "--use-megatron-fsdp --ckpt-format fsdp_dtensor --data-parallel-sharding-strategy "
            "optim_grads",
            {"sharding": "zero2", "dp": 64},
        ),
        ("--use-torch-fsdp2 --no-gradient-accumulation-fusion", {"sharding": "zero3", "fsdp": 64}),
        ("--tensor-model-parallel-size=8", {"tp": 8, "dp": 8, "sequence_parallel": False}),
        ("--tensor-model-parallel-size 8 --sequence-parallel", {"sequence_parallel": True}),
        ("--context-parallel-size 2 --cp-comm-type a2a", {"cp": 2, "cp_mode": "all-to-all"}),
        (
            "--pipeline-model-parallel-size 4 --num-layers-per-virtual-pipeline-stage 2",
            {"pp": 4, "interleave": 5, "schedule": "interleaved", "split": "even"},
        ),
        (
            "--pipeline-model-parallel-size 4 --num-virtual-stages-per-pipeline-rank 5",
            {"interleave": 5},
        ),
        (
            "--pipeline-model-parallel-size 2 --account-for-embedding-in-pipeline-split "
            "--account-for-loss-in-pipeline-split",
            {"split": "even-counted", "stages": None},
        ),
        (
            "--pipeline-model-parallel-size 4 --decoder-first-pipeline-num-layers 9 "
            "--decoder-last-pipeline-num-layers 9",
            {"stages": tuple(Stage(layers=n) for n in (9, 11, 11, 9))},
        ),
        (
            "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*19|t*21L",
            {"stages": (Stage(layers=19), Stage(layers=21))},
        ),
        (
            "--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*20|t*20L",
            {"stages": None, "split": "even"},
        ),
        ("--recompute-activations", {"recompute": "selective"}),
        (
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
            {"recompute": "full"},
        ),
        (
            "--pipeline-model-parallel-size 2 --recompute-granularity full --recompute-method "
            "block --recompute-num-layers 5",
            {"recompute": "none", "stages": (Stage(layers=20, full=(5, 0)),) * 2},
        ),
        (
            "--optimizer-cpu-offload --use-precision-aware-optimizer --use-distributed-optimizer",
            {"offload": ("optimizer",)},
        ),
        ("--cpu-offloading-num-layers 39", {"offload": ("activations",)}),
        (
            "--pipeline-model-parallel-size 2 --use-tp-pp-dp-mapping",
            {"order": ("tp", "cp", "pp", "fsdp", "dp")},
        ),
    ],
)
def test_flags(flags: str, fields: dict[str, object], tmp_path: Path) -> None:
    plan = launch(LLAMA + flags, tmp_path).plan
    assert {name: getattr(plan, name) for name in fields} == fields


@each(
    ("flags", "precision", "recipe"),
    [
        ("--fp8-format hybrid", "fp8", "delayed"),
        ("--fp8-format hybrid --fp8-recipe tensorwise", "fp8", "current"),
        ("--fp8-format e4m3 --fp8-recipe blockwise", "fp8", "blockwise"),
        ("--fp8-format e4m3 --fp8-recipe mxfp8", "mxfp8", None),
        ("--fp4-format e2m1", "fp4", None),
    ],
)
def test_precisions(flags: str, precision: str, recipe: str | None, tmp_path: Path) -> None:
    request = launch(LLAMA + flags, tmp_path).request
    assert (request.precision, request.fp8_recipe) == (precision, recipe)


@each(
    ("flags", "line"),
    [
        ("--tensor-model-parallel-size 6", "64 chips are not a multiple of tp 6 x cp 1 x pp 1 = 6; "
         "nearest: --chips 66"),
        ("--tensor-model-parallel-size $TP", "--tensor-model-parallel-size: '$TP' is not a whole "
         "number from 1 to 2,147,483,648, which the text does not define; 'FILE::TP=VALUE' gives "
         "it"),
        ("--global-batch-size nan", "--global-batch-size: 'nan' is not a whole number from 1 to "
         "2,147,483,648"),
        ("--lr", "--lr: has no value"),
        ("--num-layers 41", "layers 41 contradicts llama2-13b, which has 40 "
         "(see --num-layers)"),
        ("--num-experts 8", "moe.experts 8 contradicts llama2-13b, which has 0 "
         "(see --num-experts)"),
        ("--num-query-groups 4 --group-query-attention", "kv_heads 4 contradicts llama2-13b, which "
         "has 40 (see --group-query-attention, --num-query-groups)"),
        ("--fp16", "--fp16: stands beside --bf16; keep one"),
        ("--use-torch-fsdp2 --pipeline-model-parallel-size 2", "--use-torch-fsdp2: Megatron-LM "
         "takes it without pipelines, not pp 2"),
        ("--pipeline-model-parallel-size 16", "--pipeline-model-parallel-size: 40 layers over pp "
         "16"),
        ("--pipeline-model-parallel-size 2 --pipeline-model-parallel-layout Et*9|t*9L",
         "--pipeline-model-parallel-layout: has 18 layers; llama2-13b has 40"),
        ("--expert-model-parallel-size 8", "--expert-model-parallel-size: llama2-13b has no "
         "experts"),
        ("--num-layers-per-virtual-pipeline-stage 20", "--num-layers-per-virtual-pipeline-stage: "
         "says 2 chunks on each stage, which needs pp of at least 2, not pp 1"),
        ("--num-virtual-stages-per-pipeline-rank 4", "--num-virtual-stages-per-pipeline-rank: says "
         "4 chunks on each stage, which needs pp of at least 2, not pp 1"),
        ("--pipeline-model-parallel-layout Et*20|t*20L", "--pipeline-model-parallel-layout: says 2 "
         "chunks on each stage, which needs pp of at least 2, not pp 1"),
        ("--pipeline-model-parallel-size 2 --num-virtual-stages-per-pipeline-rank 4 "
         "--no-overlap-p2p-communication", "--num-virtual-stages-per-pipeline-rank: says 4 chunks "
         "on each stage, which needs pp of at least 3 beside --no-overlap-p2p-communication, not "
         "pp 2"),
        ("--tp-comm-overlap", "--tp-comm-overlap: Megatron-LM takes it with tp above 1 only; leave "
         "it out"),
        ("--tp-comm-overlap --tensor-model-parallel-size 2", "--tp-comm-overlap: Megatron-LM takes "
         "it with --sequence-parallel only; leave it out"),
        ("--overlap-param-gather", "--overlap-param-gather: Megatron-LM takes it beside "
         "--use-distributed-optimizer or --use-megatron-fsdp only"),
        ("--fp8-format hybrid --fp4-format e2m1", "--fp4-format: stands beside --fp8-format; keep "
         "one"),
        ("--hybrid-layer-pattern M*M", "--hybrid-layer-pattern: is a model that no plan describes"),
        ("--data-parallel-sharding-strategy all", "--data-parallel-sharding-strategy: 'all' is not "
         "one of no_shard, optim, optim_grads, optim_grads_params"),
    ],
)  # fmt: skip
def test_contradictions(flags: str, line: str, tmp_path: Path) -> None:
    lines = refused(LLAMA + flags, tmp_path)
    assert line in lines


def test_shards_of_torch_stand_alone(tmp_path: Path) -> None:
    takes = "--use-torch-fsdp2: Megatron-LM takes it"
    text = MIXTRAL.replace("--bf16", "--fp16 --use-torch-fsdp2 --no-gradient-accumulation-fusion")
    for flag in ("distributed-optimizer", "param-gather", "pipeline-model-parallel-size 4"):
        text = re.sub(f"--[a-z-]*{flag}", "", text)
    assert refused(text, tmp_path, model="mixtral-8x7b") == [
        f"{takes} without ep, not ep 8",
        f"{takes} without --fp16; take --bf16",
    ]
    text = GPT3.replace("--fp16", "--bf16").replace(
        "--pipeline-model-parallel-size 16",
        "--use-torch-fsdp2 --no-gradient-accumulation-fusion",
    )
    assert refused(text, tmp_path, model="gpt3-175b", chips=1024) == [
        f"{takes} beside --untie-embeddings-and-output-weights only"
    ]


@each(
    ("flags", "start", "fix", "field"),
    [
        ("--recompute-granularity selective --recompute-modules mlp mhc",
         "--recompute-modules: of mhc is neither", "recompute=full", ("recompute", "full")),
        ("--optimizer-cpu-offload --use-precision-aware-optimizer --use-distributed-optimizer "
         "--optimizer-offload-fraction 0.5",
         "--optimizer-offload-fraction: a plan moves all", "offload=optimizer",
         ("offload", ("optimizer",))),
        ("--context-parallel-size 2 --cp-comm-type allgather", "--cp-comm-type: allgather is",
         "cp_mode=ring", ("cp_mode", "ring")),
        ("--use-distributed-optimizer --num-distributed-optimizer-instances 4",
         "--num-distributed-optimizer-instances: zero1 is shared", "sharding=zero1",
         ("sharding", "zero1")),
        ("--tensor-model-parallel-size 2 --tensor-parallel-num-weight-shards 2",
         "--tensor-parallel-num-weight-shards: weights are shared", "tp=4", ("tp", 4)),
    ],
)  # fmt: skip
def test_what_no_plan_says_can_be_fixed(
    flags: str, start: str, fix: str, field: tuple[str, object], tmp_path: Path
) -> None:
    [line] = refused(LLAMA + flags, tmp_path)
    assert line.startswith(start)
    assert "--fix " in line
    assert getattr(launch(LLAMA + flags, tmp_path, fix).plan, field[0]) == field[1]


def test_experts_split_over_tp_by_default(tmp_path: Path) -> None:
    text = MIXTRAL.replace("--tensor-model-parallel-size 1", "--tensor-model-parallel-size 2")
    found = launch(text, tmp_path, model="mixtral-8x7b", chips=None)
    assert (found.plan.ep, found.plan.etp) == (8, 2)
    assert "plan.mesh.etp" in {note.name for note in found.imported.assumed}
    told = f"{text.rstrip()} --expert-tensor-parallel-size 1"
    found = launch(told, tmp_path, model="mixtral-8x7b", chips=None)
    assert (found.plan.ep, found.plan.etp) == (8, 1)


@each("etp", [1, 2, 4])
def test_ranks_that_share_experts_are_read(etp: int, tmp_path: Path) -> None:
    text = f"{MIXTRAL.rstrip()} --expert-tensor-parallel-size {etp}"
    text = text.replace("--expert-model-parallel-size 8", "--expert-model-parallel-size 2")
    found = launch(text, tmp_path, model="mixtral-8x7b", chips=None)
    assert (found.plan.ep, found.plan.etp, found.plan.expert_ranks) == (2, etp, 2 * etp)


@each(
    ("pattern", "said"),
    [("'[1]*32'", False), ("1", False), ("'([0]+[1]*3)*8'", True), ("x", True), ("2", True)],
)
def test_which_layers_have_experts(pattern: str, said: bool, tmp_path: Path) -> None:
    text = f"{MIXTRAL.rstrip()} --moe-layer-freq {pattern}"
    if said:
        [line] = refused(text, tmp_path, model="mixtral-8x7b", chips=None)
        assert line.endswith("is not how mixtral-8x7b deals experts")
    else:
        found = launch(text, tmp_path, model="mixtral-8x7b", chips=None)
        assert found.request.model == "mixtral-8x7b"


def test_unknown_settings_have_the_nearest_name(tmp_path: Path) -> None:
    found = launch(LLAMA + "--recompute-granularty full --qqqqq 3 $MORE", tmp_path)
    assert found.plan.recompute == "none"
    assert [(one.name, one.value, one.reason) for one in found.imported.unknown] == [
        ("--recompute-granularty", "full", "not known; did you mean '--recompute-granularity'?"),
        ("--qqqqq", "3 $MORE", "not known"),
    ]


def test_abbreviations_are_not_taken(tmp_path: Path) -> None:
    found = launch(LLAMA + "--tensor-model-parallel 8", tmp_path)
    assert found.plan.tp == 1
    assert [one.name for one in found.imported.unknown] == ["--tensor-model-parallel"]


@each(
    ("drop", "line"),
    [
        ("--seq-length 4096", "--seq-length: is missing, and Megatron-LM has no default for it"),
        ("--micro-batch-size 1", "--micro-batch-size: is missing, and Megatron-LM has no default "
         "for it"),
    ],
)  # fmt: skip
def test_what_must_be_said(drop: str, line: str, tmp_path: Path) -> None:
    assert line in refused(LLAMA.replace(drop, ""), tmp_path)


def test_chips_must_be_said(tmp_path: Path) -> None:
    [line] = refused(LLAMA + "--tensor-model-parallel-size 8", tmp_path, chips=None)
    assert line == (
        "does not say on how many chips it runs; give --chips, a multiple of tp 8 x cp 1 x pp 1 = 8"
    )


def test_models_that_agree_are_named(tmp_path: Path) -> None:
    [line] = refused(LLAMA, tmp_path, model=None)
    assert line.endswith("name it with --model")
    assert "llama2-13b" in line


def test_flags_of_the_parser() -> None:
    flags = known_flags()
    assert len(flags) > 800
    assert flags["--rampup-batch-size"] == ("3", "training")
    assert flags["--data-path"][0] == "+"
    assert flags["--bf16"][0] == ""
    assert flags["--num-layers"][0] == "="


def test_latent_attention_switches_the_overlap_of_tp_off(tmp_path: Path) -> None:
    case = CASES["latent-experts"]
    one = export_plan(case.cost(), case.plan, TARGETS["megatron"])
    [text] = [file.text for file in one.files if file.name == "args.txt"]
    text = text.replace("--tensor-model-parallel-size 1", "--tensor-model-parallel-size 2")
    text += "--sequence-parallel\n--tp-comm-overlap\n"
    found = launch(text, tmp_path, model=case.model, hardware=case.hardware, chips=256)
    assert [line for line in found.imported.warnings if "tp-comm" in line] == [
        "--tp-comm-overlap: Transformer Engine switches it off beside latent attention; the "
        "prediction hides these collectives behind computation"
    ]
