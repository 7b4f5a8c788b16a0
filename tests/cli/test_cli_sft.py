"""`sft` is read as `finetune` wherever a job is named: flags, job files, plan files, completion."""

from __future__ import annotations

import json
from pathlib import Path

from cli.command import planner, refused, solve
from planner.cli.completing import one_of
from planner.question.request import Request
from strict_yaml.reading import load
from strict_yaml.writing import dump

JOB = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8")


def test_flags_and_job_files(tmp_path: Path) -> None:
    meant = solve(*JOB, "--job", "finetune")
    said = solve(*JOB, "--job", "sft")
    assert said["question"] == meant["question"]
    assert said["best"] == meant["best"]
    assert said["question"]["asked"]["job"] == "finetune"
    job = tmp_path / "job.yaml"
    fields = {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "job": "sft"}
    job.write_text(dump(fields), encoding="utf-8")
    assert solve(job)["best"] == meant["best"]


def test_plan_files(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    assert planner("solve", *JOB, "--job", "sft", "-o", plan).code == 0
    content = load(plan.read_bytes())
    assert content["job"]["job"] == "finetune"
    assert content["job"]["framework"] == "fsdp"
    assert content["job"]["batch_tokens"] == 32 * 2048
    first = planner("evaluate", plan, "--json").document
    plan.write_text(dump({**content, "job": {**content["job"], "job": "sft"}}), encoding="utf-8")
    again = planner("evaluate", plan, "--json").document
    assert {**again, "digest": ""} == {**first, "digest": ""}


def test_completion_schema_and_messages_have_both() -> None:
    words = ["pretrain", "finetune", "lora", "sft", "qlora", "dora", "dpo", "dpo-lora"]
    assert one_of("job")("") == words
    assert one_of("job")("s") == ["sft"]
    assert Request.model_json_schema()["properties"]["job"]["enum"] == words
    assert json.loads(planner("schema").out)  # whole and readable with it
    line = refused("solve", *JOB, "--job", "stf")[0]
    assert "'stf' is not one of pretrain, finetune, lora, sft" in line
