"""The JAX mesh file: golden files, the mesh, and that its axes divide the arrays."""

import ast
import platform
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np
import pytest
from support.cases import each

from frameworks.export.accepted_files import (
    accepted_files,
    agrees_with_golden,
    digests,
    exported,
    record_acceptance,
)
from frameworks.export.cases import CASES
from frameworks.export.random_plans import MODELS, random_plan, runnable
from planner.base.errors import InputError
from planner.cost.context import CostModel
from planner.frameworks.jax.axes import mesh_axes, product
from planner.frameworks.jax.specs import arrays
from planner.frameworks.jax.write import FILE
from planner.frameworks.rules import applicable, broken, judged_for
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.frameworks.writing.launch import Launch
from planner.plan import Plan, PlanTable

TARGET = TARGETS["jax"]


def constants(export: Export) -> dict[str, Any]:
    """The names, sizes and numbers at the top of the file."""
    tree = ast.parse(export.files[0].text)
    wanted = {"NAMES", "SIZES", "INSIDE", "ACROSS", "SEQ_LEN", "MICRO_BATCHES"}
    found = [node for node in tree.body if isinstance(node, ast.Assign)]
    named = [(node.targets[0].id, node) for node in found if hasattr(node.targets[0], "id")]
    return {name: ast.literal_eval(node.value) for name, node in named if name in wanted}


@each("case", CASES)
def test_the_golden_files(case: str) -> None:
    agrees_with_golden("jax", case)


def test_what_was_accepted_is_what_is_exported() -> None:
    assert accepted_files("jax") == digests("jax")


@each("case", CASES)
def test_the_mesh_has_every_chip(case: str) -> None:
    found = constants(exported("jax", case))
    plan = CASES[case].plan
    assert prod(found["SIZES"]) == plan.chips
    assert prod(found["INSIDE"]) * prod(found["ACROSS"]) == plan.chips
    batch = found["MICRO_BATCHES"] * plan.dp * plan.fsdp * plan.micro_batch
    assert batch == CASES[case].global_batch


def test_axes_are_listed_outermost_first() -> None:
    case = CASES["dense-hybrid"]
    found = constants(exported("jax", "dense-hybrid"))
    assert found["NAMES"] == ("data", "fsdp", "context", "tensor")
    assert found["ACROSS"] == (2, 16, 2, 1)
    assert found["SIZES"] == (case.plan.dp, case.plan.fsdp, case.plan.cp, case.plan.tp)


def test_expert_groups_cut_the_axes_that_they_take_from() -> None:
    axes = mesh_axes(Launch(cost=CASES["experts"].cost(), plan=CASES["experts"].plan))
    assert [(one.name, one.size) for one in axes] == [
        ("stage", 2), ("data", 8), ("data_expert", 4), ("tensor_expert", 2)
    ]  # fmt: skip


def test_parts_of_an_axis_have_names_of_their_own() -> None:
    plan = Plan(fsdp=128, tp=4, sharding="zero3", layout=(("fsdp", 16), ("tp", 4), ("fsdp", 8)))
    axes = mesh_axes(Launch(cost=CASES["slices"].cost(), plan=plan))
    assert [(one.name, one.size) for one in axes] == [("fsdp_2", 8), ("tensor", 4), ("fsdp", 16)]


def test_a_width_that_does_not_divide_is_named() -> None:
    case = replace(CASES["one-chip"], global_batch=512, framework="jax")
    plan = Plan(fsdp=512, sharding="zero3")
    found = dict(broken(case.cost(), PlanTable.from_plans([plan]), target=TARGET))
    assert "hidden width 768" in next(v for k, v in found.items() if k.name == "jax-hidden")
    with pytest.raises(InputError):
        export_plan(case.cost(), plan, TARGET)


WIDTHS = (1, 24, 56, 96, 192, 448)


def wide_plans(source: random.Random, cost: CostModel) -> Iterator[Plan]:
    """Random plans, of which those that shard weights do it over odd numbers of ranks."""
    sizes = set(cost.cluster.chip_counts(4096))
    for _ in range(700):
        plan = replace(random_plan(source, cost), stages=None)
        if plan.sharding == "zero3":
            plan = replace(plan, fsdp=source.choice(WIDTHS))
        if plan.chips in sizes:
            yield plan


def undivided(launch: Launch) -> bool:
    """Whether a dimension of an array is not divided by its axes."""
    axes = mesh_axes(launch)
    found = arrays(launch, axes)
    tables = (found.weights, found.optimizer, found.activations)
    dims = [dim for table in tables for array in table.values() for dim in array]
    return any(size % product(axes, names) for size, names in dims)


@each("name", ["one-chip", "experts", "latent-experts"])
def test_arrays_divide_just_where_the_rule_says(name: str) -> None:
    cost = judged_for(replace(CASES[name], framework="jax").cost(), TARGET)
    plans = list(wide_plans(random.Random(3), cost))
    table = PlanTable.from_plans(plans)
    rules = {rule.name: rule.holds(cost, table) for rule in applicable(cost.framework, TARGET)}
    hidden = rules.pop("jax-hidden")
    others = np.all([held for rule, held in rules.items() if rule != "batch"], axis=0)
    asked = np.flatnonzero(others)
    assert {bool(one) for one in hidden[asked]} == {True, False}
    for at in asked:
        assert undivided(Launch(cost=cost, plan=plans[at])) != hidden[at], plans[at]


def loaded(export: Export) -> dict[str, Any]:
    """The file as a module, without devices."""
    pytest.importorskip("jax")
    names: dict[str, Any] = {"__name__": "mesh"}
    exec(compile(export.files[0].text, FILE, "exec"), names)
    return names


def divided(export: Export) -> dict[str, tuple[int, ...]]:
    names = loaded(export)
    return names["shards"](names["abstract_mesh"]())


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_jax_divides_the_arrays_of_the_cases() -> None:
    jax = pytest.importorskip("jax")
    for case in CASES:
        found = divided(exported("jax", case))
        plan = CASES[case].plan
        assert found["activations.tokens"] == (plan.micro_batch, CASES[case].seq_len // plan.cp)
    facts = {
        "framework": "JAX",
        "version": jax.__version__,
        "commit": "",
        "date": "2026-11-23",
        "by": "NamedSharding(AbstractMesh, PartitionSpec).shard_shape of every array",
        "python": platform.python_version(),
    }
    record_acceptance("jax", facts, [f"{case}/{FILE}" for case in CASES])


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_jax_divides_the_arrays_of_random_plans() -> None:
    count = 0
    for seed, name in enumerate(MODELS):
        case = replace(CASES[name], framework="jax")
        model = case.cost().job.model
        for _, plan, export in runnable(TARGET, case, count=15, seed=seed):
            found = divided(export)
            held = sum(prod(shape) for key, shape in found.items() if key.startswith("weights."))
            assert held * plan.chips >= model.total_parameters * 0.99
            count += 1
    assert count >= 100


@pytest.mark.oracle
@pytest.mark.filterwarnings("ignore")
def test_jax_refuses_what_does_not_divide() -> None:
    source = random.Random(1)
    case = CASES["slices"]
    text = export_plan(case.cost(), case.plan, TARGET)
    odd = re.sub(r"\(\(8192, 32000\)", f"((819{source.choice('1357')}, 32000)", text.files[0].text)
    broken_file = replace(text, files=(replace(text.files[0], text=odd),))
    with pytest.raises(ValueError, match="evenly divide"):
        divided(broken_file)
