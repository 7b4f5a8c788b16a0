"""Archives of proofs whose stages differ with one thing altered, each of which a check refuses.

As `tampering`: an alteration takes the document and the programs of an archive (copies of its own)
and a random generator. What is written seals the document again.
"""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

from tampering import off

from planner.cost.evaluate import evaluate_totals
from planner.cost.pools.evaluate import evaluate_stages
from planner.cost.pools.pools import owners, without_pools
from planner.plan import PlanTable
from planner.question.files.plan_file import plan_of
from planner.question.files.plan_models import PlanModel
from planner.question.pools import resolve_pools
from planner.question.request import ARGUMENTS, request_from
from planner.question.resolved import resolve
from planner.verification.stages.checking import fingerprints_of
from planner.verification.stages.document import archive, digest, opened

Document = dict[str, Any]
Programs = dict[str, str]
Alteration = Callable[[Document, Programs, random.Random], None]


def altered(content: bytes, name: str, rng: random.Random) -> bytes:
    """An archive with one of `ALTERATIONS`, which it can have."""
    document, _, texts = opened(content, "proof")
    changed, programs = copy.deepcopy(document), dict(texts)
    ALTERATIONS[name](changed, programs, rng)
    assert (changed, programs) != (document, texts), name
    return archive(changed, programs)


def possible(content: bytes) -> list[str]:
    """The alterations that an archive can have."""
    document, _, _ = opened(content, "proof")
    programs, listed = document["programs"], document["best"]["plan"].get("stages")
    parts = {
        "a higher bound of a program": programs,
        "a program of another hash": programs,
        "a lost program": programs,
        "a lost file": programs,
        "no program, counted anew": programs and listed,
        "no funnel and no program": document["funnel"],
        "a lower bound of dropped rows": [s for s in document["funnel"] if s["lowest"] is not None],
        "dropped rows without a bound": [s for s in document["funnel"] if s["lowest"] is not None],
        "other rows of a later step": document["funnel"][1:],
        "a lost last step": document["funnel"][1:],
        "proved, and called feasible": document["claim"]["status"] == "optimal",
        "layers that are given": listed,
        "a slower plan, claimed without a proof": listed,
        "a slower plan, all dropped at once": listed and not document["question"].get("pools"),
        "a slower plan, ended at the first bound": listed,
        "a fixed sharding": listed,
        "a fixed recomputation": listed,
    }
    return [name for name in ALTERATIONS if parts.get(name, True)]


def _times(part: str, name: str, least: float, most: float) -> Alteration:
    def alter(document: Document, _: Programs, rng: random.Random) -> None:
        document[part][name] *= rng.uniform(least, most)

    return alter


def _program(document: Document, _: Programs, rng: random.Random) -> None:
    for program in document["programs"]:
        program["bound"] = round(program["bound"] * rng.uniform(1.5, 3))


def _program_text(document: Document, programs: Programs, rng: random.Random) -> None:
    name = rng.choice(document["programs"])["file"]
    programs[name] = programs[name].replace("ENDATA", "* altered\nENDATA")


def no_choice_needed(document: Document, programs: Programs, rng: random.Random) -> None:
    """No column of a program has to be chosen, hashed anew: only solving again finds that."""
    program = rng.choice(document["programs"])
    lines = programs[program["file"]].splitlines()
    text = "\n".join(line for line in lines if not line.startswith(" RHS ")) + "\n"
    programs[program["file"]], program["sha256"] = text, digest(text)


def _lost(document: Document, programs: Programs, rng: random.Random) -> None:
    at = rng.randrange(len(document["programs"]))
    programs.pop(document["programs"].pop(at)["file"])


def _lost_file(document: Document, programs: Programs, rng: random.Random) -> None:
    programs.pop(rng.choice(document["programs"])["file"])


def _no_program(document: Document, programs: Programs, _: random.Random) -> None:
    document["without_program"] += len(document["programs"])
    document["programs"].clear()
    programs.clear()


def _nothing(document: Document, programs: Programs, _: random.Random) -> None:
    document["programs"].clear()
    programs.clear()
    document["funnel"], document["without_program"] = [], 0


def _moved(document: Document, rng: random.Random) -> list[int]:
    """Layers of the stages of the best plan, one of which is on another stage."""
    layers = [stage["layers"] for stage in document["best"]["plan"]["stages"]]
    fewer = rng.choice([at for at, count in enumerate(layers) if count > 1])
    more = rng.choice([at for at in range(len(layers)) if at != fewer])
    layers[fewer], layers[more] = layers[fewer] - 1, layers[more] + 1
    return layers


