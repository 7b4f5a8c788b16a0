"""Certificates with one thing altered, each of which a check has to refuse.

An alteration takes a certificate (a copy of its own) and a random generator, and makes its claim,
its tree, its counts or its question another one. All but those of the seal seal it again, as one
would who wants to pass it off.
"""

from __future__ import annotations

import contextlib
import copy
import random
from collections.abc import Callable
from typing import Any

from planner.base.errors import InputError
from planner.base.vocabulary import PER_OPERATION
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.verification.asked import fingerprints
from planner.verification.document import sealed

Document = dict[str, Any]
Alteration = Callable[[Document, random.Random], None]
_DIGITS = "0123456789abcdef"


def altered(document: Document, name: str, rng: random.Random) -> Document:
    """A certificate with one of `ALTERATIONS`, which it can have."""
    changed = copy.deepcopy(document)
    ALTERATIONS[name](changed, rng)
    assert changed != document, name
    return changed if name in _OF_SEAL else sealed(changed)


def possible(document: Document) -> list[str]:
    """The alterations that a certificate can have."""
    parts = {
        "a bound of a node": document["nodes"]["closed"],
        "a bound of a plan": document["plans"]["closed"],
        "a missing closed node": document["nodes"]["closed"],
        "a closed node called searched": document["nodes"]["closed"],
        "another recomputation under a bound": document["nodes"]["closed"],
        "a missing plan": document["plans"]["costed"],
        "a costed plan called closed": document["plans"]["costed"],
        "an altered plan": document["plans"]["costed"],
        "a node twice": document["nodes"]["searched"],
        "an altered node": document["nodes"]["searched"],
        "a mesh said to have no memory": document["nodes"]["searched"],
        "a missing point of the front": document["front"],
        "an altered point of the front": document["front"],
        "figures of a point": document["front"],
        "an incumbent of another plan": document["front"],
        "an incumbent of other figures": document["front"],
        "another claim": document["front"],
        "a node left out, counted anew": document["nodes"]["searched"],
        "a mesh left out for memory, counted anew": document["nodes"]["searched"],
        "a hidden best plan, claimed anew": document["front"][1:],
    }
    return [name for name in ALTERATIONS if parts.get(name, True)]


def off(value: float, rng: random.Random) -> float:
    """Another number, by a millionth up to half."""
    share = 10 ** rng.uniform(-6, -0.3)
    return value * (1 + share if rng.random() < 0.5 else 1 - share)


def _bound(rows: list[list[Any]], rng: random.Random) -> None:
    row = rng.choice(rows)
    at = rng.choice((-1, -2))
    row[at] = off(row[at], rng)


def _drop(rows: list[Any], rng: random.Random) -> Any:
    return rows.pop(rng.randrange(len(rows)))


def _other(value: Any, values: list[Any], rng: random.Random) -> Any:
    return rng.choice([one for one in values if one != value])


def _count(document: Document, rng: random.Random) -> None:
    stages = [stage for stage in document["counts"].values() if stage]
    stage = rng.choice(stages)
    name = rng.choice(sorted(stage))
    stage[name] += rng.choice((-1, 1, 7))


def _invented_count(document: Document, rng: random.Random) -> None:
    """A count of a stage, or by a rule, that there is not."""
    counts, number = document["counts"], rng.randrange(1, 10**4)
    if rng.random() < 0.5:
        name = rng.choice(("candidates", "nodes", "costed", "rows"))
        counts[name] = {"considered": number, "kept": number}
    else:
        counts[rng.choice(sorted(counts))]["invented"] = number


def _called_searched(document: Document, rng: random.Random) -> None:
    row = _drop(document["nodes"]["closed"], rng)
    document["nodes"]["searched"].append(row[:10])


def _recompute(document: Document, rng: random.Random) -> None:
    row = rng.choice(document["nodes"]["closed"])
    row[10] = _other(row[10], ["none", "full"], rng)


