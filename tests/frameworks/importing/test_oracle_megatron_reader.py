"""Random arguments of Megatron-LM: what it refuses is refused, what it starts is read as it runs.

`PLANNER_MEGATRON_MAIN` is that of `test_oracle_bridge`, `PLANNER_MEGATRON_PYTHON` that of
`test_oracle_megatron`.
"""

import json
import os
import random
import subprocess
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from frameworks.export.test_oracle_megatron import HERE, PYTHON, asked
from models_db import load_model
from planner.base.errors import InputError
from planner.cost.stages.layout import plan_chunks
from planner.frameworks.megatron.reading.names import GROUPS, known_flags
from planner.frameworks.rules import broken
from planner.plan import PlanTable
from planner.question.launch import LaunchRead, read_launch
from planner.question.resolved import resolve

HOME = os.environ.get("PLANNER_MEGATRON_MAIN", "")
pytestmark = [
    pytest.mark.oracle,
    pytest.mark.skipif(not HOME, reason="PLANNER_MEGATRON_MAIN names no checkout of Megatron-LM"),
]
COUNT = 400
SHARED = (
    "--swiglu --untie-embeddings-and-output-weights --disable-bias-linear "
    "--position-embedding-type rope --normalization RMSNorm --max-position-embeddings 8192 "
    "--tokenizer-type NullTokenizer "
    "--vocab-size 32000 --mock-data --lr 1e-4 --train-iters 10 --no-rope-fusion"
)
MODELS = {
    "llama2-13b": "--num-layers 40 --hidden-size 5120 --ffn-hidden-size 13824 "
    "--num-attention-heads 40",
    "mixtral-8x7b": "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 "
    "--num-attention-heads 32 --group-query-attention --num-query-groups 8 --num-experts 8 "
    "--moe-router-topk 2 --moe-grouped-gemm",
}
OWN = {
    "experts are split over": "no plan says it, and --fix takes its place",
    "shared by some of the data ranks": "no plan says it, and --fix takes its place",
    "optimizer is shared out over replicas": "no plan says it, and --fix takes its place",
    "experts with tp": "Megatron-LM warns of experts with tp and without sequence parallelism",
    "--recompute-num-layers: '0'": "it divides by it once it runs",
    "--recompute-granularity: full needs": "it has no number of layers once it runs",
    "interleave > 1 needs schedule interleaved": "its schedule says so once it runs "
    "(core/pipeline_parallel/schedules.py: groups of at least pp micro-batches); it also runs "
    "numbers of micro-batches that pp does not divide, which no plan has",
    "tokens do not divide into cp": "it says so once it scatters a sequence over tp "
    "(core/tensor_parallel/mappings.py _split_along_first_dim)",
    "--use-precision-aware-optimizer: Megatron-LM takes it beside": "it says so once it builds the "
    "optimizer",
}
"""What is refused though the checks that are asked let it pass, and why."""
CHOICES: tuple[tuple[float, str], ...] = (
    (0.9, "--global-batch-size 64|128|256|512|96|1024"),
    (0.95, "--tensor-model-parallel-size 1|1|2|4|8"),
    (0.95, "--pipeline-model-parallel-size 1|1|2|4|8"),
    (0.4, "--context-parallel-size 1|2|4"),
    (0.6, "--sequence-parallel"),
    (0.9, "--bf16"),
    (0.05, "--fp16"),
    (0.05, "--fp8-format hybrid"),
    (0.5, "--use-distributed-optimizer"),
    (0.4, "--overlap-grad-reduce"),
    (0.125, "--overlap-param-gather"),
    (0.05, "--use-megatron-fsdp"),
    (0.075, "--data-parallel-sharding-strategy no_shard|optim|optim_grads|optim_grads_params"),
    (0.075, "--ckpt-format fsdp_dtensor|fsdp_dtensor|torch|torch_dcp"),
    (0.025, "--init-model-with-meta-device"),
    (0.1, "--no-gradient-accumulation-fusion"),
    (0.025, "--use-torch-fsdp2"),
    (0.03, "--num-distributed-optimizer-instances 1|2|4"),
    (0.075, "--num-layers-per-virtual-pipeline-stage 1|2|4|5|3"),
    (0.075, "--num-virtual-stages-per-pipeline-rank 1|2|4|5|3"),
    (0.03, "--decoder-first-pipeline-num-layers 4|8|10|2"),
    (0.03, "--decoder-last-pipeline-num-layers 4|8|10|2"),
    (0.04, "--account-for-embedding-in-pipeline-split"),
    (0.04, "--account-for-loss-in-pipeline-split"),
    (0.125, "--recompute-granularity selective|full|full"),
    (0.125, "--recompute-method uniform|block"),
    (0.125, "--recompute-num-layers 1|2|5|50"),
    (0.025, "--recompute-activations"),
    (0.05, "--cp-comm-type p2p|a2a"),
    (0.03, "--use-tp-pp-dp-mapping"),
    (0.03, "--no-overlap-p2p-communication"),
    (0.04, "--tp-comm-overlap"),
    (0.04, "--optimizer-cpu-offload"),
    (0.04, "--use-precision-aware-optimizer"),
    (0.025, "--cpu-offloading-num-layers 31|39"),
    (0.02, "--distribute-saved-activations"),
    (0.025, "--overlap-param-gather-with-optimizer-step"),
    (0.03, "--overlap-moe-expert-parallel-comm"),
    (0.02, "--delay-wgrad-compute"),
    (0.02, "--grad-reduce-in-bf16"),
)
EXPERTS: tuple[tuple[float, str], ...] = (
    (0.7, "--expert-model-parallel-size 1|2|4|8|8|3"),
    (0.9, "--expert-tensor-parallel-size 1"),
    (0.6, "--moe-token-dispatcher-type alltoall|allgather"),
)


