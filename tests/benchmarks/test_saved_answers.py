"""The saved answers: that the comparison can fail, that they cover the planner, and a few asked."""

import contextlib
import functools
import importlib
import json
import operator
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from cli.command import planner as command
from support.cases import each
from support.engines import BENCHMARKS

import planner

SAVED = BENCHMARKS.parent / "tests" / "answers"
MOST_BYTES = 3_000_000
CODE = {".py", ".pyc"}  # the tests that stand beside the saved files
QUICK = (
    "infeasible/axes", "infeasible/batch", "job/fp32", "error/objective and front",
    "error/job file, a key twice", "evaluate/experts", "export/megatron-bridge",
    "collective/bounds of a switch", "rack/topology of a graph", "schema/plan with its job",
    "python/evaluate", "uneven/infeasible, target",
)  # fmt: skip


@pytest.fixture(autouse=True)
def forgotten() -> Iterator[None]:
    """Modules of the saved answers are found through the folder of benchmarks alone."""
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "answering"]:
        del sys.modules[name]


def answering(name: str) -> ModuleType:
    return importlib.import_module(f"answering.{name}")


def questions() -> list[Any]:
    found: list[Any] = answering("questions").read_questions()
    return found


def saved() -> Any:
    return answering("kept").read_answers(SAVED, {question.group for question in questions()})


def compared(before: Any, after: Any) -> Any:
    found = answering("comparing").Comparison()
    found.question("q", before, after)
    return found


def ran(*arguments: str) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, str(BENCHMARKS / "answers.py"), *arguments]
    return subprocess.run(program, check=False, capture_output=True, text=True)


def test_there_are_enough_and_each_has_an_answer() -> None:
    names = [question.name for question in questions()]
    assert len(names) >= 120
    assert set(names) == set(saved())


def test_the_files_are_small() -> None:
    kept = [path for path in SAVED.rglob("*") if path.is_file() and path.suffix not in CODE]
    assert sum(path.stat().st_size for path in kept) < MOST_BYTES


def test_no_question_failed_when_it_was_saved() -> None:
    assert [
        name for name, steps in saved().items() if any(step["code"] < 0 for step in steps)
    ] == []


def test_no_path_of_a_machine_is_kept() -> None:
    texts = [path.read_text(encoding="utf-8") for path in SAVED.glob("*.jsonl")]
    texts.append((SAVED / "prose.txt").read_text(encoding="utf-8"))
    folders = [f"{folder}/" for folder in (tempfile.gettempdir(), Path.home(), SAVED.parents[1])]
    assert not [word for text in texts for word in folders if word in text]


def test_a_few_answers_are_those_of_today() -> None:
    flags = [word for name in QUICK for word in ("--only", name)]
    outcome = ran("compare", "--quiet", *flags)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    assert f"{len(QUICK)} questions" in outcome.stdout