def _called_closed(document: Document, rng: random.Random) -> None:
    row, point = _drop(document["plans"]["costed"], rng), rng.choice(document["front"] or [_NONE])
    document["plans"]["closed"].append([*row, 1.5 * point["step_time_s"], 1.5 * point["energy_j"]])


_NONE = {"step_time_s": 1e9, "energy_j": 1e12}


def _plan(document: Document, rng: random.Random) -> None:
    row = rng.choice(document["plans"]["costed"])
    row[1] = _other(row[1], ["ddp", "zero1", "zero2", "zero3"], rng)


def _twice(document: Document, rng: random.Random) -> None:
    rows = document["nodes"]["searched"]
    rows.append(list(rng.choice(rows)))


def _node(document: Document, rng: random.Random) -> None:
    row = rng.choice(document["nodes"]["searched"])
    row[rng.choice((0, 2, 3, 6))] *= 2


def _no_memory(document: Document, rng: random.Random) -> None:
    nodes = document["nodes"]
    mesh = rng.choice(nodes["searched"])[:6]
    nodes["no_memory"].append(mesh)
    nodes["closed"] = [row for row in nodes["closed"] if row[:6] != mesh]
    document["counts"]["meshes"]["memory"] = len(nodes["no_memory"])


def _without(document: Document, lost: set[int]) -> None:
    """Takes searched nodes away, by number, with their plans."""
    kept = [at for at in range(len(document["nodes"]["searched"])) if at not in lost]
    place = {at: number for number, at in enumerate(kept)}
    document["nodes"]["searched"] = [document["nodes"]["searched"][at] for at in kept]
    for name, rows in document["plans"].items():
        document["plans"][name] = [[place[row[0]], *row[1:]] for row in rows if row[0] in place]
    for name in ("considered", "opened"):
        document["counts"]["partial_plans"][name] -= len(lost)


def _left_out(document: Document, rng: random.Random) -> None:
    _without(document, {rng.randrange(len(document["nodes"]["searched"]))})


def _mesh_left_out(document: Document, rng: random.Random) -> None:
    """As `_no_memory`, and whatever was said of the mesh elsewhere is mended."""
    nodes, counts = document["nodes"], document["counts"]
    mesh = rng.choice(nodes["searched"])[:6]
    closed = [row for row in nodes["closed"] if row[:6] != mesh]
    for name in ("considered", "bound"):
        counts["partial_plans"][name] -= len(nodes["closed"]) - len(closed)
    nodes["closed"] = closed
    _without(document, {at for at, row in enumerate(nodes["searched"]) if row[:6] == mesh})
    nodes["no_memory"].append(mesh)
    counts["meshes"]["memory"] = len(nodes["no_memory"])
    counts["meshes"]["searched"] -= 1


def _hidden_best(document: Document, rng: random.Random) -> None:
    """The least point is taken away, and the claim is that of the next."""
    claim, front = document["claim"], document["front"]
    name = "step_time_s" if claim["objective_name"] == "time" else "energy_j"
    front.remove(min(front, key=lambda point: point[name]))
    document["best"] = copy.deepcopy(min(front, key=lambda point: point[name]))
    claim["objective"] = claim["bound"] = document["best"][name]


def _point_plan(point: Document, rng: random.Random) -> None:
    plan = point["plan"]
    if rng.random() < 0.5:
        plan["micro_batch"] *= 2
    else:
        plan["mesh"]["dp"], plan["mesh"]["tp"] = 2 * plan["mesh"]["dp"], 2 * plan["mesh"]["tp"]


def _point_figures(point: Document, rng: random.Random) -> None:
    name = rng.choice(("step_time_s", "energy_j"))
    point[name] = off(point[name], rng)


def _claim(document: Document, rng: random.Random) -> None:
    claim = document["claim"]
    name = rng.choice(("objective", "bound", "gap", "status", "front_complete", "objective_name"))
    others = {
        "gap": (claim["gap"] or 0) + 10 ** rng.uniform(-6, -1),
        "status": _other(claim["status"], ["optimal", "feasible", "infeasible"], rng),
        "front_complete": not claim["front_complete"],
        "objective_name": _other(claim["objective_name"], ["time", "energy", "edp"], rng),
    }
    claim[name] = others[name] if name in others else off(claim[name], rng)