def _worse(document: Document, programs: Programs, rng: random.Random) -> None:
    """Nothing is left of the proof, and the claim is of another plan, with its own figures."""
    _nothing(document, programs, rng)
    best, layers = document["best"], _moved(document, rng)
    for stage, count in zip(best["plan"]["stages"], layers, strict=True):
        stage["layers"] = count
    request = request_from(document["question"])
    plan = plan_of(PlanModel.model_validate(best["plan"]))
    if request.pools is None:
        costs = evaluate_totals(resolve(request).cost, PlanTable.from_plans([plan]))
        best["step_time_s"], best["energy_j"] = costs.step_time_s.item(), costs.energy_j.item()
    else:
        pools = resolve_pools(request, ARGUMENTS).pools
        table = PlanTable.from_plans([without_pools(plan)])
        step = evaluate_stages(pools, owners(pools, plan), table)[1].step
        best["step_time_s"], best["energy_j"] = float(step.time[0, 0]), float(step.energy[0, 0])
    document["claim"] = {
        "status": "optimal", "objective": best["step_time_s"], "bound": best["step_time_s"],
        "gap": 0.0, "left": 0, "lowest_left": None,
    }  # fmt: skip


def _at_once(document: Document, programs: Programs, rng: random.Random) -> None:
    """The same, and the first bound dropped all rows at the time of that plan."""
    first = document["funnel"][0]
    _worse(document, programs, rng)
    least = {**first, "dropped": first["rows"], "lowest": document["best"]["step_time_s"]}
    last = {**first, "name": "stages", "rows": 0, "meshes": 0, "dropped": 0, "lowest": None}
    document["funnel"] = [least, last]


def _ended(document: Document, programs: Programs, rng: random.Random) -> None:
    """The same, and time ended the search at the first bound: all rows are left, none faster."""
    first = document["funnel"][0]
    document["question"]["time_limit"] = 0.5
    _worse(document, programs, rng)
    document["funnel"] = [{**first, "dropped": 0, "lowest": None}]
    document["without_program"] = first["rows"]
    claim = document["claim"]
    bound = claim["objective"] * (1 - 2e-6)
    claim.update(bound=bound, gap=1 - bound / claim["objective"], status="feasible")
    claim.update(left=first["rows"], lowest_left=bound)


def _lower(document: Document, _: Programs, rng: random.Random) -> None:
    step = rng.choice([step for step in document["funnel"] if step["lowest"] is not None])
    step["lowest"] = document["claim"]["bound"] * rng.uniform(0.1, 0.999)


def _no_bound(document: Document, _: Programs, rng: random.Random) -> None:
    step = rng.choice([step for step in document["funnel"] if step["lowest"] is not None])
    step["lowest"] = None


def _first_rows(document: Document, _: Programs, rng: random.Random) -> None:
    """More or fewer rows that the first step has dropped."""
    step = document["funnel"][0]
    more = rng.choice((-1, 1, 5))
    step["rows"], step["dropped"] = step["rows"] + more, step["dropped"] + more


def _first_meshes(document: Document, _: Programs, rng: random.Random) -> None:
    document["funnel"][0]["meshes"] += rng.choice((-1, 1))


def _later_rows(document: Document, _: Programs, rng: random.Random) -> None:
    """Rows that come from nowhere, and are left: all but those of the last step go on."""
    steps = document["funnel"]
    step = steps[rng.randrange(1, len(steps))]
    step["rows"] += rng.choice((1, 5)) * (4 * len(steps) + 4 * step["rows"] + 1)


def _last_step(document: Document, _: Programs, rng: random.Random) -> None:
    del rng
    document["funnel"].pop()


def _left(document: Document, _: Programs, rng: random.Random) -> None:
    document["claim"]["left"] += rng.choice((1, 7))


def _left_below(document: Document, _: Programs, rng: random.Random) -> None:
    """Rows are left, whose bound is that of the claim."""
    claim = document["claim"]
    last = document["funnel"][-1]
    claim["left"] = last["rows"] - last["dropped"] + rng.choice((1, 7))
    claim["lowest_left"] = claim["objective"]


def _feasible(document: Document, _: Programs, rng: random.Random) -> None:
    del rng
    document["claim"]["status"] = "feasible"


def _weaker(document: Document, _: Programs, rng: random.Random) -> None:
    """Less is claimed than is proved."""
    claim, share = document["claim"], rng.uniform(0.3, 0.99)
    claim["bound"] *= share
    claim["gap"], claim["status"] = 1 - claim["bound"] / claim["objective"], "feasible"


def _plan(document: Document, _: Programs, rng: random.Random) -> None:
    plan = document["best"]["plan"]
    if rng.random() < 0.5:
        plan["micro_batch"] *= 2
    else:
        plan["mesh"]["dp"], plan["mesh"]["tp"] = 2 * plan["mesh"]["dp"], 2 * plan["mesh"]["tp"]


