"""Rules about chips: those that software sees as several devices, and those without kernels."""

import re
from dataclasses import replace
from pathlib import Path

from support.cases import each

import planner
from frameworks.export.cases import CASES, Case
from hardware_db import load_chip, load_cluster
from planner.answers.diagnosis.uniform import refused_jobs
from planner.frameworks.rules import applicable, broken
from planner.frameworks.rules.alike import DEVICE_FILE
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing.export import Export
from planner.frameworks.writing.exporting import export_plan
from planner.plan import Plan, PlanTable
from planner.question.options import SpaceOptions

SHARDED = CASES["dense-sharded"]
SEVERAL = {"mi250x": 2, "tpu-v2": 2, "tpu-v3": 2, "tpu-v7": 2, "trainium1": 2, "trainium2": 4}


def told(case: Case, target: str, version: str = "") -> dict[str, str]:
    table = PlanTable.from_plans([case.plan])
    found = broken(case.cost(), table, target=TARGETS[target], version=version)
    return {rule.name: line for rule, line in found}


ON_TPUS = ("maxtext", "jax")
ELSEWHERE = {
    "mi250x-slingshot": tuple(TARGETS), "tpu-v2": ON_TPUS, "tpu-v3": ON_TPUS, "tpu-v7": ON_TPUS,
    "trn2": ("jax",),
}  # fmt: skip
"""Clusters to the targets that run on their chips."""


@each("target", TARGETS)
@each("hardware", ELSEWHERE)
def test_chips_of_several_devices_are_refused_everywhere(target: str, hardware: str) -> None:
    case = replace(SHARDED, hardware=hardware)
    chip = case.cost().chip
    table = PlanTable.from_plans([case.plan])
    found = broken(case.cost(), table, target=TARGETS[target])
    (line,) = [line for rule, line in found if rule.field == "hardware"]
    if target in ELSEWHERE[hardware]:
        assert f"{chip.title} is {SEVERAL[chip.name]} devices" in line
        assert "docs/files.md" in line
    else:
        assert "devices" not in line
    assert "fsdp" not in line


@each(
    ("hardware", "target", "told_of"),
    [("trn1", "maxtext", "maxtext runs on TPUs"), ("tpu-v3", "maxtext", "is 2 devices")],
)
def test_a_search_says_one_thing_about_chips(hardware: str, target: str, told_of: str) -> None:
    options = SpaceOptions(runnable_in=(TARGETS[target],))
    refused = refused_jobs(replace(SHARDED, hardware=hardware).cost(), 64, options)
    (line,) = [line for line in refused if "device" in line or "runs on" in line]
    assert told_of in line


def test_idle_devices_are_told_of_what_is_written_all_the_same() -> None:
    written = lines(write(replace(SHARDED, hardware="mi250x-slingshot"), "megatron"))
    assert "hardware: predicted with whole chips, each 2 devices: the 64 ranks" in written
    assert "64 of the 128 devices" in written
    assert "idle" not in lines(write(SHARDED, "megatron"))


def test_the_page_that_the_message_names_has_the_section() -> None:
    page, section = re.search(r"(docs/\S+) \((.*)\)", DEVICE_FILE).groups()  # type: ignore[union-attr]
    text = (Path(__file__).parents[3] / page).read_text(encoding="utf-8")
    assert f"# {section}\n" in text


def test_the_memory_of_a_device_is_said() -> None:
    line = told(replace(SHARDED, hardware="mi250x-slingshot"), "megatron")["chip-devices"]
    assert "of 64 GiB" in line


@each("hardware", ["dgx-h100-ndr", "mi300x-8way", "dgx-b200-ndr", "tpu-v5p"])
def test_other_chips_are_one_device(hardware: str) -> None:
    for target in TARGETS:
        assert "chip-devices" not in told(replace(SHARDED, hardware=hardware), target)


def test_a_search_without_a_target_takes_them() -> None:
    cost = replace(SHARDED, hardware="mi250x-slingshot").cost()
    assert "chip-devices" not in [rule.name for rule in applicable(cost.framework)]


@each(("name", "devices"), SEVERAL.items())
def test_records_say_how_many_devices_a_chip_is(name: str, devices: int) -> None:
    chip = load_chip(name)
    assert chip.devices == devices
    assert chip.quantities["devices"].value == devices


VOLTA = "dgx1-v100"
OLD = replace(SHARDED, model="gpt3-1.3b", hardware=VOLTA, precision="fp16", seq_len=2048)


def write(case: Case, target: str, version: str = "", **changes: object) -> Export:
    plan = replace(case.plan, **changes)
    return export_plan(case.cost(), plan, TARGETS[target], version=version, allow_lossy=True)


def lines(found: Export) -> str:
    return "\n".join(f"{lost.field}: {lost.reason}" for lost in found.lossy)


