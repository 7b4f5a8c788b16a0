"""A run that exists: the best plan that its checkpoint loads into, and what that gains."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.brute import Loads, brute_force_s
from support.cases import each

import planner
from planner.answers.resuming import with_run_noted
from planner.base.errors import InputError
from planner.base.messages import Origin
from planner.base.units import show_seconds
from planner.frameworks.registry import FRAMEWORKS, framework_of
from planner.plan import SHARDINGS, Plan, PlanTable, Stage
from planner.question.files.plan_text import plan_text
from planner.question.launch.resuming import Resumed
from planner.question.request import request_from
from planner.question.resolved import resolve
from planner.report.tables.screen_rows import caveats_row, resumed_row

SMALL: dict[str, Any] = {
    "model": "llama3-8b", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 2**17,
    "seq_len": 8192, "max_oom_risk": 1, "clocks": False,
}  # fmt: skip
ZERO1, ZERO2, ZERO3 = map(SHARDINGS.index, ("zero1", "zero2", "zero3"))


@each(("framework", "fields", "loads"), [
    ("megatron", {"resume_from": "tp=2,pp=2,dp=2"},
     lambda p: (p.tp == 2) & (p.pp == 2) & (p.interleave == 1) & (p.sharding == ZERO1)),
    ("megatron", {"resume_from": "fsdp=16"}, lambda p: p.sharding >= ZERO2),
    ("deepspeed", {"resume_from": "tp=2,dp=4,sharding=zero2"},
     lambda p: (p.tp == 2) & (p.pp == 1) & (p.sharding == ZERO2)),
    ("nanotron", {"resume_from": "tp=2,pp=2,dp=4"},
     lambda p: (p.pp == 2) & (p.sharding == ZERO1)),
])  # fmt: skip
def test_the_best_of_those_that_load(framework: str, fields: dict[str, str], loads: Loads) -> None:
    asked = {**SMALL, "framework": framework}
    found = planner.solve(**asked, **fields)
    assert found.best is not None
    assert found.certificate.status == "optimal"
    assert found.best.step_time_s == pytest.approx(brute_force_s(asked, loads), rel=1e-12)
    assert bool(loads(PlanTable.from_plans([found.best.plan]))[0])
    assert any(line.startswith("the checkpoint ") for line in found.notes.caveats)
    assert found.question.asked["resume_from"] == fields["resume_from"]
    assert "fix" not in found.question.asked


def test_what_the_change_gains_is_said(tmp_path: Path) -> None:
    fields = {**SMALL, "framework": "megatron", "checkpoint": "torch_dist"}
    free = planner.solve(**fields, resume_from="tp=8")
    assert free.best is not None
    (line,) = [one for one in free.notes.caveats if one.startswith("the layout of the run takes")]
    own = planner.evaluate(planner.Plan(tp=8, sharding="ddp"), **{**SMALL, "framework": "megatron"})
    gain = 1 - free.best.step_time_s / own.result.step_time_s
    assert gain > 0.02
    assert f"{100 * gain:.3g} % less" in line
    assert f"tp 8 to {free.best.plan.tp}" in line
    # The plan itself, as a file, is the best that its own checkpoint loads into.
    resolved = resolve(request_from({**SMALL, "framework": "megatron"}))
    path = tmp_path / "run.yaml"
    path.write_text(plan_text(resolved, free.best.plan, []), encoding="utf-8")
    again = planner.solve(**fields, resume_from=str(path))
    assert again.best is not None
    assert again.best.plan == free.best.plan
    assert any("is the best one that its checkpoint" in one for one in again.notes.caveats)


def test_every_field_that_differs_is_named() -> None:
    """A run that is the best plan but for one field is not called the best one."""
    asked = {
        **SMALL,
        "framework": "megatron",
        "fix": {"tp": ("4",), "pp": ("2",), "interleave": ("1",)},
    }
    result = planner.solve(**asked)
    best = result.best
    assert best is not None
    resolved = resolve(request_from(asked))
    framework = framework_of("megatron")
    assert framework is not None
    forms = framework.checkpoints()
    other = {
        "sequence_parallel": False, "recompute": "full",
        "micro_batch": best.plan.micro_batch // 2 or 2, "schedule": "gpipe",
        "offload": ("optimizer",), "clock": 0.5,
        "order": best.plan.order[::-1],
        "stages": (Stage(layers=16, recompute="full"), Stage(layers=16)),
    }  # fmt: skip
    said = {"order": "placement "}
    for name, value in other.items():
        run = replace(best.plan, **{name: value})
        found = Resumed(plan=run, checkpoint=forms[0], kept={})
        lines = with_run_noted(resolved.request, Origin(), found, result).notes.caveats
        (line,) = [one for one in lines if one.startswith("the layout of the run")]
        assert said.get(name, f"{name} ") in line, line
        assert "is the best one" not in line


@each("text", ["tp=4,pp=2", "tp=4,pp=2,micro_batch=2,recompute=full,sequence_parallel=false"])
def test_what_a_text_does_not_say_is_stated_as_assumed(text: str) -> None:
    found = planner.solve(**SMALL, framework="megatron", resume_from=text)
    (line,) = [one for one in found.notes.caveats if one.startswith("the layout of the run")]
    for word in ("micro_batch=1", "recompute=none", "sequence_parallel=true"):
        assert (word in line) == ("micro_batch" not in text), line
    if "micro_batch" in text:
        said = {"recompute": "full", "sequence_parallel": False, "sharding": "ddp"}
        run = Plan(tp=4, pp=2, micro_batch=2, **said)  # type: ignore[arg-type]
        own = planner.evaluate(run, **SMALL, framework="megatron").result.step_time_s
        assert f"takes {show_seconds(own)}" in line


@each("profile", [name for name in FRAMEWORKS if name not in ("textbook",)])
def test_every_framework_says_what_it_loads(profile: str) -> None:
    framework = framework_of(profile)
    assert framework is not None
    forms = framework.checkpoints()
    saved = {sharding for form in forms for sharding in form.of}
    assert set(FRAMEWORKS[profile].shardings) <= saved
    assert all(form.source and form.version and form.said for form in forms)


@each(("fields", "words"), [
    ({"resume_from": "tq=4"}, "'tq' is not one of tp"),
    ({"resume_from": "tp=0"}, "tp=0 is no size of at least 1"),
    ({"resume_from": "tp=2,tp=4"}, "tp is given twice"),
    ({"resume_from": "tp=2,pp"}, "'pp' is no field of a plan with its value"),
    ({"resume_from": "sharding=zero9"}, "'zero9' is not one of ddp"),
    ({"resume_from": "nowhere.yaml"}, "nowhere.yaml: "),
    ({"resume_from": "tp=2,dp=8", "checkpoint": "dcp"}, "'dcp' is not one of torch_dist"),
    ({"resume_from": "tp=2,dp=8", "checkpoint": "fsdp_dtensor"}, "saves no fsdp_dtensor of a run "
     "with sharding zero1"),
    ({"resume_from": "tp=2,pp=2,dp=2", "layout": "uneven"}, "layout: uneven would move layers"),
    ({"resume_from": "tp=2,pp=2,dp=2", "layout": "15,17"}, "allowed: uniform"),
    ({"checkpoint": "torch"}, "has no effect without resume-from"),
    ({"resume_from": "tp=4,dp=4", "fix": {"tp": ["2"]}}, "fix: tp=2 contradicts resume-from"),
    ({"resume_from": "dp=4", "framework": "deepspeed"}, "of 4 chips is loaded on as many"),
    ({"resume_from": "dp=8", "pes": [64, 132]}, "the question is about several"),
    ({"resume_from": "dp=8", "framework": "nanotron", "checkpoint": "torch"}, "(nanotron)"),
])  # fmt: skip
def test_what_cannot_be_resumed_is_refused(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError) as caught:
        planner.solve(**{**SMALL, "framework": "megatron", **fields})
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_checkpoint_has_the_adapters_of_its_own_job(tmp_path: Path) -> None:
    asked = {**SMALL, "framework": "fsdp", "seq_len": 2048, "batch_tokens": 2**15}
    tuned = {**asked, "job": "lora", "lora_rank": 8}
    assert planner.solve(**tuned, resume_from="dp=8").best is not None  # FSDP has no zero1
    path = tmp_path / "plan.yaml"
    resolved = resolve(request_from(tuned))
    path.write_text(plan_text(resolved, Plan(dp=8, sharding="ddp"), []), encoding="utf-8")
    assert planner.solve(**tuned, resume_from=str(path)).best is not None
    for other in ({**asked, "job": "finetune"}, {**tuned, "lora_rank": 16}):
        with pytest.raises(InputError, match="does not hold what this job"):
            planner.solve(**other, resume_from=str(path))


def written(folder: Path, plan: Plan, name: str = "run.yaml", **change: Any) -> str:
    """A plan file of the small job, with some fields of it changed."""
    path = folder / name
    path.write_text(plan_text(resolve(request_from({**SMALL, **change})), plan, []), "utf-8")
    return str(path)


def test_a_run_of_another_model_or_framework_is_refused(tmp_path: Path) -> None:
    own = {**SMALL, "framework": "megatron"}
    other = written(tmp_path, Plan(dp=8, sharding="ddp"), model="llama2-7b", framework="megatron")
    said = "is a run of llama2-7b, and the question is about llama3-8b, whose weights are others"
    with pytest.raises(InputError, match=said):
        planner.solve(**own, resume_from=other)
    path = written(tmp_path, Plan(fsdp=8, sharding="zero3"), framework="torchtitan")
    with pytest.raises(InputError, match=r"is a run of torchtitan, .* give --framework torchtitan"):
        planner.solve(**own, resume_from=path)
    toml = tmp_path / "run.toml"
    toml.write_text('[model]\nname = "llama3"\nflavor = "8B"\n[training]\nseq_len = 8192\n'
                    "local_batch_size = 1\n[activation_checkpoint]\nmode = 'full'\n"
                    "[parallelism]\ndata_parallel_shard_degree = 8\n",
                    "utf-8")  # fmt: skip
    with pytest.raises(InputError, match=r"is a launch of torchtitan, .* give --framework tor"):
        planner.solve(**own, resume_from=str(toml))
    assert planner.solve(**{**own, "framework": "torchtitan"}, resume_from=str(toml)).best


def test_a_run_that_its_framework_cannot_have_had_is_refused(tmp_path: Path) -> None:
    own = {**SMALL, "framework": "torchtitan"}
    with pytest.raises(InputError, match=r"resume-from: .*torchtitan has no sharding 'zero2'"):
        planner.solve(
            **own,
            resume_from=written(tmp_path, Plan(dp=8, sharding="zero2"), framework="torchtitan"),
        )


def test_data_ranks_that_a_text_leaves_out_are_those_of_the_chips() -> None:
    asked = {**SMALL, "framework": "megatron"}
    found, whole = (
        planner.solve(**asked, resume_from=text) for text in ("tp=2,pp=2", "tp=2,pp=2,dp=2")
    )
    assert found.best is not None
    assert whole.best is not None
    assert found.best.plan == whole.best.plan
    lines = [one for one in found.notes.caveats if one.startswith("the layout of the run")]
    assert "assumed of the run, to be corrected in resume-from: dp=2, " in lines[0]
    assert resumed_row(found) == [("gain", lines)]
    assert lines[0] not in caveats_row(found)[0][1]
    with pytest.raises(InputError, match="does not say dp, and the 8 chips of the question are no"):
        planner.solve(**asked, resume_from="tp=16")
    with pytest.raises(InputError, match="the question leaves the number of chips open; add it"):
        planner.solve(**{**asked, "chips": None, "chips_at_most": 8}, resume_from="tp=2")


@each(
    ("text", "line"),
    [
        ("", "resume-from: is empty; give a plan file, a launch or a mesh"),
        (" ", "resume-from: is empty; give a plan file, a launch or a mesh"),
        ("tp=3,dp=8", "resume-from: tp 3 does not divide the 32 attention heads"),
        ("ep=2,dp=8", "resume-from: ep 2: llama3-8b has no experts; allowed: 1"),
    ],
)
def test_a_run_that_no_model_has_is_named_as_such(text: str, line: str) -> None:
    with pytest.raises(InputError) as error:
        planner.solve(**SMALL, resume_from=text)
    assert str(error.value).startswith(line)


def test_a_run_is_kept_at_each_value() -> None:
    fields = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "axes": ["dp", "tp"]}
    values = ["1x", "2x"]
    found = planner.vary({"memory.bandwidth": values}, **fields, resume_from="tp=2,dp=4")
    for point, value in zip(found.points, values, strict=True):
        changed = planner.solve(
            **fields, resume_from="tp=2,dp=4", set=[f"memory.bandwidth={value}"]
        )
        assert point.best is not None
        assert changed.best is not None
        assert point.best.plan.tp == 2
        assert point.best.step_time_s == changed.best.step_time_s
        assert any(line.startswith("the checkpoint ") for line in point.answer.notes.caveats)
