"""Plans that are written for a framework and read again are the same plans."""

from dataclasses import replace
from pathlib import Path

from support.cases import each

from frameworks.export.cases import CASES, Case
from frameworks.export.random_plans import runnable
from planner.cost.evaluate import evaluate_totals
from planner.cost.stages.layout import plan_chunks
from planner.frameworks.targets import TARGETS, target_named
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan, PlanTable
from planner.question.launch import LaunchRead, read_launch

FILES = {
    "megatron": "args.txt",
    "torchtitan": "torchtitan.sh",
    "deepspeed": "ds_config.json",
    "maxtext": "maxtext.yml",
    "nanotron": "nanotron.yaml",
}
TOLD = {"deepspeed": ("pp", "tp", "cp", "recompute")}
"""What the file of a target leaves to code, so that it is said beside it."""
LOST = {"maxtext": ("ranks",)}
"""What no file of a target says: JAX lays the axes of a slice on its links itself."""
LAYERS_IN_CODE = ("deepspeed",)
"""Targets that have the layers of listed stages in code."""


def read_again(source: str, case: Case, export: Export, folder: Path, name: str = "") -> LaunchRead:
    """The launch in a file of an export, its main one by default."""
    name = name or FILES[source]
    [text] = [file.text for file in export.files if file.name == name]
    path = folder / name
    path.write_text(text, encoding="utf-8")
    changes = {"model": case.model, "hardware": case.hardware, "chips": case.plan.chips}
    if export.target == "deepspeed":
        changes["seq_len"] = case.seq_len
    fixes = {name: [str(getattr(case.plan, name))] for name in TOLD.get(export.target, ())}
    return read_launch(source, path, changes, fixes)


def essence(plan: Plan, case: Case) -> dict[str, object]:
    """What a plan says, where it makes a difference."""
    model = case.cost().job.model
    stages = plan.stages or ()
    return {
        **plan.mesh,
        "etp": plan.etp,
        "micro_batch": plan.micro_batch,
        "schedule": plan.schedule if plan.pp > 1 else "",
        "interleave": plan.interleave,
        "sharding": plan.sharding,
        "sequence_parallel": plan.sequence_parallel,
        "cp_mode": plan.cp_mode if plan.cp > 1 else "",
        "recompute": (plan.recompute, [(one.recompute, one.full, one.selective) for one in stages])
        if any(one != type(one)(layers=one.layers) for one in stages)
        else plan.recompute,
        "offload": plan.offload,
        "ranks": [(axis, size) for axis, size in plan.ranks if size > 1],
        "chunks": plan_chunks(plan, model),
    }


def check(source: str, case: Case, export: Export, folder: Path) -> None:
    found = read_again(source, case, export, folder)
    lost = LOST.get(source, ())
    again, asked = essence(found.plan, case), essence(case.plan, case)
    assert [again[name] for name in again if name not in lost] == [
        asked[name] for name in asked if name not in lost
    ]
    assert found.imported.unknown == ()
    assert found.request.seq_len == case.seq_len
    assert found.request.batch_tokens == case.seq_len * case.global_batch
    assert found.request.precision == case.precision