def test_a_changed_answer_is_named(tmp_path: Path) -> None:
    """The whole way: a saved number is another, and one line says which."""
    for path in SAVED.glob("infeasible.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    path = tmp_path / "infeasible.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for line in lines:
        if line["name"] == "infeasible/batch":
            line["steps"][0]["code"] = 2
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    outcome = ran("compare", "--quiet", "--only", "infeasible/batch", "--answers", str(tmp_path))
    assert outcome.returncode == 1
    assert outcome.stdout.splitlines()[0] == "infeasible/batch: code: saved 2, now 3"


def changed(value: Any) -> Any:
    """Another value of the same type."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, float):
        return value * (1 + 1e-11) if value else 1e-300
    if isinstance(value, int):
        return value + 1
    return f"{value}x" if isinstance(value, str) else 0


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        if isinstance(item, dict | list):
            yield from leaves(item, (*path, key))
        else:
            yield (*path, key)


@contextlib.contextmanager
def with_change(document: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    """The document with another value at a path, for a while."""
    at = functools.reduce(operator.getitem, path[:-1], document)
    before = at[path[-1]]
    at[path[-1]] = changed(before)
    yield document
    at[path[-1]] = before


@each("name", ["objective/edp", "uneven/energy", "evaluate/pools", "error/job file, values"])
def test_a_change_of_any_value_is_seen(name: str) -> None:
    """One difference for each value but names of plans, which are listed as other plans."""
    steps, other = saved()[name], saved()[name]
    paths = list(leaves(steps))
    for path in paths:
        with with_change(other, path):
            found = compared(steps, other)
        listed = "plan" in (path[-1], *path[2:3])
        assert len(found.others if listed else found.differences) == 1, path
    assert compared(steps, other).differences == []
    names = sum(path[-1] == "plan" for path in paths)
    assert compared(steps, other).values == len(paths) - names > 0


@each("part", ["plan", "cost"])
def test_a_part_that_is_missing_is_seen(part: str) -> None:
    steps = saved()["objective/edp"]
    copy = json.loads(json.dumps(steps))
    del copy[0]["answer"][part]
    assert compared(steps, copy).differences
    assert compared(copy, steps).differences


def test_another_plan_of_equal_objective_is_listed_and_a_worse_one_is_a_difference() -> None:
    steps, other = saved()["objective/edp"], saved()["objective/edp"]
    answer = other[0]["answer"]
    answer["plan"]["micro_batch"] *= 2
    answer["cost"]["memory_per_chip_bytes"] *= 2
    found = compared(steps, other)
    assert (found.differences, len(found.others)) == ([], 1)
    answer["objective"] *= 1 + 1e-9
    assert compared(steps, other).differences


def test_rounding_is_no_difference() -> None:
    steps = [{"code": 0, "answer": {"a": 1.0, "b": 3}}]
    assert not compared(steps, [{"code": 0, "answer": {"a": 1.0 + 1e-13, "b": 3.0}}]).differences
    assert compared(steps, [{"code": 0, "answer": {"a": 1.0 + 2e-12, "b": 3}}]).differences
    assert compared(steps, [{"code": 0, "answer": {"a": True, "b": 3}}]).differences


def test_prose_is_compared_byte_by_byte() -> None:
    prose_differences = answering("comparing").prose_differences
    assert prose_differences("q", "a\nb\nc", "a\nb\nc") == []
    (found,) = prose_differences("q", "a\nb\nc", "a\nb \nc")
    assert str(found) == "q: text, line 2: saved b, now b "
    assert prose_differences("q", "a\n", "a")


@each(
    ("message", "place"),
    [
        ("job.yaml: chips: 'x' is not a number", {"file": "job.yaml", "field": "chips"}),
        ("a.yaml: line 3: the key 'n' occurs twice", {"file": "a.yaml", "line": 3}),
        ("r.csv line 2 ('a'): step_time_s: 0: must be more",
         {"file": "r.csv", "line": 2, "field": "step_time_s"}),
        ("p.yaml: plan.stages.0.layer: unknown field",
         {"file": "p.yaml", "field": "plan.stages.0.layer"}),
        ("chips: is missing; e.g. --chips 4096", {"field": "chips"}),
        ("No such option: --bogus", {}),
    ],
)  # fmt: skip
def test_places_of_messages(message: str, place: dict[str, Any]) -> None:
    assert answering("errors").place_of(f"error: {message}") == place


def asked() -> str:
    """All that the questions say, in one text."""
    return "\n".join(path.read_text(encoding="utf-8") for path in SAVED.glob("*.toml"))


def allowed(*words: str) -> list[str]:
    """The values that a flag may have, from the message about a value that it may not have."""
    (line,) = command(*words).mistakes
    listed = line.partition(" is not one of ")[2]
    assert listed, line
    names = listed.split(";")[0].split(", ")
    return [name for name in names if not name.startswith("nor ")]


JOB = ("solve", "--model", "gpt3-125m", "--chips", "8")


@each(
    ("flag", "command_line"),
    [
        ("--objective", (*JOB, "--objective", "?")),
        ("--framework", (*JOB, "--framework", "?")),
        ("--precision", (*JOB, "--precision", "?")),
        ("--job", (*JOB, "--job", "?")),
        ("--placement", (*JOB, "--placement", "?")),
        ("--assumptions", (*JOB, "--assumptions", "?")),
        ("--collectives", (*JOB, "--collectives", "?")),
        ("--runnable-in", (*JOB, "--runnable-in", "?")),
        ("--to", ("export", "gpu.yaml", "--to", "?")),
        ("--from", ("evaluate", "gpu.yaml", "--from", "?")),
        ("--fix schedule=", (*JOB, "--fix", "schedule=?")),
        ("--collective", ("collective", "bounds", "--topology", "ring:4", "--collective", "?")),
    ],
)  # fmt: skip
def test_every_value_of_a_flag_is_asked(flag: str, command_line: tuple[str, ...]) -> None:
    text = asked()
    defaults = {"pretrain", "framework", "calibrated", "nccl", "bf16", "int8"}
    separator = "" if flag.endswith("=") else " "
    names = [name for name in allowed(*command_line) if name not in defaults]
    assert names
    assert [name for name in names if f"{flag}{separator}{name}" not in text] == []


def test_every_command_is_asked() -> None:
    kinds = {step.kind for question in questions() for step in question.steps}
    for group in ("", "rack", "collective", "models", "hardware", "sweep"):
        out = command(*group.split(), "--help").out
        listed = out.partition("Commands")[2].splitlines()
        names = [line.split()[1] for line in listed if line.startswith("│ ") and line[2] != " "]
        assert names
        groups = {"rack", "collective", "models", "hardware", "sweep"} if not group else set()
        assert {f"{group} {name}".strip() for name in names} - groups <= kinds, group


def test_every_public_function_is_called() -> None:
    functions = {name for name in planner.__all__ if name[0].islower()}
    calls = {step.call for question in questions() for step in question.steps}
    assert functions <= calls