@each("target", ["deepspeed", "accelerate"])
@each(("model", "kernel"), [("gpt3-1.3b", "sdpa"), ("gemma2-9b", "eager")])
def test_chips_before_ampere_get_no_flash_attention(target: str, model: str, kernel: str) -> None:
    case = replace(OLD, model=model)
    text = {file.name: file.text for file in write(case, target).files}["train.py"]
    assert f"ATTENTION = '{kernel}'" in text


def test_deepspeed_loses_windows_there() -> None:
    case = replace(OLD, model="mistral-7b", plan=Plan(fsdp=8, cp=8, sharding="zero3"))
    case = replace(case, plan=replace(case.plan, cp_mode="all-to-all"))
    assert "Ampere" in told(case, "deepspeed")["deepspeed-windows"]
    assert "deepspeed-windows" not in told(replace(case, hardware="dgx-h100-ndr"), "deepspeed")


LLAMA = replace(OLD, model="llama3-8b", plan=replace(CASES["long"].plan, sharding="zero3"))
REFUSED = {
    "nanotron-flash": (OLD, "nanotron", ""),
    "megatron-context-chips": (replace(LLAMA, plan=CASES["long"].plan), "megatron", ""),
    "maxtext-ring-gpus": (LLAMA, "maxtext", ""),
    "torchtitan-context-kernel-0.2": (LLAMA, "torchtitan", "0.2"),
}


@each("name", REFUSED)
def test_what_needs_the_kernel_is_refused(name: str) -> None:
    case, target, version = REFUSED[name]
    assert load_cluster(VOLTA).chip.title in told(case, target, version)[name]
    for hardware in ("dgx-a100-80-hdr", "mi300x-8way"):
        assert name not in told(replace(case, hardware=hardware), target, version)
    if "context" in name or "ring" in name:
        alone = replace(case, plan=replace(case.plan, cp=1))
        assert name not in told(alone, target, version)


@each("name", ["maxtext-ring-gpus", "torchtitan-context-kernel-0.2"])
def test_nor_does_it_run_in_32_bits(name: str) -> None:
    case, target, version = REFUSED[name]
    case = replace(case, precision="fp32", hardware="dgx-h100-ndr")
    assert "fp32" in told(case, target, version)[name]


def test_megatron_attends_by_products_there() -> None:
    found = write(OLD, "megatron", sharding="ddp", fsdp=1, dp=64)
    assert "--attention-backend unfused" in found.files[1].text
    assert "fused attention" not in lines(found)  # the prediction counts the scores
    newer = write(replace(OLD, hardware="dgx-h100-ndr"), "megatron", sharding="ddp", fsdp=1, dp=64)
    assert "--attention-backend" not in newer.files[1].text
    assert "fused attention" not in lines(newer)


def test_an_era_without_fused_attention_counts_the_scores() -> None:
    cost = OLD.cost()
    early = replace(cost, job=replace(cost.job, era="megatron-2022"))
    found = export_plan(early, Plan(dp=64), TARGETS["megatron"])
    assert "--attention-backend unfused" in found.files[1].text
    assert "fused attention" not in lines(found)


@each("model", ["llama2-7b", "deepseek-v2-lite", "gpt-oss-20b", "gemma2-9b"])
def test_maxtext_attends_by_products_there(model: str) -> None:
    found = write(replace(OLD, model=model), "maxtext")
    assert "attention: dot_product" in found.files[0].text
    assert "fused attention" not in lines(found)
    assert "cuDNN" not in lines(found)


def test_maxtext_attends_by_products_in_32_bits() -> None:
    newer = replace(OLD, model="llama2-7b", hardware="dgx-h100-ndr", precision="fp32")
    assert "fused attention runs in 16 bits, not in fp32" in lines(write(newer, "maxtext"))


def test_torchtitan_attends_by_products_in_32_bits() -> None:
    case = replace(SHARDED, precision="fp32")
    assert "precision: torchtitan 0.2 has no fused attention" in lines(
        write(case, "torchtitan", "0.2")
    )
    assert "fused attention" not in lines(write(case, "torchtitan", "0.3"))


@each(
    ("hardware", "line"),
    [
        ("gaudi2", "framework: the constants of deepspeed were fitted on other chips"),
        ("tpu-v5p", "framework: deepspeed is not the usual one on Google chips, which is jax; its "
         "constants were fitted on other chips"),
    ],
)  # fmt: skip
def test_a_framework_that_does_not_run_there_is_no_advice(hardware: str, line: str) -> None:
    """The rules refuse Megatron-LM, which is the usual one elsewhere, on Intel's chips."""
    job = {"model": "llama3-8b", "hardware": hardware, "framework": "deepspeed"}
    plan = Plan(fsdp=8, sharding="zero3")
    found = planner.evaluate(plan, **job, batch_tokens=2**20, seq_len=8192)
    assert line in found.warnings