def drawn(source: random.Random) -> tuple[str, int, list[str]]:
    """A model, the ranks and arguments."""
    model = source.choice(list(MODELS))
    words = f"{SHARED} {MODELS[model]} --micro-batch-size {source.choice([1, 1, 2, 4])}".split()
    words += ["--seq-length", source.choice(["2048", "4096", "8192", "6144", "1000", "16384"])]
    for chance, text in CHOICES + (EXPERTS if "mixtral" in model else ()):
        if source.random() < chance:
            name, _, values = text.partition(" ")
            words += [name, *([source.choice(values.split("|"))] if values else [])]
    if source.random() < 0.08:
        words += ["--pipeline-model-parallel-layout", layout(source, model)]
    return model, source.choice([8, 16, 32, 64, 64, 128, 256]), words


def layout(source: random.Random, model: str) -> str:
    layers, chunks = load_model(model).layers, source.choice([1, 2, 2, 4, 8])
    cuts = sorted(source.randint(0, layers) for _ in range(chunks - 1))
    counts = [end - start for start, end in zip([0, *cuts], [*cuts, layers], strict=True)]
    return "E" + "|".join("t" * count for count in counts) + "L"


def read(path: Path, model: str, world: int, words: list[str]) -> LaunchRead | str:
    """What is read, or why nothing is: a line of the reader or of the rules."""
    path.write_text(" ".join(words), encoding="utf-8")
    given = {"model": model, "hardware": "h100-sxm5-80", "chips": world}
    try:
        found = read_launch("megatron", path, given)
        cost = resolve(found.request, found.origin).cost
    except InputError as error:
        return str(error).replace(f"{path}: ", "")
    lines = [line for _, line in broken(cost, PlanTable.from_plans([found.plan]))]
    return "\n".join(lines) if lines else found


def environment(words: list[str]) -> dict[str, str]:
    shards = {"--use-megatron-fsdp", "--use-torch-fsdp2"} & set(words)
    return {"CUDA_DEVICE_MAX_CONNECTIONS": "8" if shards else "1"}


def differences(launches: list[Any], answers: list[dict[str, Any]]) -> list[str]:
    """What is read otherwise than Megatron-LM takes it, a line each."""
    found = []
    for (model, _, words, own), theirs in zip(launches, answers, strict=True):
        text = " ".join(words[words.index("--seq-length") :])
        if isinstance(own, str):
            excused = any(line in own for line in OWN)
            if theirs["accepted"] and not excused:
                found.append(f"REFUSED {own} :: {text}")
        elif not theirs["accepted"]:
            found.append(f"STOPS {theirs['why'].strip().splitlines()[-1][:200]} :: {text}")
        else:
            plan = own.plan
            chunks = plan_chunks(plan, load_model(model))
            if [list(map(int, chunks[at :: plan.pp])) for at in range(plan.pp)] != theirs["layers"]:
                found.append(f"LAYERS {chunks} {theirs['layers']} :: {text}")
            rows = own.request.batch_tokens // own.request.seq_len
            if rows != theirs["micro"] * plan.dp * plan.fsdp * plan.micro_batch:
                found.append(f"BATCH {rows} {theirs['micro']} :: {text}")
    return found


@each("seed", range(3))
def test_it_takes_what_megatron_takes(seed: int, tmp_path: Path) -> None:
    source = random.Random(seed)
    launches = []
    for _ in range(COUNT):
        model, world, words = drawn(source)
        launches.append((model, world, words, read(tmp_path / "args.txt", model, world, words)))
    answers = asked(
        [
            {"args": words, "world": world, "environment": environment(words), "hopper": True}
            for _, world, words, _ in launches
        ]
    )
    assert sum(one["accepted"] for one in answers) >= COUNT / 5
    assert differences(launches, answers) == []


LISTED = """
import json, sys
from megatron_checker import prepared
parser = prepared(sys.argv[1]).add_megatron_arguments(__import__("argparse").ArgumentParser())
print(json.dumps([one for action in parser._actions for one in action.option_strings]))
"""


def test_the_flags_are_those_of_its_parser() -> None:
    done = subprocess.run(
        [PYTHON, "-c", LISTED, HOME],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(HERE)},
    )
    theirs = {one for one in json.loads(done.stdout.splitlines()[-1]) if one.startswith("--")}
    older = {f"--{name.rstrip('=')}" for name in GROUPS["older versions"].split()}
    assert theirs - {"--help"} == set(known_flags()) - older
