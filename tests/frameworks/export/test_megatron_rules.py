"""The rules of Megatron-LM: each with a plan that breaks it and one that is nearest."""

from dataclasses import replace

from support.cases import each

from frameworks.export.cases import CASES, Case
from planner.frameworks.megatron.recompute import stages_are_launchable
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.rules import all_rules, applicable, broken
from planner.frameworks.targets import TARGETS
from planner.plan import Plan, PlanTable, Stage

TARGET = TARGETS["megatron"]
UNEVEN, EXPERTS = CASES["uneven"], CASES["experts"]
FLAT = replace(UNEVEN, plan=Plan(dp=16, tp=2))
INSIDE = ("tp", "cp", "pp", "fsdp", "dp")


def names(case: Case, **changes: object) -> list[str]:
    table = PlanTable.from_plans([replace(case.plan, **changes)])
    return [rule.name for rule, _ in broken(case.cost(), table, target=TARGET)]


def uneven(*shardings: str) -> tuple[Stage, ...]:
    return tuple(Stage(layers=10, sharding=one) for one in shardings)


BROKEN = {
    "megatron-offload": (UNEVEN, {"offload": ("activations",)}),
    "megatron-offload-weights": (FLAT, {"offload": ("weights",)}),
    "megatron-offload-optimizer": (FLAT, {"offload": ("optimizer",), "sharding": "ddp"}),
    "megatron-optimizer": (replace(FLAT, optimizer="adam-bf16"), {"offload": ("optimizer",)}),
    "megatron-schedule": (replace(UNEVEN, framework="megatron-zb"), {"schedule": "zero-bubble"}),
    "megatron-fsdp-pipeline": (UNEVEN, {"sharding": "zero2"}),
    "megatron-fsdp-replicas": (
        EXPERTS,
        {"pp": 1, "dp": 32, "fsdp": 2, "tp": 2, "ep": 8, "sharding": "zero3"},
    ),
    "megatron-stages-inside": (
        EXPERTS,
        {"dp": 32, "order": INSIDE},
    ),
    "megatron-whole-widths": (
        replace(CASES["dense-sharded"], precision="fp8", model="llama2-7b"),
        {"fsdp": 2, "tp": 32, "sequence_parallel": True},
    ),
    "megatron-whole-tokens": (
        replace(CASES["dense-sharded"], precision="fp8", seq_len=4100),
        {"micro_batch": 1},
    ),
    "megatron-context-precision": (replace(CASES["long"], precision="fp32"), {}),
    "megatron-context-chips": (
        replace(CASES["long"], hardware="dgx1-v100", precision="fp16"),
        {},
    ),
    "megatron-one-sharding": (UNEVEN, {"stages": uneven("zero1", "ddp", "zero1", "zero1")}),
    "megatron-recompute": (
        UNEVEN,
        {"stages": tuple(Stage(layers=10, full=(n, 0)) for n in (1, 2, 2, 2))},
    ),
    "megatron-context": (
        replace(CASES["one-chip"], model="gpt-oss-20b", plan=Plan(cp=2, sharding="zero1")),
        {},
    ),
    "megatron-model": (replace(FLAT, model="falcon-40b", seq_len=2048), {}),
    "megatron-chips": (CASES["slices"], {}),
}
FIXED = {
    "megatron-offload": {"offload": ()},
    "megatron-offload-weights": {"offload": ("activations",)},
    "megatron-offload-optimizer": {"offload": ("optimizer",)},
    "megatron-optimizer": {"offload": ()},
    "megatron-schedule": {"schedule": "1f1b"},
    "megatron-fsdp-pipeline": {"sharding": "zero1"},
    "megatron-fsdp-replicas": {"pp": 1, "fsdp": 64, "dp": 1, "sharding": "zero3"},
    "megatron-stages-inside": {"dp": 32, "ep": 2, "order": INSIDE},
    "megatron-whole-widths": {"fsdp": 4, "tp": 16, "sequence_parallel": True},
    "megatron-whole-tokens": {"micro_batch": 2},
    "megatron-context-precision": {"dp": 32, "cp": 1},
    "megatron-context-chips": {"dp": 32, "cp": 1},
    "megatron-one-sharding": {"stages": uneven("ddp", "ddp", "ddp", "ddp")},
    "megatron-recompute": {"stages": tuple(Stage(layers=10, full=(2, 0)) for _ in range(4))},
    "megatron-context": {"cp_mode": "all-to-all"},
}


@each("name", BROKEN)
def test_a_plan_that_breaks_it(name: str) -> None:
    case, changes = BROKEN[name]
    assert name in names(case, **changes)


@each("name", FIXED)
def test_the_nearest_plan_that_does_not(name: str) -> None:
    assert name not in names(BROKEN[name][0], **FIXED[name])


@each("name", BROKEN)
def test_it_says_so_in_one_line(name: str) -> None:
    case, changes = BROKEN[name]
    table = PlanTable.from_plans([replace(case.plan, **changes)])
    lines = [line for rule, line in broken(case.cost(), table, target=TARGET) if rule.name == name]
    assert lines
    assert all("megatron" in line and "\n" not in line for line in lines)


def test_a_schedule_is_refused_once() -> None:
    assert names(UNEVEN, schedule="zero-bubble") == ["schedule-offered"]


@each(
    ("changes", "offered"),
    [
        ({"cp": 1}, "tp cp fsdp dp pp; tp cp pp fsdp dp"),
        ({"cp": 2}, "tp cp fsdp dp pp"),
        ({"pp": 1, "stages": None, "tp": 8}, "tp cp fsdp dp pp"),
    ],
)
def test_orders_that_are_offered_break_no_rule(changes: dict[str, object], offered: str) -> None:
    """Stages go inside of data ranks without cp only, and without stages both are one order."""
    plan = replace(UNEVEN.plan, order=("fsdp", "dp", "tp", "cp", "pp"), **changes)
    [line] = [
        line
        for rule, line in broken(UNEVEN.cost(), PlanTable.from_plans([plan]), target=TARGET)
        if rule.name == "placement-offered"
    ]
    assert line.endswith(f"(innermost first); it can: {offered}")


