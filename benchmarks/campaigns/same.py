"""Same answer: commands in processes that differ in what may not change what they say.

Where no kernel of the processor changes, documents are equal byte by byte but for what a run took;
else numbers may differ by 1e-12 of themselves.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from campaigns import samples
from campaigns.readers import FILES, FORMATS

Told = Callable[[str], None]
ROOT = Path(__file__).resolve().parents[2]
_SMALL = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")
QUESTIONS: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "solve": (("solve", "--model", "llama2-13b", "--chips", "64"),),
    "solve, experts": (("solve", "--model", "mixtral-8x7b", "--hardware", "h200-sxm5-141",
                        "--chips", "32", "--objective", "energy"),),
    "solve, stages": (("solve", *_SMALL, "--layout", "uneven", "--axes", "dp,pp"),),
    "explain": (("explain", "PLAN"),),
    "feasible": (("feasible", *_SMALL),),
    "fleet": (("fleet", "FLEET"),),
    "collective synthesize": (("collective", "synthesize", "--topology", "ring:4"),),
    "rack topology": (("rack", "topology", "ring:8", "mesh:2x4"),),
    "rack solve": (("rack", "solve", "--gpus", "4", "--topology", "ring"),),
    "sweep": (("sweep", "run", "STUDY", "--output", "s.db", "WORKERS"),
              ("sweep", "table", "s.db")),
}  # fmt: skip
"""Commands by name, all of which are to be answered; the document of the last one is compared."""
_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS")
_USUAL = {"PYTHONHASHSEED": "0", **dict.fromkeys(_THREADS, "1")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way to run a command.

    Attributes:
        environment: Beside the usual.
        workers: Processes of a study.
        near: Whether numbers may differ in their last digits.
        python: Another Python, with versions of the dependencies of its own.
    """

    environment: Mapping[str, str]
    workers: int = 1
    near: bool = False
    python: Path | None = None


WAYS: Mapping[str, tuple[Way, ...]] = {
    "the same again": (Way(environment={}),),
    "PYTHONHASHSEED 1, 2, 12345, random": tuple(
        Way(environment={"PYTHONHASHSEED": seed}) for seed in ("1", "2", "12345", "random")),
    "2 and 4 threads of the numerical libraries": tuple(
        Way(environment=dict.fromkeys(_THREADS, number)) for number in ("2", "4")),
    "2 and 3 workers": (Way(environment={}, workers=2), Way(environment={}, workers=3)),
    "kernels of older processors": (
        Way(environment={"OPENBLAS_CORETYPE": "Haswell",
                         "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX"}, near=True),
        Way(environment={"OPENBLAS_CORETYPE": "Prescott",
                         "NPY_DISABLE_CPU_FEATURES": "AVX512F AVX512_SKX AVX2 FMA3"}, near=True),
    ),
}  # fmt: skip
RUN_DATA = frozenset({"seconds", "digest"})
"""How long a search took, and the digest of a document, which holds that too."""
SAME = 1e-12
_EXIT_CODE = "exit code"
"""A field of what no command answers."""


@dataclass(slots=True)
class Count:
    """How often a way was tried."""

    tried: int = 0
    byte_equal: int = 0
    near: int = 0
    faults: int = 0


def campaign(
    told: Told, only: str = "", pythons: Sequence[Path] = ()
) -> Iterator[tuple[str, Count]]:
    """Every command in every way against the usual one.

    Args:
        told: Called with a line for each fault.
        only: Part of the names of commands.
        pythons: Others, in which everything that planner needs is installed: these alone.
    """
    others = {_versions(one): (Way(environment={}, near=True, python=one),) for one in pythons}
    questions = {name: words for name, words in QUESTIONS.items() if only in name}
    usual = {name: answered(words, Way(environment={})) for name, words in questions.items()}
    for name in [name for name, found in usual.items() if _EXIT_CODE in found]:
        told(f"{name}: no answer as usual: {usual[name]}")
    for title, ways in (others or WAYS).items():
        count = Count()
        for way in ways:
            for name, words in questions.items():
                if way.workers > 1 and not any("WORKERS" in one for one in words):
                    continue
                count.tried += 1
                found, kept = answered(words, way), usual[name]
                if _EXIT_CODE in kept:  # there is nothing to hold it against
                    count.faults += 1
                elif json.dumps(found) == json.dumps(kept):
                    count.byte_equal += 1
                elif way.near and not (apart := different(kept, found)):
                    count.near += 1
                else:
                    count.faults += 1
                    apart = different(kept, found, 0.0) or "the order of fields differs"
                    told(f"{name}, {title}, {dict(way.environment)}: {apart}")
        yield title, count


def _versions(python: Path) -> str:
    """Which Python it is, and the dependencies whose versions may change a number."""
    names = ("numpy", "scipy", "ortools", "networkx", "pydantic")
    text = f"""
import platform
from importlib.metadata import version
print("Python", platform.python_version(), *(f", {{n}} {{version(n)}}" for n in {names}), sep=" ")
"""
    done = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True)
    return done.stdout.strip().replace(" ,", ",")


def answered(commands: tuple[tuple[str, ...], ...], way: Way) -> Any:
    """What the last of some commands answers, without the data of its run; or which is refused."""
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("study.yaml", samples.STUDY),
                              ("plan.yaml", (FORMATS / "plan-1.yaml").read_bytes()),
                              ("fleet.yaml", (FILES / "fleet.yaml").read_bytes())):  # fmt: skip
            (Path(folder) / name).write_bytes(content)
        files = {"PLAN": "plan.yaml", "FLEET": "fleet.yaml", "STUDY": "study.yaml",
                 "WORKERS": f"--workers={way.workers}"}  # fmt: skip
        done = None
        for words in commands:
            here = sys.path if way.python is None else [ROOT]
            path = os.pathsep.join(filter(None, map(os.path.abspath, here)))
            done = subprocess.run(
                [way.python or sys.executable, "-m", "planner",
                 *(files.get(word, word) for word in words), "--json"],
                cwd=folder, env={**os.environ, **_USUAL, **way.environment, "PYTHONPATH": path},
                capture_output=True, text=True, check=False, timeout=600,
            )  # fmt: skip
            if done.returncode:
                return {_EXIT_CODE: done.returncode, "said": done.stderr}
        assert done is not None
        return without_run(json.loads(done.stdout))


def without_run(tree: Any) -> Any:
    """A document without what a run took."""
    if isinstance(tree, dict):
        return {key: without_run(value) for key, value in tree.items() if key not in RUN_DATA}
    return [*map(without_run, tree)] if isinstance(tree, list) else tree


def different(one: Any, other: Any, tolerance: float = SAME, path: str = "") -> str:
    """The first place where two documents differ by more than a share; empty: none."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        parts = [(f"{path}.{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        parts = [(f"{path}[{at}]", a, b) for at, (a, b) in enumerate(zip(one, other, strict=True))]
    else:
        return "" if _equal(one, other, tolerance) else f"{path}: {one!r:.200} and {other!r:.200}"
    return next((found for at, a, b in parts if (found := different(a, b, tolerance, at))), "")


def _equal(one: Any, other: Any, tolerance: float) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=tolerance)
    return type(one) is type(other) and bool(one == other)
