"""No command writes over a file that its question is read from, by whichever name."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

import pytest
import typer

from cli.command import planner
from planner.cli.main import app

ROOT = Path(__file__).parents[2]
FORMATS = ROOT / "tests" / "formats"
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
    "config.json": (ROOT / "tests/answers/files/config.json").read_bytes(),
    "fleet.yaml": b"objective: energy\nclusters: [{name: a, hardware: cluster.yaml, chips: 8}]\n"
    b"jobs: [{name: one, model: model.yaml, train_tokens: 3e11}]\ndays: 2\n",
    "study.yaml": b"job: {model: model.yaml, hardware: cluster.yaml}\ncross: {chips: [8, 16]}\n",
    "site.yaml": b"mtbf: 1h\n",
    "points.csv": b"name,flop,memory_bytes,network_bytes\nslow,4.2e12,1e9,1e9\n",
    "rows.csv": b"id,source\na,b\n",
    "gaps.txt": b"3.2h\n5h\n",
    "log.txt": b"nothing\n",
    "run.sh": b"source ./env.sh\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py $ARGS "
    b"--bf16 --use-distributed-optimizer --micro-batch-size 1 --global-batch-size 128\n",
    "env.sh": b'ARGS="--num-layers 40 --hidden-size 5120 --num-attention-heads 40 "'
    b"'--seq-length 2048'\n",
    "gemm.csv": b"m,n,k,dtype,tflops\n4096,4096,4096,bf16,640\n",
}
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
    Writes("solve", (*JOB, "--chips", "8"), {
        "-o": ".yaml", "--pareto": ".csv", "--trace": ".json", "--certificate": ".json", **PICTURE,
    }),
    Writes("solve", ("job.yaml",), {"-o": ".yaml"}, ("cluster.yaml", "model.yaml")),
    Writes("solve", ("--model", "model.yaml", "--pools", "cluster.yaml=8,dgx-a100-80-hdr=8"),
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
    Writes("check", ("plan.yaml", "--log", "log.txt"), {"-o": ".csv"}, ("cluster.yaml",)),
    Writes("report", ("result.json",), {"-o": ".html"}),
    Writes("fleet", ("fleet.yaml",), PICTURE, ("cluster.yaml", "model.yaml")),
    Writes("fleet", ("fleet.yaml", "--store", "store.db"), PICTURE),
    Writes("sweep table", ("store.db",), {"--csv": ".csv"}),
    Writes("sweep plot", ("store.db", "--x", "chips", "--y", "best.mfu"), PICTURE),
    Writes("feasible", ("--model", "model.yaml", "--hardware", "cluster.yaml"), PICTURE),
    Writes("goodput", ("--chips", "64", "--stall", "5s", "--simulate", "gaps.txt"), PICTURE),
    Writes("goodput", ("--chips", "64", "--stall", "5s", "--failure-site", "site.yaml"), PICTURE),
    Writes("ridgeline", ("--hardware", "cluster.yaml", "--csv", "points.csv"), PICTURE),
    Writes("ridgeline", ("--hardware", "cluster.yaml", "--plan", "plan.yaml"), PICTURE),
    Writes("validate", ("--data", "rows.csv"), PICTURE),
    Writes("measure", ("gpu.yaml", "--framework", "megatron"), {"-o": "plan.yaml"}),
    Writes("calibrate", ("--hardware", "cluster.yaml", "--gemm", "gemm.csv"), {"-o": ".yaml"}),
    Writes("calibrate", ("--nccl", "log.txt"), {"-o": ".yaml"}),
    Writes("calibrate", ("--runs", "rows.csv"), {"-o": ".yaml"}),
    Writes("calibrate", ("--failures", "rows.csv"), {"-o": ".yaml"}),
    Writes("rack zero", ("--hardware", "cluster.yaml"), PICTURE),
    Writes("rack zero", GRAPH, PICTURE),
    Writes("rack topology", GRAPH, {"--link-loads": ".csv", **PICTURE}),
    Writes("rack parallelism", ("--hardware", "cluster.yaml"), PICTURE),
    Writes("rack solve", (*GRAPH, "--workload", "fc", "--hardware", "cluster.yaml", "--pes", "100"),
           {"--pareto": ".csv", **PICTURE}),
    Writes("collective synthesize", GRAPH, {"-o": ".json"}),
    Writes("collective simulate", ("schedule.json",), {"--plot-schedule": ".svg"}),
    Writes("collective simulate", GRAPH, {"--plot-schedule": ".svg"}),
    Writes("collective compare", GRAPH, {"--plot": ".svg", "--plot-schedule": ".svg"}),
    Writes("collective export", ("schedule.json", "--topo", "order.xml"), {"-o": ".xml"}),
    Writes("models show", ("model.yaml",), {"-o": ".yaml"}),
    Writes("models import", ("config.json", "--name", "mine"), {"-o": ".yaml"}),
    Writes("hardware show", ("cluster.yaml",), {"-o": ".yaml"}),
    Writes("hardware new", ("--like", "cluster.yaml", "--name", "mine"), {"-o": ".yaml"}),
    Writes("hardware detect", ("--from", "log.txt"), {"-o": ".yaml"}),
)  # fmt: skip
APART = {
    "sweep run": "see the test of stores",
    "ridgeline csv": "is read",
    "sweep status": "writes nothing",
    "verify": "writes nothing",
    "collective bounds": "writes nothing",
    "reproduce": "reads no file of a user",
    "web": "writes nothing",
}
"""Commands with a file that are not in the table, and why."""
READ = frozenset({
    "plan_file", "job_file", "log", "file", "study", "cluster", "plan", "result", "folder", "data",
    "runs", "nccl", "measurements", "gemm", "failures", "graph", "schedule", "topo", "files",
    "saved", "path", "store", "parquet", "arrow",
})  # fmt: skip
"""Parameters of commands that are files: read, or of a table whose --csv is written as they are."""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the inputs are."""
    monkeypatch.chdir(tmp_path)
    for name, content in INPUTS.items():
        (tmp_path / name).write_bytes(content)
    return tmp_path


