"""Arguments that Megatron-LM refuses together, layouts with prediction modules, other models."""

from pathlib import Path

from support.cases import each

from frameworks.importing.test_import_megatron import LLAMA, MIXTRAL, launch, refused
from planner.frameworks.megatron.reading.classes import ASSUMED, NO_PART, reasons
from planner.frameworks.megatron.reading.names import GROUPS, known_flags
from planner.plan import Stage

TAKES = "Megatron-LM takes it"
PP4 = "--pipeline-model-parallel-size 4"
AT_THE_STEP = "--overlap-param-gather-with-optimizer-step"
EXCHANGE = "--overlap-moe-expert-parallel-comm"


@each(
    ("flags", "line"),
    [
        (
            "--use-megatron-fsdp",
            f"--use-megatron-fsdp: {TAKES} beside --ckpt-format fsdp_dtensor only, not torch_dist",
        ),
        (
            "--use-megatron-fsdp --ckpt-format fsdp_dtensor --init-model-with-meta-device "
            "--data-parallel-sharding-strategy no_shard",
            f"--init-model-with-meta-device: {TAKES} without no_shard only; leave it out",
        ),
        ("--ckpt-format fsdp_dtensor", f"--ckpt-format: {TAKES} as fsdp_dtensor beside "
         "--use-megatron-fsdp only"),
        (
            f"{PP4} --pipeline-model-parallel-layout Et*10|t*10|t*10|t*10L "
            "--account-for-embedding-in-pipeline-split",
            "--pipeline-model-parallel-layout: stands beside "
            "--account-for-embedding-in-pipeline-split; keep one",
        ),
        (AT_THE_STEP, f"{AT_THE_STEP}: {TAKES} beside --use-distributed-optimizer only"),
        (AT_THE_STEP, f"{AT_THE_STEP}: {TAKES} beside --overlap-param-gather only"),
        (EXCHANGE, f"{EXCHANGE}: {TAKES} with ep above 1 only"),
        (
            f"{PP4} {EXCHANGE}",
            f"{EXCHANGE}: {TAKES} without a pipeline, or with several chunks, not with pp 4",
        ),
        (
            f"{EXCHANGE} --mtp-num-layers 2",
            f"{EXCHANGE}: {TAKES} with one module of multi-token prediction at most",
        ),
        (
            "--fp8-format hybrid --fp8-param-gather",
            f"--fp8-param-gather: {TAKES} beside --use-distributed-optimizer, --use-megatron-fsdp "
            "or --use-torch-fsdp2 only",
        ),
        (
            "--train-iters 10 --train-samples 80",
            f"--train-samples: {TAKES} without --train-iters only",
        ),
        (
            "--train-samples 80 --lr-decay-iters 8",
            f"--lr-decay-iters: {TAKES} without --train-samples only",
        ),
        (
            "--train-iters 10 --lr-warmup-fraction 0.1 --lr-warmup-iters 2",
            f"--lr-warmup-fraction: {TAKES} without --lr-warmup-iters only",
        ),
        ("--encoder-num-layers 40", f"--encoder-num-layers: {TAKES} without --num-layers only"),
        ("--delay-wgrad-compute", f"--delay-wgrad-compute: {TAKES} beside {EXCHANGE} only"),
        (
            "--distribute-saved-activations --tensor-model-parallel-size 2",
            f"--distribute-saved-activations: {TAKES} beside --recompute-granularity full only",
        ),
        (
            f"{PP4} --cpu-offloading-num-layers 39",
            f"--cpu-offloading-num-layers: {TAKES} without pipelines only, not with pp 4",
        ),
        (
            "--optimizer-cpu-offload",
            f"--optimizer-cpu-offload: {TAKES} beside --use-precision-aware-optimizer only",
        ),
        (
            "--max-position-embeddings 2048",
            f"--max-position-embeddings: {TAKES} as --seq-length 4096 or more, not 2048",
        ),
    ],
)  # fmt: skip
def test_what_megatron_refuses_is_refused(flags: str, line: str, tmp_path: Path) -> None:
    assert line in refused(LLAMA + flags, tmp_path)


def test_exchanges_hide_behind_another_micro_batch(tmp_path: Path) -> None:
    text = f"{MIXTRAL.rstrip()} --num-virtual-stages-per-pipeline-rank 2 {EXCHANGE}"
    found = launch(text, tmp_path, model="mixtral-8x7b", chips=None)
    assert any(line.startswith(EXCHANGE) for line in found.imported.warnings)


def test_looking_takes_nothing(tmp_path: Path) -> None:
    flags = "--use-distributed-optimizer --overlap-param-gather --ckpt-format torch"
    found = launch(LLAMA + flags, tmp_path)
    assert "--ckpt-format" in [one.name for one in found.imported.ignored]