def _question(document: Document, rng: random.Random) -> None:
    question = document["question"]
    names = ["model", "chips", "seq_len", "batch_tokens", "precision", "max_memory"]
    if document["claim"]["status"] == "infeasible":
        names = ["model"]  # of the others the proof that nothing fits would be true as well
    name = rng.choice(names)
    others = {
        "model": _other(question["model"], ["llama3-8b", "llama2-7b", "llama2-13b"], rng),
        "chips": 2 * int(question["chips"]),
        "seq_len": 1024 if question.get("seq_len") != 1024 else 2048,
        "batch_tokens": 2.0**16 if question.get("batch_tokens") != 2.0**16 else 2.0**17,
        "precision": "fp32",
        "max_memory": 1e9,
    }
    question[name] = others[name]


def _question_anew(document: Document, rng: random.Random) -> None:
    _question(document, rng)
    with contextlib.suppress(InputError):  # a chip without the format: it cannot be asked at all
        document["records"] = fingerprints(resolve(request_from(document["question"])))


def _space(document: Document, rng: random.Random) -> None:
    space = document["space"]
    if rng.random() < 0.5:
        space["chips"] = [2 * chips for chips in space["chips"]]
    else:
        space["clocks"] = [*space["clocks"], 0.123]


def _record(document: Document, rng: random.Random) -> None:
    one, other = rng.sample(sorted(document["records"]), 2)
    records = document["records"]
    records[one], records[other] = records[other], records[one]


def _seal(document: Document, rng: random.Random) -> None:
    digest = document["sha256"]
    at = rng.randrange(len(digest))
    document["sha256"] = digest[:at] + _other(digest[at], [*_DIGITS], rng) + digest[at + 1 :]


def _unsealed(document: Document, rng: random.Random) -> None:
    _count(document, rng)


def _version(document: Document, rng: random.Random) -> None:
    document["versions"]["planner"] += f".{rng.randrange(9)}"


ALTERATIONS: dict[str, Alteration] = {
    "a bound of a node": lambda d, rng: _bound(d["nodes"]["closed"], rng),
    "a bound of a plan": lambda d, rng: _bound(d["plans"]["closed"], rng),
    "a missing closed node": lambda d, rng: _drop(d["nodes"]["closed"], rng),
    "a closed node called searched": _called_searched,
    "another recomputation under a bound": _recompute,
    "a node twice": _twice,
    "an altered node": _node,
    "a mesh said to have no memory": _no_memory,
    "a missing plan": lambda d, rng: _drop(d["plans"]["costed"], rng),
    "a costed plan called closed": _called_closed,
    "an altered plan": _plan,
    "a question of clocks per operation": lambda d, _: d["question"].update(clocks=PER_OPERATION),
    "no numbers of chips": lambda d, _: d["space"].update(chips=[]),
    "a wrong count": _count,
    "an invented count": _invented_count,
    "a missing point of the front": lambda d, rng: _drop(d["front"], rng),
    "an altered point of the front": lambda d, rng: _point_plan(rng.choice(d["front"]), rng),
    "figures of a point": lambda d, rng: _point_figures(rng.choice(d["front"]), rng),
    "an incumbent of another plan": lambda d, rng: _point_plan(d["best"], rng),
    "an incumbent of other figures": lambda d, rng: _point_figures(d["best"], rng),
    "another claim": _claim,
    "an altered question": _question,
    "an altered question, hashed anew": _question_anew,
    "another space": _space,
    "swapped hashes of records": _record,
    "another version": _version,
    "a node left out, counted anew": _left_out,
    "a mesh left out for memory, counted anew": _mesh_left_out,
    "a hidden best plan, claimed anew": _hidden_best,
    "another seal": _seal,
    "an old seal over other content": _unsealed,
}
"""By what is altered."""
_OF_SEAL = ("another seal", "an old seal over other content")