def _read(one: Writes) -> list[str]:
    """The files that a command reads."""
    words = {part for word in one.words for part in word.replace("=", ",").split(",")}
    return sorted({*(words & INPUTS.keys()), *one.others})


@pytest.mark.parametrize("one", COMMANDS, ids=lambda one: one.command)
def test_no_command_replaces_what_it_reads(one: Writes, folder: Path) -> None:
    read = _read(one)
    assert read
    for flag, ending in one.flags.items():
        for name in read:
            target, word = Path(f"link{ending}"), f"link{ending}"
            if not ending.startswith("."):
                target, word = Path("new", ending), "new"
                target.parent.mkdir()
            target.symlink_to(folder / name)
            done = planner(*one.command.split(), *one.words, flag, word)
            assert {path: Path(path).read_bytes() for path in INPUTS} == INPUTS, (flag, name)
            assert done.code == 2, (flag, name, done)
            assert done.err.endswith("file that is read; name another\n"), (flag, name, done.err)
            assert str(target) in done.err
            target.unlink()
            if word == "new":
                target.parent.rmdir()


def test_another_name_of_a_file_is_that_file(folder: Path) -> None:
    os.link(folder / "cluster.yaml", folder / "same.yaml")
    done = planner("evaluate", "plan.yaml", "-o", "same.yaml")
    line = "error: output: same.yaml is the hardware file that is read; name another\n"
    assert (done.code, done.err) == (2, line)


@pytest.mark.parametrize("name", ["cluster.yaml", "model.yaml", "fleet.yaml", "study.yaml"])
def test_a_store_takes_the_place_of_no_other_file(name: str, folder: Path) -> None:
    for words in (
        ("fleet", "fleet.yaml", "--store", name),
        ("sweep", "run", "study.yaml", "-o", name),
    ):
        done = planner(*words)
        assert done.code == 2, (words, done)
        others = {"fleet": "study.yaml", "sweep": "fleet.yaml"}
        said = "is no store of" if name == others[words[0]] else f": {name} is the "
        assert said in done.err
        assert (folder / name).read_bytes() == INPUTS[name]


@pytest.mark.parametrize("field", ["calibration", "assumptions", "failure_site", "resume_from"])
def test_a_store_takes_the_place_of_no_empty_file(field: str, folder: Path) -> None:
    """An empty file may become a store, but not where the question is read from it."""
    empty = folder / "empty.yaml"
    empty.touch()
    (folder / "one.yaml").write_text(
        "job: {model: gpt3-125m, hardware: h100-sxm5-80, train_tokens: 1e9, "
        f"{field}: empty.yaml}}\ncross: {{chips: [8]}}\n", encoding="utf-8",
    )  # fmt: skip
    done = planner("sweep", "run", "one.yaml", "-o", "empty.yaml")
    assert done.code == 2, done
    assert done.err.startswith("error: output: empty.yaml is the ")
    assert done.err.endswith("file that is read; name another\n")
    assert empty.read_bytes() == b""


def test_a_fleet_keeps_its_store_apart(folder: Path) -> None:
    """From an empty file that its job is read from, too; its own content it reads and replaces."""
    fleet = (
        INPUTS["fleet.yaml"].decode().replace("model.yaml", "gpt3-125m, calibration: empty.yaml")
    )
    (folder / "empty.yaml").touch()
    (folder / "one.yaml").write_text(fleet, encoding="utf-8")
    done = planner("fleet", "one.yaml", "--store", "empty.yaml")
    assert (done.code, (folder / "empty.yaml").read_bytes()) == (2, b""), done
    assert done.err.endswith("empty.yaml is the calibration file that is read; name another\n")


def test_what_a_command_itself_wrote_before_is_replaced(folder: Path) -> None:
    for _ in range(2):
        done = planner("evaluate", "plan.yaml", "-o", "other.yaml", "--quiet")
        assert done.code == 0, done.err


def _commands(command: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    inside = getattr(command, "commands", {})
    for name, one in inside.items():
        yield from _commands(one, f"{path} {name}".strip())
    if not inside:
        yield path, command


def test_no_command_that_writes_is_left_out() -> None:
    table: dict[str, set[str]] = {}
    for one in COMMANDS:
        table.setdefault(one.command, set()).update(flag.lstrip("-") for flag in one.flags)
    left = []
    for name, command in _commands(typer.main.get_command(app)):
        hints = get_type_hints(inspect.unwrap(command.callback))
        for parameter in command.params:
            is_file = "Path" in str(hints.get(parameter.name))
            flags = {flag.lstrip("-") for flag in parameter.opts}
            known = {name, f"{name} {parameter.name}"} & APART.keys()
            if is_file and parameter.name not in READ and not known:
                left += [] if flags & table.get(name, set()) else [(name, parameter.name)]
    assert not left
