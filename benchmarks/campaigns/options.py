"""Options: random combinations of `planner solve`, each held against other commands and options.

Rows are fixed, and each needs some answers: a command that refuses everything is a fault too.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

from campaigns.running import COMMAND_CPU_S, Outcome, run
from models_db.loading import shipped_aliases
from planner.base.errors import ExitCode
from planner.base.files import read_yaml

_JOBS = (
    ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80"),
    ("--model", "llama3.2-1b", "--hardware", "h100-sxm5-80"),
    ("--model", "smollm2-360m", "--hardware", "mi300x"),
    ("--model", "tinyllama-1.1b", "--hardware", "tpu-v5p"),
    ("--model", "deepseek-v2-lite", "--hardware", "h200-sxm5-141"),
)
_OPTIONS: Mapping[str, tuple[str, ...]] = {
    "--chips": ("4", "8", "16"), "--batch-tokens": ("32Ki", "64Ki", "128Ki", "72Ki"),
    "--axes": ("dp", "tp,dp", "fsdp,tp", "dp,pp", "tp,dp,pp", "fsdp"),
    "--objective": ("time", "energy", "edp", "memory"), "--seq-len": ("1024", "4Ki", "2048"),
    "--precision": ("bf16", "fp16", "fp8", "fp32"),
    "--job": ("pretrain", "sft", "lora", "dpo"),
    "--fix": ("tp=2", "micro_batch=1", "recompute=full", "sharding=zero1", "pp=2"),
    "--max-memory": ("60GB", "20GB", "50GiB"), "--max-step-time": ("100", "1ms"),
    "--max-power": ("1MW", "3kW"), "--runnable-in": ("any", "megatron", "deepspeed"),
    "--framework": ("megatron", "deepspeed", "torchtitan"), "--power-cap": ("500W",),
    "--memory-margin": ("10%", "5%"), "--train-tokens": ("1e11",),
    "--price-per-chip-hour": ("2",), "--collectives": ("nccl",), "--placement": ("all",),
    "--layout": ("uniform",), "--set": ("memory.bandwidth=2x", "levels.leaf.bandwidth=0.5x"),
    "--assumptions": ("calibrated", "roofline"), "--gap": ("1%", "0.001"), "--pue": ("1.2",),
}  # fmt: skip
_SWITCHES = ("--offload", "--no-clocks", "--chips-exact")
_NEEDS = {"--price-per-chip-hour": ("--train-tokens", "1e11")}
_SAME = 1e-12
_TARGETS = {"megatron": "run.sh", "deepspeed": "ds_config.json", "torchtitan": "torchtitan.sh",
            "maxtext": "maxtext.yml", "nanotron": "nanotron.yaml"}  # fmt: skip
_ANSWERS, _FITS = (
    "no traceback, a document or a refusal", "what fits by `feasible` has a plan, and none slower",
)  # fmt: skip
_LIMITS = ("less memory", "less time", "less power", "a layout of equal stages")
_OF_OBJECTIVE = {"less memory": "memory", "less time": "time"}
"""Limits below what the best plan costs, which no plan keeps where that is the objective."""
ROWS = (
    _ANSWERS,
    "its plan evaluated alone costs the same",
    *(f"{what} is never better" for what in _LIMITS),
    "asked for the micro-batch that it chose, it is as good",
    "any number of chips up to it is never worse",
    "other units give the same answer",
    "another name of the model gives the same answer",
    "the same question as a job file gives the same answer",
    *(f"exported to {target} and read back it is the same plan" for target in _TARGETS),
    _FITS,
)
LEAST_ANSWERED = 0.05
"""Of what is tried in each row, this share is answered at least, and once."""
_KNOWN_JOB = (*_JOBS[1], "--chips", "8", "--batch-tokens", "64Ki", "--axes", "dp,fsdp", "--fix")
KNOWN = (
    ("solve", *_JOBS[0], "--chips", "8", "--batch-tokens", "64Ki", "--axes", "tp,dp",
     "--objective", "energy"),
    ("solve", *_KNOWN_JOB, "sharding=zero1"), ("solve", *_KNOWN_JOB, "sharding=zero3"),
)  # fmt: skip
"""Questions that are answered; of each row one of them is held."""


@dataclass(slots=True)
class Count:
    """How often something was asked, how often nothing was to be held, or it did not hold."""

    tried: int = 0
    refused: int = 0
    faults: int = 0


@dataclass(slots=True)
class Tally:
    """Counts by what is held."""

    told: Callable[[str], None]
    counts: dict[str, Count] = field(default_factory=lambda: {what: Count() for what in ROWS})

    def held(self, what: str, words: tuple[str, ...], wrong: str | None) -> None:
        """Notes one try; `wrong`: what does not hold, empty where all does; None: a refusal."""
        count = self.counts[what]
        count.tried += 1
        count.refused += wrong is None
        if wrong:
            self._fault(what, f"planner {' '.join(words)}: {wrong}")

    def ended(self) -> None:
        """Notes rows in which too little was answered."""
        for what, count in self.counts.items():
            answered = count.tried - count.refused
            if answered < max(1, int(LEAST_ANSWERED * count.tried)):
                self._fault(what, f"{answered} of {count.tried} are answered")

    def _fault(self, what: str, said: str) -> None:
        self.counts[what].faults += 1
        self.told(f"{what}: {said}")


def drawn(chance: Random) -> tuple[str, ...]:
    """A question with a few options."""
    words = [*chance.choice(_JOBS), "--chips", chance.choice(_OPTIONS["--chips"])]
    words += ["--batch-tokens", chance.choice(_OPTIONS["--batch-tokens"])]
    for name in chance.sample([*_OPTIONS][2:], chance.randint(0, 4)):
        words += [name, chance.choice(_OPTIONS[name])]
        if name in _NEEDS and _NEEDS[name][0] not in words:
            words += _NEEDS[name]
    words += [one for one in _SWITCHES if chance.random() < 0.1]
    return ("solve", *words)


def campaign(questions: int, seed: int, told: Callable[[str], None]) -> dict[str, Count]:
    """Asks what is known to have an answer and so many questions, and what else has to hold."""
    tally = Tally(told)
    asked = [*KNOWN, *(drawn(Random(f"{seed} {at}")) for at in range(questions))]
    with tempfile.TemporaryDirectory() as name:
        for at, words in enumerate(asked):
            plan = Path(name) / "plan.yaml"
            plan.unlink(missing_ok=True)
            done = run(*words, "-o", plan, "--json")
            wrong = done.fault() or done.cost(COMMAND_CPU_S)
            if not wrong and words in KNOWN and done.code != 0:
                wrong = f"is to be answered: {done.err}"
            tally.held(_ANSWERS, words, wrong or (None if done.code else ""))
            if done.code == 0 and not done.fault():
                for what, found in _agreements(words, plan, done.document):
                    tally.held(what, words, found)
            if at % _FEASIBLE_EACH == 0:
                tally.held(_FITS, words, _feasible(words))
    tally.ended()
    return tally.counts


def _agreements(
    words: tuple[str, ...], plan: Path, answer: Any
) -> Iterator[tuple[str, str | None]]:
    """What has to hold of an answer; None: a refusal, of which nothing has."""
    best, objective = answer["best"], answer["certificate"]["objective"]
    yield "its plan evaluated alone costs the same", _evaluated(plan, best)
    for what, limit in _tighter(words, best).items():
        done = run(*words, *limit, "--json")
        none = done.code == ExitCode.INFEASIBLE and not _of_objective(what, words)
        yield f"{what} is never better", _not_better(done, objective) or (None if none else "")
    if "--fix" not in words and "--gap" not in words:
        chosen = run(*words, "--fix", f"micro_batch={best['micro_batch']}", "--json")
        yield "asked for the micro-batch that it chose, it is as good", _equal(chosen, objective)
    if not {"--chips-exact", "--layout", "roofline"} & {*words}:  # which refuse a range of chips
        at = words.index("--chips")
        more = (*words[:at], "--chips-at-most", words[at + 1], *words[at + 2 :])
        yield (
            "any number of chips up to it is never worse",
            _not_worse(run(*more, "--json"), objective),
        )
    other = [_UNITS.get(word, word) for word in words]
    yield "other units give the same answer", _equal(run(*other, "--json"), objective, best)
    if (alias := _alias(words)) is not None:
        yield (
            "another name of the model gives the same answer",
            _equal(run(*alias, "--json"), objective, best),
        )
    job = plan.with_name("job.yaml")
    job.write_text(_as_file(words), encoding="utf-8")
    yield (
        "the same question as a job file gives the same answer",
        _equal(run("solve", job, "--json"), objective, best),
    )
    for target in _TARGETS:
        yield (
            f"exported to {target} and read back it is the same plan",
            _back(plan, best, target),
        )


def _of_objective(what: str, words: tuple[str, ...]) -> bool:
    """Whether a limit is one on the objective."""
    at = words.index("--objective") + 1 if "--objective" in words else 0
    return _OF_OBJECTIVE.get(what) == (words[at] if at else "time")


_UNITS = {"32Ki": "32768", "64Ki": "0.0625Mi", "128Ki": "131072", "4Ki": "4096",
          "60GB": "60000MB", "20GB": "2e10", "1MW": "1000kW", "3kW": "3000W", "500W": "0.5kW",
          "10%": "0.1", "1ms": "0.001s", "100": "100s", "1e11": "100e9"}  # fmt: skip


def _evaluated(plan: Path, best: Any) -> str:
    again = run("evaluate", plan, "--json")
    if again.code != 0:
        return f"{again.code}: {again.err}"
    found = again.document
    names = ("step_time_s", "energy_per_step_j", "memory_per_chip_bytes", "mfu")
    apart = [name for name in names if not math.isclose(found[name], best[name], rel_tol=_SAME)]
    return ", ".join(f"{name} {found[name]} and {best[name]}" for name in apart)


def _value(done: Outcome) -> float | None:
    """The objective of an answer; None: there is no plan."""
    if done.code != 0:
        return None
    found = done.document["certificate"]["objective"]
    return None if found is None else float(found)


def _not_better(done: Outcome, objective: float) -> str:
    if fault := _no_answer(done):
        return fault
    value = _value(done)
    return f"{value} < {objective}" if value is not None and value < objective * (1 - _SAME) else ""


def _not_worse(done: Outcome, objective: float) -> str:
    if fault := _no_answer(done):
        return fault
    value = _value(done)
    return (
        "" if value is not None and value <= objective * (1 + _SAME) else f"{value} > {objective}"
    )


def _no_answer(done: Outcome) -> str:
    """Why a question is not answered, of which one like it is; nothing fits is an answer."""
    return "" if done.answered and not done.fault() else f"{done.code}: {done.err}"


def _equal(done: Outcome, objective: float, best: Any = None) -> str:
    if done.code != 0:
        return f"{done.code}: {done.err}"
    same = _value(done) == objective and best in (None, done.document["best"])
    return "" if same else f"{_value(done)} and {objective}"


_OF_PLAN = (
    "micro_batch", "interleave", "sharding", "sequence_parallel", "recompute", "offload", "clock",
)  # fmt: skip
_OF_JOB = ("seq_len", "batch_tokens", "precision", "job")


def said_of(answer: Any, job: Any) -> dict[str, Any]:
    """What a plan and its job say, where it makes a difference, by the names of fields.

    Args:
        answer: A plan in an answer, with what it costs.
        job: The job in an answer.
    """
    mesh = {axis: size for axis, size in answer["mesh"].items() if size > 1}
    order = answer["placement"]["order"]
    return {
        **{axis: mesh.get(axis, 1) for axis in order},
        **{axis: size for axis, size in answer["mesh"].items() if axis not in order},
        **{name: answer[name] for name in _OF_PLAN}, **{name: job[name] for name in _OF_JOB},
        **{name: answer[name] if "pp" in mesh else "" for name in ("schedule", "split")},
        "cp_mode": answer["cp_mode"] if "cp" in mesh else "",
        "placement": [axis for axis in order if axis in mesh],
    }  # fmt: skip


def _back(plan: Path, best: Any, target: str) -> str | None:
    """Written for a framework and read again; None: that cannot run it.

    All that a plan and its job say is held against what is read, but for what the export itself
    calls lost. The length of sequences is given beside a file that does not say it.
    """
    job = run("evaluate", plan, "--json").document["job"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "exported"
        done = run("export", plan, "--to", target, "-o", folder, "--json")
        if done.code != 0:
            return done.fault() or None
        lost = {one["field"] for one in done.document["lossy"]}
        again = run(
            "evaluate", "--from", target, folder / _TARGETS[target], *_machine(plan), "--chips",
            best["chips"], *(("--seq-len", job["seq_len"]) if "seq_len" in lost else ()), "--json",
        )  # fmt: skip
    if again.code != 0:
        return f"{target}: {again.code}: {again.err}"
    found = said_of(again.document, again.document["job"])
    meant = said_of(best, job)
    apart = [name for name in meant if name not in lost and found.get(name) != meant[name]]
    return ", ".join(
        f"{target}: {name} {meant[name]} is read as {found.get(name)}" for name in apart
    )


def _tighter(words: tuple[str, ...], best: Any) -> dict[str, tuple[str, ...]]:
    """Limits that the best plan just does not keep.

    None of a plan on fewer chips than were asked for: that is the answer where none that the usual
    framework runs fits on all, and with one more limit plans of any framework may be the answer.
    """
    if "--runnable-in" not in words and str(best["chips"]) != words[words.index("--chips") + 1]:
        return {}
    limits = (
        ("--max-memory", f"{0.97 * best['memory_per_chip_bytes']:.0f}"),
        ("--max-step-time", repr(0.97 * best["step_time_s"])),
        ("--max-power", f"{0.97 * best['power_per_chip_w'] * best['chips']:.0f}W"),
        ("--layout", "uniform"),
    )
    found = dict(zip(_LIMITS, limits, strict=True))
    return {what: limit for what, limit in found.items() if limit[0] not in words}


def _alias(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """The question with another name of its model; None: it has none."""
    names = {model: alias for alias, model in shipped_aliases().items()}
    found = tuple(names.get(word, word) for word in words)
    return found if found != words else None


def _as_file(words: tuple[str, ...]) -> str:
    """The flags of a question as a job file, as a person writes it."""
    fields = {"clocks": "false"} if "--no-clocks" in words else {}
    for at, word in enumerate(words):
        name = word.removeprefix("--").replace("-", "_")
        if word == "--axes":
            fields[name] = f"[{words[at + 1]}]"
        elif word in ("--fix", "--set"):
            fields[name] = "{" + words[at + 1].replace("=", ": ") + "}"
        elif word in _OPTIONS or word in ("--model", "--hardware"):
            fields[name] = words[at + 1]
        elif word in _SWITCHES and word != "--no-clocks":
            fields[name] = "true"
    return "".join(f"{name}: {text}\n" for name, text in fields.items())


_FEASIBLE_EACH = 4
_JOB_OF_FEASIBLE = ("--model", "--hardware", "--chips", "--batch-tokens", "--framework")


def _feasible(words: tuple[str, ...]) -> str | None:
    """What `planner solve` denies of what `planner feasible` says fits; None: nothing does.

    A plan may fit that is not bound by computing, which the code of `feasible` says too.
    """
    at = [words.index(name) for name in _JOB_OF_FEASIBLE if name in words]
    job = [word for start in at for word in words[start : start + 2]]
    said = run("feasible", *job, "--json")
    if said.code not in (ExitCode.OK, ExitCode.INFEASIBLE) or said.fault():
        return said.fault() or None
    fitting = [row for row in said.document["rows"] if row["fits"]]
    if not fitting:
        return None
    solved = run("solve", *job, "--json")
    if solved.code != 0:
        return f"{fitting[0]['strategy']} fits, and solve says {solved.code}: {solved.err}"
    fastest = min(row["step_time_s"] or math.inf for row in fitting)
    return _not_worse(solved, fastest)


def _machine(plan: Path) -> tuple[str, ...]:
    """The job of a plan file as flags."""
    job = read_yaml(plan)["job"]
    flags = {"model": "--model", "hardware": "--hardware"}
    return tuple(word for name, flag in flags.items() for word in (flag, str(job[name])))
