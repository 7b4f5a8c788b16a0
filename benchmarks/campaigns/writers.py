"""Every command that writes, with what it reads: one list for campaigns and for tests.

A test fails where a command, or an option that names a file, is missing in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from campaigns import samples

ROOT = Path(__file__).parents[2]
FORMATS, FILES = ROOT / "tests" / "formats", ROOT / "tests" / "answers" / "files"
PLAN = (FORMATS / "plan-1.yaml").read_bytes()
INPUTS: Mapping[str, bytes] = {
    "cluster.yaml": (ROOT / "hardware_db/data/examples/my-cluster.yaml").read_bytes(),
    "like.yaml": b"{like: cluster.yaml, name: mine}\n",
    "model.yaml": (ROOT / "models_db/data/examples/my-model.yaml").read_bytes(),
    "assumed.yaml": b"causal_share: 50%\n",
    "job.yaml": b"{model: model.yaml, hardware: cluster.yaml, chips: 8}\n",
    "plan.yaml": PLAN.replace(b"hardware: h100-sxm5-80", b"hardware: cluster.yaml").replace(
        b", cooling: air, pue: 1.1", b""
    ),
    "gpu.yaml": PLAN,
    "front.json": (FORMATS / "front-1.json").read_bytes(),
    "result.json": (FORMATS / "result-2.json").read_bytes(),
    "schedule.json": (FORMATS / "schedule-2.json").read_bytes(),
    "store.db": (FORMATS / "store-1.db").read_bytes(),
    "ring.edgelist": b"0 1\n1 2\n2 3\n3 0\n",
    "order.xml": b"<system/>\n",
    "config.json": (FILES / "config.json").read_bytes(),
    "fleet.yaml": b"objective: energy\nclusters: [{name: a, hardware: cluster.yaml, chips: 8}]\n"
    b"jobs: [{name: one, model: model.yaml, train_tokens: 1e9}]\ndays: 20\n",
    "study.yaml": b"job: {model: model.yaml, hardware: cluster.yaml}\ncross: {chips: [8, 16]}\n",
    "site.yaml": b"failures: 3\nexposure_chip_hours: 1e5\n",
    "points.csv": b"name,flop,memory_bytes,network_bytes\nslow,4.2e12,1e9,1e9\n",
    "gaps.txt": b"3.2h\n5h\n",
    "train.log": samples.LOG,
    "nccl.txt": (FILES / "all_reduce_perf.txt").read_bytes(),
    "gpus.csv": samples.GPUS,
    "runs.csv": (FILES / "runs.csv").read_bytes(),
    "failures.csv": samples.FAILURES,
    "own.yaml": b"{like: h100-sxm5-80, name: own}\n",
    "dense.yaml": (FILES / "my-model.yaml").read_bytes(),
    "run.sh": b"source ./env.sh\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py $ARGS "
    b"--bf16 --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 128\n",
    "env.sh": b'ARGS="--num-layers 40 --hidden-size 5120 --num-attention-heads 40 "'
    b"'--seq-length 2048'\n",
    "gemm.csv": b"m,n,k,dtype,tflops\n4096,4096,4096,bf16,640\n",
}
SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8", "--axes", "dp")
JOB = ("--model", "model.yaml", "--hardware", "cluster.yaml", "--assumptions", "assumed.yaml")


class Writes(NamedTuple):
    """A command that writes.

    Attributes:
        command: Its name.
        words: What it is given, among it the files that it reads.
        flags: Of what it writes, each with an ending, or with the name of a file in its folder.
        others: Files that it reads as others name them.
    """

    command: str
    words: tuple[str, ...]
    flags: Mapping[str, str]
    others: tuple[str, ...] = ()


PICTURE = {"--plot": ".svg"}
GRAPH = ("--graph", "ring.edgelist")
COMMANDS = (
    Writes("solve", (*SMALL, "--assumptions", "assumed.yaml"), {
        "-o": ".yaml", "--pareto": ".csv", "--trace": ".json", "--certificate": ".json", **PICTURE,
    }),
    Writes("solve", (*JOB, "--chips", "8"), {
        "-o": ".yaml", "--pareto": ".csv", "--trace": ".json", "--certificate": ".json", **PICTURE,
    }),
    Writes("solve", ("job.yaml",), {"-o": ".yaml"}, ("cluster.yaml", "model.yaml")),
    Writes("solve", ("--model", "model.yaml", "--pools", "cluster.yaml=8,dgx-a100-80-hdr=8",
                     "--layout", "uneven"),
           {"-o": ".yaml"}, ("cluster.yaml",)),
    Writes("solve", ("--model", "model.yaml", "--hardware", "like.yaml", "--chips", "8"),
           {"--pareto": ".csv"}, ("cluster.yaml",)),
    Writes("solve", ("job.yaml", "--vary", "chips=8,16"), PICTURE, ("cluster.yaml",)),
    Writes("evaluate", ("plan.yaml", "--assumptions", "assumed.yaml"), {
        "-o": ".yaml", "--trace": ".json", **PICTURE,
    }, ("cluster.yaml",)),
    Writes("evaluate", ("plan.yaml", "--hardware", "cluster.yaml"), {"-o": ".yaml"}),
    Writes("evaluate", ("--from", "auto", "run.sh"), {"-o": ".yaml"}, ("env.sh",)),
    Writes("evaluate", ("plan.yaml", "--clocks", "per-operation"), {"--frequencies": ".py"}),
    Writes("explain", ("plan.yaml", "--hardware", "cluster.yaml"),
           {"--trace": ".json", **PICTURE}),
    Writes("compare", ("plan.yaml", "front.json:1"), PICTURE, ("cluster.yaml", "front.json")),
    Writes("export", ("plan.yaml", "--to", "megatron", "--allow-lossy"), {"-o": "run.sh"},
           ("cluster.yaml",)),
    Writes("export", ("plan.yaml",), {"--chakra": "comm_group.json"}, ("cluster.yaml",)),
    Writes("check", ("plan.yaml", "--log", "train.log"), {"-o": ".csv"}, ("cluster.yaml",)),
    Writes("report", ("result.json",), {"-o": ".html"}),
    Writes("fleet", ("fleet.yaml",), PICTURE, ("cluster.yaml", "model.yaml")),
    Writes("fleet", ("fleet.yaml", "--store", "store.db"), PICTURE),
    Writes("sweep table", ("store.db",), {"--csv": ".csv"}),
    Writes("sweep table", ("store.db",), {"--parquet": ".parquet"}),
    Writes("sweep table", ("store.db",), {"--arrow": ".arrow"}),
    Writes("sweep plot", ("store.db", "--x", "chips", "--y", "best.mfu"), PICTURE),
    Writes("feasible", ("--model", "dense.yaml", "--hardware", "cluster.yaml"), PICTURE),
    Writes("goodput", ("--chips", "64", "--stall", "5s", "--simulate", "gaps.txt"), PICTURE),
    Writes("goodput", ("--chips", "64", "--stall", "5s", "--failure-site", "site.yaml"), PICTURE),
    Writes("ridgeline", ("--hardware", "cluster.yaml", "--csv", "points.csv"), PICTURE),
    Writes("ridgeline", ("--hardware", "cluster.yaml", "--plan", "plan.yaml"), PICTURE),
    Writes("validate", ("--data", "runs.csv"), PICTURE),
    Writes("measure", ("gpu.yaml", "--framework", "megatron"), {"-o": "plan.yaml"}),
    Writes("calibrate", ("--hardware", "cluster.yaml", "--gemm", "gemm.csv"), {"-o": ".yaml"}),
    Writes("calibrate", ("--nccl", "nccl.txt"), {"-o": ".yaml"}),
    Writes("calibrate", ("--runs", "runs.csv"), {"-o": ".yaml"}),
    Writes("calibrate", ("--failures", "failures.csv"), {"-o": ".yaml"}),
    Writes("rack zero", GRAPH, PICTURE),
    Writes("rack zero", ("--hardware", "cluster.yaml"), PICTURE),
    Writes("rack topology", GRAPH, {"--link-loads": ".csv", **PICTURE}),
    Writes("rack parallelism", ("--hardware", "own.yaml"), PICTURE),
    Writes("rack solve", (*GRAPH, "--workload", "fc", "--hardware", "own.yaml", "--pes", "100"),
           {"--pareto": ".csv", **PICTURE}),
    Writes("collective synthesize", GRAPH, {"-o": ".json"}),
    Writes("collective simulate", ("schedule.json",), {"--plot-schedule": ".svg"}),
    Writes("collective simulate", GRAPH, {"--plot-schedule": ".svg"}),
    Writes("collective compare", GRAPH, {"--plot": ".svg", "--plot-schedule": ".svg"}),
    Writes("collective export", GRAPH, {"-o": ".xml"}),
    Writes("collective export", ("schedule.json", "--topo", "order.xml"), {"-o": ".xml"}),
    Writes("models show", ("model.yaml",), {"-o": ".yaml"}),
    Writes("models import", ("config.json", "--name", "mine"), {"-o": ".yaml"}),
    Writes("hardware show", ("cluster.yaml",), {"-o": ".yaml"}),
    Writes("hardware new", ("--like", "cluster.yaml", "--name", "mine"), {"-o": ".yaml"}),
    Writes("hardware detect", ("--from", "gpus.csv"), {"-o": ".yaml"}),
)  # fmt: skip
STORES = (
    Writes(
        "sweep run", ("study.yaml", "--workers", "1"), {"-o": ".db"}, ("cluster.yaml", "model.yaml")
    ),
    Writes("fleet", ("fleet.yaml",), {"--store": ".db"}, ("cluster.yaml", "model.yaml")),
)
"""Commands that add to a store, which takes the place of no file that is there."""