def _fixed(name: str, values: tuple[str, ...]) -> Alteration:
    """Something else is fixed after the fact."""

    def alter(document: Document, _: Programs, rng: random.Random) -> None:
        plan = document["best"]["plan"]
        own = {plan[name], *(stage.get(name) for stage in plan.get("stages") or ())}
        fixed = rng.choice([value for value in values if value not in own])
        document["question"]["fix"] = {**document["question"].get("fix", {}), name: [fixed]}

    return alter


def _axes(document: Document, _: Programs, rng: random.Random) -> None:
    """An axis of the plan was not to be used."""
    mesh = document["best"]["plan"]["mesh"]
    lost = rng.choice([name for name, size in mesh.items() if size > 1])
    every = ("dp", "fsdp", "tp", "cp", "ep", "pp")
    document["question"]["axes"] = [name for name in every if name != lost]


def _layers(document: Document, _: Programs, rng: random.Random) -> None:
    """Other layers of the stages were given."""
    document["question"]["layout"] = ",".join(map(str, _moved(document, rng)))


def _limit(name: str, value: Callable[[Document], float]) -> Alteration:
    """A limit that the plan breaks was set."""

    def alter(document: Document, _: Programs, rng: random.Random) -> None:
        document["question"][name] = value(document["best"]) * rng.uniform(0.5, 0.99)

    return alter


def _utilization(document: Document, _: Programs, rng: random.Random) -> None:
    document["question"]["min_mfu"] = rng.uniform(0.95, 0.999)


def _memory(document: Document, _: Programs, rng: random.Random) -> None:
    document["question"]["max_memory"] = rng.uniform(1e6, 1e8)


def _target(document: Document, _: Programs, rng: random.Random) -> None:
    """Another program was to run the plan; on pools none can."""
    document["question"]["runnable_in"] = [rng.choice(("torchtitan", "maxtext"))]


def _question(document: Document, _: Programs, rng: random.Random) -> None:
    document["question"]["batch_tokens"] = document["question"]["batch_tokens"] * rng.choice((2, 4))


def _question_anew(document: Document, programs: Programs, rng: random.Random) -> None:
    _question(document, programs, rng)
    document["records"] = fingerprints_of(request_from(document["question"]))


def _records(document: Document, _: Programs, rng: random.Random) -> None:
    records = document["records"]
    pairs = [(a, b) for a in records for b in records if records[a] != records[b]]
    one, other = rng.choice(pairs)
    records[one], records[other] = records[other], records[one]


def _version(document: Document, _: Programs, rng: random.Random) -> None:
    document["versions"]["planner"] += f".{rng.randrange(9)}"


def _figures(name: str) -> Alteration:
    def alter(document: Document, _: Programs, rng: random.Random) -> None:
        document["best"][name] = off(document["best"][name], rng)

    return alter


ALTERATIONS: dict[str, Alteration] = {
    "a higher bound": _times("claim", "bound", 1.001, 2),
    "a lower bound": _times("claim", "bound", 0.1, 0.99),
    "another objective": _times("claim", "objective", 0.5, 0.99),
    "another time of the plan": _figures("step_time_s"),
    "other joules of the plan": _figures("energy_j"),
    "a higher bound of a program": _program,
    "a program of another hash": _program_text,
    "a lost program": _lost,
    "a lost file": _lost_file,
    "no program, counted anew": _no_program,
    "no funnel and no program": _nothing,
    "a slower plan, claimed without a proof": _worse,
    "a slower plan, all dropped at once": _at_once,
    "a slower plan, ended at the first bound": _ended,
    "a lower bound of dropped rows": _lower,
    "dropped rows without a bound": _no_bound,
    "other rows of the question": _first_rows,
    "other meshes of the question": _first_meshes,
    "other rows of a later step": _later_rows,
    "a lost last step": _last_step,
    "more rows left": _left,
    "more rows left than there are": _left_below,
    "proved, and called feasible": _feasible,
    "less claimed than is proved": _weaker,
    "another plan": _plan,
    "a fixed sharding": _fixed("sharding", ("ddp", "zero1", "zero2", "zero3")),
    "a fixed recomputation": _fixed("recompute", ("none", "selective", "full")),
    "other axes": _axes,
    "layers that are given": _layers,
    "a limit on time": _limit("max_step_time", lambda best: best["step_time_s"]),
    "a limit on power": _limit("max_power", lambda best: best["energy_j"] / best["step_time_s"]),
    "a least utilization": _utilization,
    "a limit on memory": _memory,
    "another target": _target,
    "another question": _question,
    "another question, hashed anew": _question_anew,
    "swapped records": _records,
    "another version": _version,
}
"""By what is altered."""