@each("name", [name for name in CASES if CASES[name].hardware != "tpu-v5p"])
def test_cases_for_megatron(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    export = export_plan(case.cost(), case.plan, target_named("megatron"), allow_lossy=True)
    check("megatron", case, export, tmp_path)


@each(("ep", "etp"), [(4, 2), (2, 4), (1, 8), (8, 1)])
@each("target", ["megatron", "megatron-bridge"])
def test_ranks_that_share_experts_are_written_and_read_back(
    target: str, ep: int, etp: int, tmp_path: Path
) -> None:
    plan = replace(CASES["experts"].plan, ep=ep, etp=etp)
    case = replace(CASES["experts"], plan=plan)
    export = export_plan(case.cost(), plan, target_named(target))
    name = "args.txt" if target == "megatron" else "pretrain.py"
    found = read_again("megatron", case, export, tmp_path, name)
    assert (found.plan.ep, found.plan.etp) == (ep, etp)


@each("words", ["layernorm", "moe_act", "moe", "layernorm+moe", "layernorm+moe_act"])
@each("target", ["megatron", "megatron-bridge"])
def test_modules_that_recompute_are_written_and_read_back(
    target: str, words: str, tmp_path: Path
) -> None:
    plan = replace(CASES["experts"].plan, recompute=words)
    case = replace(CASES["experts"], plan=plan)
    export = export_plan(case.cost(), plan, target_named(target))
    name = "args.txt" if target == "megatron" else "pretrain.py"
    assert read_again("megatron", case, export, tmp_path, name).plan.recompute == words


@each(
    ("source", "name"),
    [
        ("megatron", "dense-tp-pp"),
        ("megatron", "dense-sharded"),
        ("megatron", "experts"),
        ("megatron", "long"),
        ("torchtitan", "dense-tp-pp"),
        ("torchtitan", "dense-sharded"),
        ("deepspeed", "dense-sharded"),
        ("maxtext", "dense-sharded"),
        ("nanotron", "dense-tp-pp"),
    ],
)
def test_random_plans(source: str, name: str, tmp_path: Path) -> None:
    case = CASES[name]
    for random_case, plan, export in runnable(target_named(source), case, 4, seed=5):
        if plan.stages is None or source not in LAYERS_IN_CODE:
            check(source, random_case, export, tmp_path)


@each("target", [*FILES, "megatron-bridge"])
def test_auto_reads_what_is_exported(target: str, tmp_path: Path) -> None:
    """The framework is known by the text; the plan costs and holds what it did."""
    meant = TARGETS[target]
    plan = Plan(dp=64, sharding="zero1", recompute="full")
    if target == "nanotron":
        plan = replace(plan, micro_batch=2)
    elif meant.framework != "megatron":
        plan = replace(CASES["dense-sharded"].plan, micro_batch=1)
    case = replace(CASES["dense-sharded"], framework=meant.framework, plan=plan)
    export = export_plan(case.cost(), case.plan, meant)
    name = FILES.get(target, "pretrain.py")
    found = read_again("auto", case, export, tmp_path, name)
    assert found.imported.source == target.removesuffix("-bridge")
    asked, read = (PlanTable.from_plans([one]) for one in (case.plan, found.plan))
    costs = [evaluate_totals(case.cost(), table) for table in (asked, read)]
    for part in ("step_time_s", "memory_bytes"):
        one, other = (getattr(cost, part) for cost in costs)
        assert one == other


@each("plan", [Plan(cp=8, sharding="zero3"), Plan(dp=2, cp=4, sharding="zero3"),
               Plan(fsdp=2, cp=4, sharding="zero3")])  # fmt: skip
def test_ranks_of_sequences_keep_shards_of_weights_in_maxtext(plan: Plan, tmp_path: Path) -> None:
    """Without `fsdp` they were read as whole copies: twice the memory of the plan."""
    case = replace(CASES["dense-sharded"], framework="jax", plan=plan, global_batch=8)
    check("maxtext", case, export_plan(case.cost(), plan, target_named("maxtext")), tmp_path)


@each(
    ("source", "split"),
    [("megatron", "even"), ("torchtitan", "front-counted"), ("deepspeed", "front")],
)
def test_a_plan_without_a_pipeline_has_the_split_of_its_framework(
    source: str, split: str, tmp_path: Path
) -> None:
    case = replace(CASES["dense-sharded"], framework=source)
    plan = replace(case.plan, split=split, sharding="zero1" if source == "megatron" else "zero3")
    plan = replace(plan, dp=64, fsdp=1) if source == "megatron" else plan
    export = export_plan(case.cost(), plan, target_named(source))
    assert read_again(source, replace(case, plan=plan), export, tmp_path).plan == plan
