"""Mutants inside pytest: a plugin that collects the tests once, and tries each mutant in a fork.

First all tests run in a fork whose functions say when they reach the statement of a mutant: so it
is known which tests reach which, and how long each takes. Then each mutant gets a fork of its own,
whose functions have the code of the mutant, and the tests that reach it run, the shortest first,
until one fails. What is no code of a function (constants, defaults, fields) is left to a process of
its own, for which `only` names the tests.
"""

from __future__ import annotations

import ast
import builtins
import gc
import importlib
import inspect
import json
import os
import signal
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import pytest
from hypothesis import settings

PLACE = "PLANNER_MUTANTS"
"""The variable that names the file with the work; what was found goes to the same name + .found."""
SURVIVED, FAILED = 0, 1
_SEEN = "__mutant_seen__"
_HANGS_TIMES = 10.0

Durations = Mapping[str, float]


class UnlikeError(Exception):
    """Modules differ in what is no code of a function."""


@dataclass(frozen=True, slots=True)
class Work:
    """What is to be done.

    Attributes:
        mutants: Each: module, line, text; also those of which nothing is tried.
        seconds: CPU seconds for the tests of one mutant.
        only: Tests that are run where the files hold a mutant already; None: all is done here.
        hangs_s: A test hangs that takes so many CPU seconds more than ten times what it takes.
    """

    mutants: Sequence[Mapping[str, Any]]
    seconds: float
    only: Durations | None = None
    hangs_s: float = 10.0


def chosen(durations: Durations, seconds: float) -> dict[str, float]:
    """The shortest tests, as many as the seconds are enough for, and at least one."""
    left: dict[str, float] = {}
    for name, one in sorted(durations.items(), key=lambda item: item[1]):
        seconds -= one
        if left and seconds < 0:
            break
        left[name] = one
    return left


def pytest_configure() -> None:
    """The same examples of hypothesis each time, however long they take."""
    settings.register_profile("mutants", derandomize=True, deadline=None, database=None)
    settings.load_profile("mutants")


def pytest_runtestloop(session: pytest.Session) -> bool:
    """Tries mutants in place of the tests."""
    place = os.environ[PLACE]
    work = Work(**json.loads(Path(place).read_text(encoding="utf-8")))
    settings.load_profile("mutants")  # also where a conftest loaded another
    items = {item.nodeid: item for item in session.items}
    if work.only is not None:
        os._exit(_outcome(items, work.only, work.hangs_s))
    found = f"{place}.found"
    with open(found, "w", encoding="utf-8") as file:
        for line in _tried(work, items):
            file.write(json.dumps(line) + "\n")
            file.flush()
    return True


def _tried(work: Work, items: Mapping[str, pytest.Item]) -> Iterator[Mapping[str, Any]]:
    for mutant in work.mutants:
        importlib.import_module(_name(mutant["module"]))
    gc.unfreeze()  # the tests freeze what was collected, and nobody could find functions
    functions = [one for one in gc.get_objects() if type(one) is FunctionType]
    changes = [_changes(mutant, functions) for mutant in work.mutants]
    reached = _reached(work, changes, functions, items)
    for at, change in enumerate(changes):
        durations = reached.get(str(at), {})
        told = {"mutant": at, "reached": len(durations), "tests": chosen(durations, work.seconds)}
        if change is None or not durations:
            yield {**told, "code": None}
        else:
            yield {**told, "code": _of_mutant(change, told["tests"], items, work)}


def _name(module: str) -> str:
    return module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


Change = list[tuple[FunctionType, CodeType]]


def _changes(mutant: Mapping[str, Any], functions: Sequence[FunctionType]) -> Change | None:
    """Functions and their code under a mutant; None: it changes something else."""
    text = Path(mutant["module"]).read_text(encoding="utf-8")
    try:
        return swaps(text, compile(mutant["text"], mutant["module"], "exec", dont_inherit=True),
                     mutant["module"], functions)  # fmt: skip
    except UnlikeError:
        return None


def swaps(text: str, new: CodeType, module: str, functions: Sequence[FunctionType]) -> Change:
    """Functions of a module and the code that they have to get to be those of another text.

    Raises:
        UnlikeError: That does not make them so.
    """
    old = compile(text, module, "exec", dont_inherit=True)
    here = [one for one in functions if one.__module__ == _name(module)]
    found: Change = []
    for before, after in _pairs(old, new):
        same = [one for one in here if one.__code__ == before]
        if any(len(one.__closure__ or ()) != len(after.co_freevars) for one in same):
            raise UnlikeError
        found += [(one, after) for one in same]
    if not found:
        raise UnlikeError
    return found


def _pairs(old: CodeType, new: CodeType) -> Iterator[tuple[CodeType, CodeType]]:
    """Codes of functions that differ, the outer ones first."""
    inner, others = _codes(old), _codes(new)
    if old.co_flags & inspect.CO_OPTIMIZED:
        yield old, new
    elif _plain(old) != _plain(new) or len(inner) != len(others):
        raise UnlikeError
    if len(inner) == len(others):
        for one, other in zip(inner, others, strict=True):
            if one != other:
                yield from _pairs(one, other)


