"""How many default answers are written for the target that they name, of pairs that are drawn.

A pair is a model and a chip or cluster of the databases, on 8, 64 or 512 chips. They are drawn with
a seed, as many of each kind of model (dense below and above 20 G parameters, experts), of each
kind of chip (NVIDIA, AMD, TPU, others) and of each number of chips. Each is what a user does:

    planner solve --model M --hardware H --chips N -o plan.yaml
    planner export plan.yaml --to TARGET            where the answer names a target

Counted are pairs without a plan (with the reason of the answer), pairs of which the answer says
that no target runs them, exports, and refusals that the answer did not announce: there must be
none. `--into FOLDER` keeps the exports. `--megatron CHECKOUT`, with `--python` of an environment
with torch, asks Megatron-LM's own parser and checks about each launch that is written for it, as
the oracle tests do; `--maxtext CHECKOUT`, with `--maxtext-python`, MaxText's own configuration.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import measuring
from measuring import Cell, Report, Table

import planner
from hardware_db import list_chips, list_clusters, load_cluster
from models_db import list_models, load_model
from planner.answers.exported import export_file
from planner.base.errors import InputError
from planner.frameworks.jax.slices import slice_mesh
from planner.question.files.plan_text import plan_text
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.results.result import SolveResult

_PROGRAMS = Path(__file__).parents[1] / "tests/frameworks/export"
CHECKER, PARSER = _PROGRAMS / "megatron_checker.py", _PROGRAMS / "maxtext_parser.py"
COUNTS = (8, 64, 512)
LARGE = 20e9
VENDORS = {"NVIDIA": "NVIDIA", "AMD": "AMD", "Google": "TPU"}
Pair = tuple[str, str, int]


def kinds_of_models() -> dict[str, list[str]]:
    """Names of models by kind."""
    found: dict[str, list[str]] = {"dense, small": [], "dense, large": [], "experts": []}
    for name in list_models():
        model = load_model(name)
        size = "dense, large" if model.total_parameters > LARGE else "dense, small"
        found["experts" if model.moe is not None else size].append(name)
    return found


def kinds_of_chips() -> dict[str, list[str]]:
    """Names of clusters and chips by kind."""
    found: dict[str, list[str]] = {}
    for name in (*list_clusters(), *list_chips()):
        try:
            chip = load_cluster(name).chip
        except InputError:  # a chip without a network of its own
            continue
        found.setdefault(VENDORS.get(chip.vendor, "others"), []).append(name)
    return found


def drawn(count: int, seed: int) -> list[Pair]:
    """Pairs, as many of every kind but for a remainder."""
    rng = random.Random(seed)
    models, chips = kinds_of_models(), kinds_of_chips()
    strata = [(m, c, n) for m in models for c in chips for n in COUNTS]
    rng.shuffle(strata)
    at = [strata[number % len(strata)] for number in range(count)]
    return [(rng.choice(models[m]), rng.choice(chips[c]), n) for m, c, n in at]


Launch = dict[str, Any]


def exported(answer: SolveResult, fields: dict[str, Any], folder: Path) -> Launch:
    """What was written; the plan goes through its file, as a user's does.

    Raises:
        InputError: It is refused.
    """
    best, (target,) = answer.require(), answer.notes.runs_in
    resolved = resolve(request_from({**fields, "chips": best.chips}))
    plan = folder / "plan.yaml"
    plan.write_text(plan_text(resolved, best.plan, []), encoding="utf-8")
    export = export_file(plan, target).export
    texts = {file.name: file.text for file in export.files}
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")
    return {
        "pair": fields,
        "target": target,
        "args": shlex.split(texts.get("args.txt", "")),
        "text": texts.get("maxtext.yml", ""),
        "slices": slice_mesh(resolved.cost, best.plan).slices if target == "maxtext" else 1,
        "world": best.chips,
        "environment": dict(export.environment),
        "hopper": not resolved.cost.chip.architecture.startswith("Blackwell"),
    }


def refused_by_megatron(launches: list[Launch], checkout: str, python: str) -> list[str]:
    """What Megatron-LM's own parser and checks refuse of launches, a line each."""
    done = subprocess.run(
        [python, str(CHECKER), checkout],
        input=json.dumps(launches), capture_output=True, text=True, check=True,
    )  # fmt: skip
    answers = zip(launches, json.loads(done.stdout), strict=True)
    return [f"{one['pair']}: {said['why']}" for one, said in answers if not said["accepted"]]