def test_every_rule_has_such_a_plan() -> None:
    mine = {rule.name for rule in all_rules() if rule.framework == "megatron"}
    assert mine == {*BROKEN, "megatron-job", "megatron-offload-layers"}


def test_jobs() -> None:
    cost = FLAT.cost()
    table = PlanTable.from_plans([FLAT.plan])
    for change in ({"reference": "model"}, {"precision": "int8"}, {"seq_len": 4096.5}):
        changed = replace(cost, job=replace(cost.job, **change))
        found = [rule.name for rule, _ in broken(changed, table, target=TARGET)]
        assert "megatron-job" in found, change
    adapters = replace(cost, job=replace(cost.job, kind="lora"))
    for name, refused in (("megatron", {"megatron-adapters"}), ("megatron-bridge", set())):
        found = [rule.name for rule, _ in broken(adapters, table, target=TARGETS[name])]
        assert {one for one in found if "adapters" in one} == refused


@each(("hardware", "told"), [("dgx-h100-ndr", False), ("dgx-b200-ndr", True)])
@each("precision", ["mxfp8", "fp4"])
def test_blackwell_alone_scales_blocks(hardware: str, precision: str, told: bool) -> None:
    cost = replace(FLAT, hardware=hardware).cost()
    changed = replace(cost, job=replace(cost.job, precision=precision))
    found = broken(changed, PlanTable.from_plans([FLAT.plan]), target=TARGET)
    assert ("megatron-job" not in [rule.name for rule, _ in found]) == told


@each(
    ("changes", "told"),
    [
        ({"cp": 2}, False),
        ({"cp": 1}, True),
        ({"cp": 2, "pp": 1}, True),
        ({"cp": 2, "dp": 1, "sharding": "zero1"}, True),
    ],
)
def test_stages_inside_of_replicas_without_experts(changes: dict[str, object], told: bool) -> None:
    """With one stage or one replica there is no other order."""
    plan = {"dp": 4, "stages": None, "order": INSIDE, **changes}
    assert ("megatron-stages-inside" not in names(UNEVEN, **plan)) == told


@each(
    ("precision", "tp", "told"),
    [("bf16", 32, True), ("fp8", 32, False), ("mxfp8", 8, True), ("mxfp8", 16, False)],
)
def test_what_tp_leaves_of_a_width(precision: str, tp: int, told: bool) -> None:
    """A width of 11,008 is 344 blocks of 32."""
    case = replace(
        CASES["dense-sharded"], model="llama2-7b", precision=precision, hardware="gb200-nvl72"
    )
    found = names(case, fsdp=64 // tp, tp=tp, sequence_parallel=True)
    assert ("megatron-whole-widths" not in found) == told


def test_one_layer_stays_on_the_chip() -> None:
    cost = FLAT.cost()
    small = replace(cost.job.model, layers=1)
    changed = replace(cost, job=replace(cost.job, model=small))
    plan = replace(FLAT.plan, offload=("activations",))
    found = broken(changed, PlanTable.from_plans([plan]), target=TARGET)
    assert "megatron-offload-layers" in [rule.name for rule, _ in found]


def test_a_search_without_a_target_leaves_out_what_is_about_launches() -> None:
    plain = {rule.name for rule in applicable(FRAMEWORKS["megatron"])}
    told = {rule.name for rule in applicable(FRAMEWORKS["megatron"], TARGET)}
    assert {name for name in plain if name.startswith("megatron")} == {"megatron-offload"}
    assert set(BROKEN) <= told


@each(
    ("stages", "told"),
    [
        ([Stage(layers=10, recompute="full")] * 4, True),
        ([Stage(layers=10, recompute="selective")] * 4, True),
        ([Stage(layers=10, selective=(10, 0))] * 4, True),
        ([Stage(layers=10, selective=(9, 0))] * 4, False),
        ([Stage(layers=10, selective=(1, 0), full=(9, 0))] * 4, False),
        ([Stage(layers=10, full=(3, 0))] * 3 + [Stage(layers=10)], False),
        ([Stage(layers=18, full=(3, 0))] * 2 + [Stage(layers=2, recompute="full")] * 2, True),
    ],
)
def test_what_one_number_says(stages: list[Stage], told: bool) -> None:
    plan = replace(UNEVEN.plan, stages=tuple(stages))
    assert stages_are_launchable(UNEVEN.cost().job.model, plan) == told


def test_blocks_take_the_first_layers_whatever_their_kind() -> None:
    case = CASES["latent-experts"]
    first = Stage(layers=16, recompute="none", full=(3, 1))
    others = [Stage(layers=15, recompute="none", full=(0, 4))] * 3
    model = case.cost().job.model
    plan = replace(case.plan, recompute="none", stages=(first, *others))
    assert stages_are_launchable(model, plan)
    other = replace(first, full=(0, 4))
    assert not stages_are_launchable(model, replace(plan, stages=(other, *others)))


def test_plans_in_a_table_are_judged_one_by_one() -> None:
    plans = [UNEVEN.plan, replace(UNEVEN.plan, stages=None, pp=2, dp=32)]
    plans += [replace(UNEVEN.plan, stages=BROKEN["megatron-recompute"][1]["stages"])]
    rule = next(rule for rule in all_rules() if rule.name == "megatron-recompute")
    holds = rule.holds(UNEVEN.cost(), PlanTable.from_plans(plans))
    assert holds.tolist() == [True, True, False]