def _codes(code: CodeType) -> list[CodeType]:
    return [one for one in code.co_consts if isinstance(one, CodeType)]


def _plain(code: CodeType) -> tuple[Any, ...]:
    consts = [None if isinstance(one, CodeType) else repr(one) for one in code.co_consts]
    return code.co_code, code.co_names, consts


def _reached(
    work: Work, changes: Sequence[Change | None], functions: Sequence[FunctionType],
    items: Mapping[str, pytest.Item],
) -> Mapping[str, Durations]:  # fmt: skip
    """Which tests reach each mutant, with the CPU seconds of each; all of them pass."""
    place = Path(f"{os.environ[PLACE]}.reached")

    def run_all() -> int:
        seen: set[int] = set()
        setattr(builtins, _SEEN, seen.add)
        _instrument(work, changes, functions)
        found: defaultdict[int, dict[str, float]] = defaultdict(dict)
        for name, item in items.items():
            seen.clear()
            started = time.process_time()
            if _passes(item):
                for at in seen:
                    found[at][name] = time.process_time() - started
            else:
                print(f"left out, it fails without a mutant: {name}", file=sys.__stderr__)
        place.write_text(json.dumps(found), encoding="utf-8")
        return 0

    if _forked(run_all, wall_s=None) != 0:
        raise SystemExit("the tests do not run through")
    found: Mapping[str, Durations] = json.loads(place.read_text(encoding="utf-8"))
    return found


def _instrument(
    work: Work, changes: Sequence[Change | None], functions: Sequence[FunctionType]
) -> None:
    """Functions say which mutants they reach."""
    by_module: defaultdict[str, list[int]] = defaultdict(list)
    for at, mutant in enumerate(work.mutants):
        by_module[mutant["module"]].append(at)
    for module, numbers in by_module.items():
        text = Path(module).read_text(encoding="utf-8")
        tree = ast.parse(text)
        for at in numbers:
            mark(tree, at, None if changes[at] is None else work.mutants[at]["line"])
        new = compile(ast.fix_missing_locations(tree), module, "exec", dont_inherit=True)
        for function, code in swaps(text, new, module, functions):
            function.__code__ = code


def mark(tree: ast.Module, at: int, line: int | None) -> None:
    """Has the statement of a line say that it is reached; None: every function of the module."""
    functions = [
        one for one in ast.walk(tree) if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    if line is None:
        for one in functions:
            one.body.insert(0, _call(at, one.body[0]))
        return
    holding = [
        (body, one)
        for function in functions
        for part in function.body
        for node in (function, *ast.walk(part))
        for body in (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
        for one in (body if isinstance(body, list) else ())
        if isinstance(one, ast.stmt) and one.lineno <= line <= (one.end_lineno or one.lineno)
    ]
    if holding:
        body, one = max(holding, key=lambda held: (held[1].lineno, -(held[1].end_lineno or 0)))
        body.insert(body.index(one), _call(at, one))


def _call(at: int, beside: ast.stmt) -> ast.stmt:
    call = ast.Call(ast.Name(_SEEN, ast.Load()), [ast.Constant(at)], [])
    made = ast.copy_location(ast.Expr(call), beside)
    made.end_lineno = made.lineno
    return made


def _of_mutant(
    change: Change, durations: Durations, items: Mapping[str, pytest.Item], work: Work
) -> int:
    """Exit status of a fork with the mutant; negative: the signal that ended it."""

    def run_chosen() -> int:
        for function, code in change:
            function.__code__ = code
        return _outcome(items, durations, work.hangs_s)

    return _forked(run_chosen, wall_s=60 + 20 * work.seconds)


def _outcome(items: Mapping[str, pytest.Item], durations: Durations, hangs_s: float) -> int:
    """Runs tests until one fails; one that hangs ends the process."""
    for name, seconds in durations.items():
        signal.setitimer(signal.ITIMER_PROF, hangs_s + _HANGS_TIMES * seconds)
        if name not in items or not _passes(items[name]):
            return FAILED
    return SURVIVED


def _passes(item: pytest.Item) -> bool:
    from _pytest.runner import runtestprotocol  # noqa: PLC0415  (only inside pytest)

    return not any(report.failed for report in runtestprotocol(item, log=False, nextitem=None))


def _forked(work: Callable[[], int], wall_s: float | None) -> int:
    """What a fork of this process ends with; beyond the seconds it is killed."""
    sys.stdout.flush()
    child = os.fork()
    if not child:
        code = 3
        try:
            code = work()
        finally:
            os._exit(code)
    ends = None if wall_s is None else time.monotonic() + wall_s
    while True:
        done, status = os.waitpid(child, 0 if ends is None else os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if ends is not None and time.monotonic() > ends:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.02)