def refused_by_maxtext(launches: list[Launch], checkout: str, python: str) -> list[str]:
    """What MaxText's own configuration refuses of launches, a line each."""
    asked = [
        {"text": one["text"], "devices": one["world"], "slices": one["slices"]} for one in launches
    ]
    done = subprocess.run(
        [python, str(PARSER)],
        input=json.dumps(asked), capture_output=True, text=True, check=True,
        env={**os.environ, "PYTHONPATH": str(Path(checkout, "src")), "JAX_PLATFORMS": "cpu"},
    )  # fmt: skip
    answers = zip(launches, json.loads(done.stdout), strict=True)
    return [f"{one['pair']}: {said['error']}" for one, said in answers if "error" in said]


Asking = Callable[[list[Launch]], list[str]]


def outcomes(
    pairs: list[Pair], into: Path, launches: list[Launch]
) -> Iterator[tuple[str, str, str]]:
    """(outcome, target, line) of every pair; `launches` grows by what is written."""
    for number, (model, hardware, chips) in enumerate(pairs):
        fields: dict[str, Any] = {"model": model, "hardware": hardware, "chips": chips}
        try:
            answer = planner.solve(**fields)
        except InputError as error:  # a cluster that has no so many chips
            yield "not a question", "", str(error).split("\n")[0]
            continue
        if answer.best is None:
            why = answer.diagnosis.constraint if answer.diagnosis else answer.status
            yield "no plan fits", "", why
            continue
        if not answer.notes.runs_in:
            yield "announced: no target", "", answer.notes.caveats[0].split(":")[0]
            continue
        folder = into / f"{number}-{model}-{hardware}-{chips}"
        folder.mkdir(parents=True)
        try:
            launches.append(exported(answer, fields, folder))
            yield "written", launches[-1]["target"], ""
        except InputError as error:
            yield "REFUSED", answer.notes.runs_in[0], f"{fields}: {error}"


def report(pairs: list[Pair], seed: int, into: Path, asking: Mapping[str, Asking]) -> Report:
    """The counts, and what frameworks themselves say, by the target that is theirs."""
    launches: list[Launch] = []
    found = list(outcomes(pairs, into, launches))
    counts = Counter((outcome, target) for outcome, target, _ in found)
    rows: list[dict[str, Cell]] = [
        {"outcome": outcome, "target": target, "pairs": number}
        for (outcome, target), number in sorted(counts.items())
    ]
    reasons = Counter((outcome, line) for outcome, _, line in found if line)
    whys: list[dict[str, Cell]] = [
        {"outcome": outcome, "what the answer says": line, "pairs": number}
        for (outcome, line), number in reasons.most_common(12)
    ]
    refused = sum(outcome == "REFUSED" for outcome, _, _ in found)
    made = Report(
        name="default_exports",
        tables=[
            Table(title=f"{len(pairs):,} pairs of seed {seed}", rows=rows),
            Table(title="what the answers say", rows=whys),
        ],
        notes=[f"{refused:,} refusals that the answer did not announce."],
        facts={"refused": refused},
    )
    for target, refused_of in asking.items():
        own = [one for one in launches if one["target"] == target]
        lines = refused_of(own)
        made.notes.append(f"The parser and checks of {target} itself accept "
                          f"{len(own) - len(lines):,} of {len(own):,} launches.")  # fmt: skip
        made.notes += lines
        made.facts["refused"] += len(lines)
    return made


def main() -> None:
    """Draws, asks and prints; exit status 1 where an export was refused."""
    made = measuring.parser(__doc__, quick=True)
    made.add_argument("--pairs", type=measuring.positive, default=1000)
    made.add_argument("--seed", type=int, default=23)
    made.add_argument("--into", type=Path, help="folder for the files, kept")
    made.add_argument("--megatron", help="a checkout of Megatron-LM at the version of the exports")
    made.add_argument("--python", default=sys.executable, help="a Python with torch")
    made.add_argument("--maxtext", help="a checkout of MaxText at the version of the exports")
    made.add_argument("--maxtext-python", default=sys.executable, help="a Python with jax")
    options = made.parse_args()
    pairs = drawn(6 if options.quick else options.pairs, options.seed)
    with tempfile.TemporaryDirectory() as folder:
        into = options.into or Path(folder)
        asking: dict[str, Asking] = {}
        if options.megatron:
            asking["megatron"] = lambda own: refused_by_megatron(
                own, options.megatron, options.python
            )
        if options.maxtext:
            asking["maxtext"] = lambda own: refused_by_maxtext(
                own, options.maxtext, options.maxtext_python
            )
        result = report(pairs, options.seed, into, asking)
    measuring.show(result, options)
    measuring.require(not result.facts["refused"], "some were refused")


if __name__ == "__main__":
    main()
