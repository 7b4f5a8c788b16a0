"""`campaigns.mutants`: which mutants of a small module its tests notice."""

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
MODULE = """
LIMIT = 3


def limited(x, *, most=5):
    if x > most:
        return most
    return x


class Counter:
    def counted(self, words):
        found = 0
        while words > 0:
            words -= 1
            found += 1
        return found


def above(x):
    return x > LIMIT
"""
TESTS = """
from small import Counter, above, limited


def test_limited():
    assert limited(9) == 5


def test_counted():
    assert Counter().counted(2) == 2


def test_above():
    assert above(4) and not above(2)
"""
MUTANTS = {  # text, its replacement, and what is found: exit status, and tests that reach it
    "another result": ("return most", "return x", 1, 1),
    "nobody looks": ("x > most", "x >= most", 0, 1),
    "not reached": ("    return x\n\n\nclass", "    return -x\n\n\nclass", None, 0),
    "a loop without end": ("words -= 1", "words += 1", -27, 1),
    "a constant": ("LIMIT = 3", "LIMIT = 4", None, 3),
    "a default": ("most=5", "most=6", None, 3),
}


def tried(folder: Path, mutants: list[dict[str, Any]], only: dict[str, float] | None = None) -> int:
    work = {"mutants": mutants, "seconds": 5, "only": only, "hangs_s": 1}
    (folder / "work.json").write_text(json.dumps(work), encoding="utf-8")
    env = {**os.environ, "PLANNER_MUTANTS": str(folder / "work.json"),
           "PYTHONPATH": os.pathsep.join((str(folder), str(BENCHMARKS)))}  # fmt: skip
    words = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "campaigns.mutants", "-c",
             os.devnull, "--rootdir", str(folder), "test_small.py")  # fmt: skip
    return subprocess.run(
        (sys.executable, *words), cwd=folder, env=env, check=False, stdout=subprocess.DEVNULL
    ).returncode


def test_what_tests_notice(tmp_path: Path) -> None:
    (tmp_path / "small.py").write_text(MODULE, encoding="utf-8")
    (tmp_path / "test_small.py").write_text(TESTS, encoding="utf-8")
    mutants = [
        {"module": "small.py", "line": MODULE[: MODULE.index(old.strip())].count("\n") + 1,
         "text": MODULE.replace(old, new)}
        for old, new, *_ in MUTANTS.values()
    ]  # fmt: skip
    tried(tmp_path, mutants)
    lines = (tmp_path / "work.json.found").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line) for line in lines]
    assert {name: (line["code"], line["reached"])
            for name, line in zip(MUTANTS, found, strict=True)} == {
        name: (code, reached) for name, (*_, code, reached) in MUTANTS.items()}  # fmt: skip
    (tmp_path / "small.py").write_text(mutants[4]["text"], encoding="utf-8")
    assert tried(tmp_path, [], only=found[4]["tests"]) == 1


def test_the_statement_of_a_line_says_that_it_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    from campaigns import mutants  # noqa: PLC0415  (found through the folder of benchmarks)

    tree = ast.parse(MODULE)
    for at, line in enumerate((6, 14, 16, 21)):
        mutants.mark(tree, at, line)
    mutants.mark(tree, 7, None)
    lines = [line.strip() for line in ast.unparse(tree).splitlines()]
    for at, before in enumerate(("if x > most:", "while words > 0:", "found += 1",
                                 "return x > LIMIT")):  # fmt: skip
        assert lines[lines.index(f"__mutant_seen__({at})") + 1] == before
    assert lines.count("__mutant_seen__(7)") == 3
    assert mutants.chosen({"a": 9.0, "b": 1.0, "c": 3.0}, 4.0) == {"b": 1.0, "c": 3.0}
    assert mutants.chosen({"a": 9.0}, 4.0) == {"a": 9.0}