def test_modules_of_prediction_are_no_layers(tmp_path: Path) -> None:
    layout = f"{PP4} --pipeline-model-parallel-layout Et*10|t*10|t*11|t*9mL"
    found = launch(f"{LLAMA}{layout} --mtp-num-layers 1", tmp_path)
    assert found.plan.stages == tuple(Stage(layers=count) for count in (10, 10, 11, 9))
    assert any("multi-token prediction" in line for line in found.imported.warnings)
    lines = refused(LLAMA + layout, tmp_path)
    assert lines == [
        "--pipeline-model-parallel-layout: has 1 modules of multi-token prediction (m), "
        "--mtp-num-layers 0"
    ]


@each(
    ("layout", "pp", "modules", "words"),
    [
        ("Et*9|t*11|t*11m|t*9L", 4, 1, "m (multi-token prediction) must come after the last layer"),
        ("Et*20m|t*20L", 2, 1, "m (multi-token prediction) must come after the last layer"),
        ("Et*20|mt*20L", 2, 1, "m (multi-token prediction) must come after the last layer"),
        ("Et*9|t*11|t*11|t*9|m|m|mm|L", 4, 4, "modules of multi-token prediction (m) in several"),
        ("Et*20|t*10|t*10m|mL", 4, 2, "modules of multi-token prediction (m) in several chunks"),
        ("Et*40|m||L", 2, 1, "before the last chunk of their stage"),
        ("mEt*20|t*20L", 2, 1, "must come"),
        ("Et*20|t*20Lm", 2, 1, "L (loss) must come last and once"),
    ],
)
def test_modules_of_prediction_stand_last(
    layout: str, pp: int, modules: int, words: str, tmp_path: Path
) -> None:
    flags = f"--pipeline-model-parallel-size {pp} --pipeline-model-parallel-layout '{layout}'"
    [line] = refused(f"{LLAMA}{flags} --mtp-num-layers {modules}", tmp_path)
    assert line.startswith("--pipeline-model-parallel-layout: ")
    assert words in line


def test_modules_of_prediction_may_stand_on_a_stage_of_their_own(tmp_path: Path) -> None:
    flags = f"{PP4} --pipeline-model-parallel-layout 'Et*20|t*20|m|L' --mtp-num-layers 1"
    stages = launch(LLAMA + flags, tmp_path).plan.stages
    assert stages is not None
    assert [stage.layers for stage in stages] == [20, 20, 0, 0]


def test_no_modules_of_prediction_are_no_warning(tmp_path: Path) -> None:
    found = launch(f"{LLAMA}--mtp-num-layers 0", tmp_path)
    assert not any(line.startswith("--mtp") for line in found.imported.warnings)


def test_optimizers_are_those_of_the_parser(tmp_path: Path) -> None:
    [line] = refused(f"{LLAMA}--optimizer foo", tmp_path)
    assert line.startswith("--optimizer: 'foo' is not one of adam, sgd")


def test_a_single_data_rank_shares_nothing(tmp_path: Path) -> None:
    flags = "--use-distributed-optimizer --tensor-model-parallel-size 8"
    found = launch(LLAMA + flags, tmp_path, chips=8)
    assert found.plan.sharding == "ddp"
    assert "plan.sharding" in [one.name for one in found.imported.assumed]


@each(
    "flag",
    [
        "--yaml-cfg a.yaml", "--use-checkpoint-args", "--use-mp-args-from-checkpoint-args",
        "--experimental-attention-variant dsa", "--linear-attention-freq 4", "--spec a b",
        "--heterogeneous-layers-config-encoded-json {}", "--perform-rl-step", "--skip-train",
        "--moe-latent-size 8",
    ],
)  # fmt: skip
def test_what_replaces_the_arguments_is_refused(flag: str, tmp_path: Path) -> None:
    [line] = refused(f"{LLAMA}{flag}", tmp_path)
    assert line.startswith(f"{flag.split(maxsplit=1)[0]}: ")


def test_other_optimizers_and_unknown_flags_are_warned_of(tmp_path: Path) -> None:
    found = launch(f"{LLAMA}--optimizer soap --no-such-flag 3", tmp_path)
    assert "--optimizer: 'soap' has other states than adam, which the prediction counts" in (
        found.imported.warnings
    )
    assert any("not known to this reader" in line for line in found.imported.warnings)
    plain = launch(f"{LLAMA}--optimizer adam", tmp_path)
    assert not any(line.startswith("--optimizer") for line in plain.imported.warnings)


def test_every_group_of_flags_is_decided() -> None:
    assert not ASSUMED & NO_PART
    assert set(GROUPS) == ASSUMED | NO_PART
    assert set(reasons()) == set(known_flags())
