"""Options of every command, drawn at random from what Click knows of it, and some as processes.

Each command has a line that works, to which up to four of its own options are added, with values
of the same option of another draw, of its kind, or odd ones.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from typing import Any

from typer.main import get_command

from campaigns import samples
from campaigns.readers import FILES, FORMATS
from campaigns.running import COMMAND_CPU_S, Outcome, run
from campaigns.same import different, without_run
from planner.cli.main import app

_JOB = "--model gpt3-125m --hardware h100-sxm5-80 --chips 8"
BASES: Mapping[str, str] = {
    "solve": f"{_JOB} --axes dp", "evaluate": "PLAN", "explain": "PLAN", "compare":
    "PLAN PLAN --hardware h100-sxm5-80,h200-sxm5-141",
    "export": "PLAN --to megatron --output OUT", "targets": "", "check": "PLAN --log LOG",
    "verify": "CERTIFICATE", "fleet": "FLEET", "sweep run": "STUDY --dry-run",
    "sweep status": "STORE", "sweep table": "STORE", "sweep plot":
    "STORE --x chips --y best.step_time_s --plot OUT.svg",
    "feasible": _JOB, "goodput": "--chips 512 --step-time 10s --stall 5s", "ridgeline":
    "--hardware h100-sxm5-80 --gemm 4096x4096x4096", "reproduce": "",
    "report": "RESULT -o OUT.html", "validate": "--data RUNS", "measure":
    f"{_JOB} --framework megatron -o OUT",
    "calibrate": "--failures FAILURES",
    "schema": "job", "doctor": "", "rack zero": "", "rack topology": "ring:8",
    "rack parallelism": "", "rack solve": "--gpus 4 --topology ring",
    "collective bounds": "--topology ring:4", "collective synthesize": "--topology ring:4",
    "collective simulate": "--topology ring:4", "collective compare": "--topology ring:4",
    "collective export": "--topology ring:4 -o OUT.xml", "models list": "",
    "models show": "llama3-8b", "models import": "CONFIG --name mine -o OUT.yaml",
    "hardware new": "--like h100-sxm5-80 --name mine -o OUT.yaml",
    "hardware detect": "--from DETECTED",
    "hardware list": "", "hardware show": "h100-sxm5-80",
}  # fmt: skip
"""A line of each command that works: one that is not answered is a fault."""
LEFT_OUT = {"web": "it serves until it is stopped"}
_NEVER = {"--all", "--scheduler", "--cluster", "--watch", "--measure", "--resynthesize", "--every",
          "--help-all"}  # fmt: skip
"""Options that take minutes, or talk to other programs."""
_OF_THE_MOMENT = frozenset({"free_memory_bytes", "cpu_s", "load_average"})
_VALUES: Mapping[str, tuple[str, ...]] = {
    "--model": ("llama3-8b", "mixtral-8x7b", "MODEL"), "--hardware": ("mi300x", "tpu-v5p"),
    "--chips": ("4", "16", "2x4"), "--batch-tokens": ("256Ki", "1e6"), "--seq-len": ("2Ki",),
    "--precision": ("fp8", "bf16"), "--framework": ("megatron", "deepspeed"),
    "--set": ("memory.bandwidth=2x", "step_s=0.1"), "--fix": ("tp=2", "micro_batch=1", "pp=2"),
    "--objective": ("energy", "time", "latency"), "--json": (), "--time-limit": ("1", "5s"),
    "--plot": ("OUT.svg", "OUT.html", "OUT.json"), "-o": ("OUT", "OUT.yaml"),
    "--topology": ("ring:4", "mesh:2x2", "clique:4", "ring"), "--max-memory": ("60GB",),
    "--mtbf": ("5h", "30d"), "--train-tokens": ("1e11",), "--assumptions": ("roofline",),
    "--collective": ("all-gather", "all-reduce", "broadcast"), "--row": ("1", "2"),
    "--where": ("chips > 7",), "--columns": ("chips,step_time_s",), "--size": ("1MB",),
    "--bandwidth": ("25GB/s",), "--latency": ("1us",), "--axes": ("tp,dp", "fsdp"),
    "--runnable-in": ("megatron", "any"), "--clocks": ("0.9",), "--figure": ("3", "8"),
    "--price-per-chip-hour": ("2",), "--job": ("lora", "sft"), "--to": ("nanotron", "slurm"),
    "--pes": ("16", "8,16"), "--sizes": ("1KB,1MB",), "--front": ("time,energy", "time,memory"),
    "--steps": ("3", "1-4"), "--chunks": ("1", "2"), "--show": ("why", "all"),
    "--step-time": ("9s",), "--power-cap": ("500W",), "--layout": ("uniform", "stages"),
    "--sram": ("1MB",),
}  # fmt: skip
_ODD = ("1", "0", "-1", "2", "0.5", "1e30", "x", "", "nan", "80GB", "10%", "a,b", "é\u202e", "1:2",
        "\\", "[x]", "PLAN", "9" * 400)  # fmt: skip


@dataclass(slots=True)
class Count:
    """How a command fared."""

    tried: int = 0
    answered: int = 0
    refused: int = 0
    faults: int = 0


def commands() -> dict[str, Any]:
    """Every command with its Click object."""
    return dict(_below(get_command(app), ()))


def _below(command: Any, path: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    if not hasattr(command, "list_commands"):
        yield " ".join(path), command
        return
    context = command.make_context("planner", ["--help"], resilient_parsing=True)
    for name in command.list_commands(context):
        yield from _below(command.get_command(context, name), (*path, name))


class Files:
    """A folder with a file for each word in capitals."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        given = {
            "PLAN": ("plan.yaml", (FORMATS / "plan-1.yaml").read_bytes()),
            "STORE": ("store.db", (FORMATS / "store-1.db").read_bytes()),
            "CONFIG": ("config.json", (FILES / "config.json").read_bytes()),
            "MODEL": ("my-model.yaml", (FILES / "my-model.yaml").read_bytes()),
            "FLEET": ("fleet.yaml", (FILES / "fleet.yaml").read_bytes()),
            "RUNS": ("runs.csv", (FILES / "runs.csv").read_bytes()),
            "FAILURES": ("failures.csv", samples.FAILURES), "LOG": ("train.log", samples.LOG),
            "STUDY": ("study.yaml", samples.STUDY), "DETECTED": ("gpus.csv", samples.GPUS),
        }  # fmt: skip
        self.names = {word: str(folder / name) for word, (name, _) in given.items()}
        for name, content in given.values():
            (folder / name).write_bytes(content)
        certificate = folder / "proof.json"
        run("solve", *_JOB.split(), "--axes", "dp", "--certificate", certificate)
        self.names["CERTIFICATE"] = str(certificate)
        result = folder / "result.json"  # of today's database, which a report asks for
        answer = run("solve", *_JOB.split(), "--axes", "dp", "--json").out
        result.write_text(answer, encoding="utf-8")
        self.names["RESULT"] = str(result)

    def word(self, word: str, at: int) -> str:
        """A word of a line; what is written is another file for each line."""
        if word.startswith("OUT"):
            return str(self.folder / f"out{at}{word[3:]}")
        return self.names.get(word, word)


