"""What plans were predicted with that no framework runs is said for every target."""

from dataclasses import replace

from support.cases import each

from frameworks.export.cases import CASES
from planner.assumptions.assumptions import PRESETS, Assumptions
from planner.cost.context import CostModel
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Lost, export_plan
from planner.machine.degraded import with_degraded
from planner.plan import Plan
from planner.question.request import Request
from planner.question.resolved import resolve

USUAL = {"model": "llama3-8b", "hardware": "dgx-h100-ndr", "chips": 64, "batch_tokens": 2**20}
WIRED = {"hardware": "mi300x-8way"}
PLAN = Plan(fsdp=64, sharding="zero3", recompute="full")


def said(plan: Plan = PLAN, target: str = "torchtitan", **asked: object) -> dict[str, str]:
    """Field to line of what an export of a plan of a question says."""
    cost = resolve(Request(**{**USUAL, **asked})).cost
    export = export_plan(cost, plan, TARGETS[target], allow_lossy=True)
    return {lost.field: lost.reason for lost in export.lossy}


@each(
    ("asked", "field", "words"),
    [
        ({"collectives": "synthesized"}, "collectives", "schedules made for the machine"),
        ({"collectives": "best"}, "collectives", "planner collective export"),
        ({**WIRED, "degrade_link": ("xgmi:0-2=0.25",)}, "degrade_link", "xgmi:0-2=0.25"),
        ({"topology": ("torus:2x4",)}, "topology", "dgx-h100-ndr with nvlink as torus 2x4"),
        ({"topology": ("scale-out=dragonfly",)}, "topology", "scale-out as dragonfly"),
        ({"pes": (264,)}, "pes", "h100-sxm5-80 scaled to 264 SMs"),
        ({"assumptions": "rack-energy"}, "assumptions", "rack-energy"),
    ],
)
def test_what_no_framework_runs(asked: dict[str, object], field: str, words: str) -> None:
    found = said(**asked)
    assert words in found[field]
    assert "\n" not in found[field]
    assert set(found) - set(said()) == {field}


def test_a_roofline_has_shares_of_tokens_in_place_of_sequences() -> None:
    found = said(assumptions="roofline")
    assert "roofline" in found["assumptions"]
    assert "64 sequences of 16384 tokens" in found["seq_len"]


@each("target", TARGETS)
def test_every_target_says_it(target: str) -> None:
    assert "collectives" in said(target=target, collectives="best")
    assert "collectives" not in said(target=target)


def test_axes_of_a_torus_that_were_given() -> None:
    sliced = {"hardware": "tpu-v5p", "framework": "jax", "torus_axes": {"fsdp": 2.0, "tp": 1.0}}
    plan = Plan(fsdp=16, tp=4, sharding="zero3")
    assert "fsdp on 2, tp on 1" in said(plan, "jax", **sliced)["torus_axes"]
    assert "torus_axes" not in said(plan, "jax", hardware="tpu-v5p", framework="jax")


def test_what_the_plan_does_not_use_is_not_said() -> None:
    """One chip has no collectives; a slow link beyond its chips slows nobody."""
    alone = Plan(sharding="ddp")
    assert "collectives" not in said(alone, chips=1, collectives="best")
    pair = Plan(fsdp=2, sharding="zero3")
    assert "degrade_link" not in said(pair, chips=2, degrade_link=("xgmi:4-5=0.5",), **WIRED)


def test_the_wiring_of_the_record_is_no_other_machine() -> None:
    assert "topology" not in said(topology=("switch",))
    assert "pes" not in said(pes=(132,))


def test_a_measured_machine_is_the_machine() -> None:
    """Constants that were fitted on the spot are those of the machine that runs the plan."""
    assumptions = CASES["dense-sharded"].cost().assumptions
    assert found_with(replace(assumptions, name="calibrated with own.yaml", local_runs=4)) == set()
    assert found_with(replace(assumptions, name="own.yaml")) == {"assumptions"}
    assert PRESETS[0] == assumptions.name
    assert found_with(assumptions) == set()


def found_with(assumptions: Assumptions) -> set[str]:
    cost = replace(CASES["dense-sharded"].cost(), assumptions=assumptions)
    return {lost.field for lost in exported(cost)} - {lost.field for lost in exported()}


def exported(cost: CostModel | None = None) -> tuple[Lost, ...]:
    case = CASES["dense-sharded"]
    return export_plan(cost or case.cost(), case.plan, TARGETS["torchtitan"]).lossy


def test_links_that_a_record_has_as_slow_are_said() -> None:
    cost = replace(CASES["dense-sharded"], **WIRED).cost()
    slow = replace(cost, cluster=with_degraded(cost.cluster, ("xgmi:0-1=0",)))
    assert "xgmi:0-1=0" in str(exported(slow))