def drawn(name: str, command: Any, chance: Random) -> tuple[str, ...]:
    """A line of a command with up to four of its options."""
    options = [one for one in command.params if one.param_type_name == "option"
               and one.opts[0] not in _NEVER]  # fmt: skip
    words = [*name.split(), *BASES[name].split()]
    for option in chance.sample(options, min(len(options), chance.randint(0, 4))):
        words.append(chance.choice(option.opts))
        if not option.is_flag:
            known = _VALUES.get(option.opts[0], ())
            words.append(chance.choice(known if known and chance.random() < 0.7 else _ODD))
    return tuple(words)


def campaign(
    count: int, seed: int, told: Callable[[str], None], only: str = ""
) -> Iterator[tuple[str, Count]]:
    """So many lines of each command in this process; each twentieth as a process too, with JSON."""
    with tempfile.TemporaryDirectory() as folder:
        files, processes = Files(Path(folder)), Count()
        for name, command in commands().items():
            if name in LEFT_OUT or only not in name:
                continue
            tally = Count()
            bare = run(*name.split(), *(files.word(word, -1) for word in BASES[name].split()))
            if not bare.answered:  # else nothing that is drawn is more than a refusal
                tally.faults += 1
                told(f"planner {' '.join(bare.words)}: is to be answered: {bare.err}")
            for at in range(count):
                words = drawn(name, command, Random(f"{seed} {name} {at}"))
                if at % 20 == 0 and "--json" not in words:
                    words = (*words, "--json")
                done = run(*(files.word(word, at) for word in words))
                _counted(tally, done, done.fault() or done.cost(COMMAND_CPU_S), told)
                if at % 20 == 0:
                    _counted(processes, done, _apart(done, files.folder), told)
            yield name, tally
        yield "the same as processes", processes


def _counted(tally: Count, done: Outcome, wrong: str, told: Callable[[str], None]) -> None:
    tally.tried += 1
    tally.answered += done.answered
    tally.refused += done.code == 2
    if wrong:
        tally.faults += 1
        told(f"planner {' '.join(done.words)}: {wrong}")


def _apart(done: Outcome, folder: Path) -> str:
    """What a process does otherwise than the same line in this one; empty: nothing."""
    again = subprocess.run(
        [sys.executable, "-m", "planner", *done.words], cwd=folder, text=True, check=False,
        capture_output=True, timeout=300, env={**os.environ, "COLUMNS": "80"},
    )  # fmt: skip
    if "Traceback" in again.stderr or again.returncode != done.code:
        return f"as a process {again.returncode} {again.stderr[-300:]}, here {done.code}"
    return _otherwise(done, replace(done, out=again.stdout)) if done.out or again.stdout else ""


def _otherwise(one: Outcome, other: Outcome) -> str:
    """The first place where two documents differ but for the data of their runs; empty: none.

    Where one is no document, texts are held against one another as they are.
    """
    try:
        return different(_lasting(one.document), _lasting(other.document), 0.0)
    except ValueError:
        return "" if one.out == other.out else f"{one.out[-300:]!r} and {other.out[-300:]!r}"


def _lasting(tree: Any) -> Any:
    """A document without what a run or the moment makes."""
    tree = without_run(tree)
    if isinstance(tree, dict):
        return {key: _lasting(part) for key, part in tree.items() if key not in _OF_THE_MOMENT}
    return [*map(_lasting, tree)] if isinstance(tree, list) else tree
