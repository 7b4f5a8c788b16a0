"""`planner export` on the command line."""

import json
import os
from pathlib import Path

import pytest
from frameworks.export.cases import CASES, Case
from support.cases import each

from cli.command import planner
from planner.frameworks.targets import TARGETS, Target
from planner.frameworks.writing import export_plan
from planner.question.files.plan_text import plan_fields
from strict_yaml.writing import dump as dump_yaml


def written(case: Case, path: Path, **plan: object) -> Path:
    """A plan file of a case, with some fields of the plan replaced."""
    job = {
        "model": case.model,
        "hardware": case.hardware,
        "framework": case.framework,
        "seq_len": case.seq_len,
        "batch_tokens": case.seq_len * case.global_batch,
    }
    data = {"schema_version": 1, "job": job, "plan": {**plan_fields(case.plan), **plan}}
    path.write_text(dump_yaml(data), encoding="utf-8")
    return path


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    return written(CASES["uneven"], tmp_path / "plan.yaml")


def test_the_main_text_alone_is_on_standard_output(plan: Path) -> None:
    outcome = planner("export", str(plan), "--to", "megatron")
    assert outcome.code == 0
    assert outcome.out.startswith("#!/")
    assert "--pipeline-model-parallel-layout" in outcome.out
    assert "note: -o FOLDER writes args.txt as well" in outcome.err


def test_a_folder_gets_all_files(plan: Path, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "launch"
    outcome = planner("export", str(plan), "--to", "megatron", "-o", str(folder))
    assert outcome.code == 0, outcome.err
    assert sorted(path.name for path in folder.iterdir()) == ["args.txt", "run.sh"]
    assert "Launch" in outcome.out
    assert "CUDA_DEVICE_MAX_CONNECTIONS" in outcome.out


def test_json_holds_everything(plan: Path) -> None:
    outcome = planner("export", str(plan), "--to", "megatron", "--json")
    document = json.loads(outcome.out)
    assert document["target"] == "megatron"
    assert set(document["files"]) == {"run.sh", "args.txt"}
    assert document["unsupported"] == []
    assert document["job"]["model"] == "llama2-13b"
    assert document["step_time_s"] > 0
    assert document["environment"]["CUDA_DEVICE_MAX_CONNECTIONS"] == "1"


def test_hosts_of_racks_are_named(tmp_path: Path) -> None:
    path = written(CASES["latent-experts"], tmp_path / "plan.yaml")
    folder = tmp_path / "launch"
    outcome = planner("export", str(path), "--to", "megatron", "-o", str(folder))
    assert "16 of the 18 hosts of each of 4 nvlink domains" in outcome.out
    assert "# 16 of the 18 hosts" in (folder / "run.sh").read_text(encoding="utf-8")
    printed = planner("export", str(path), "--to", "megatron")
    assert "note: hosts: 16 of the 18 hosts" in printed.err
    document = json.loads(planner("export", str(path), "--to", "megatron", "--json").out)
    assert "--segment=16" in document["hosts"][1]


def test_what_cannot_be_run_is_refused_by_field_and_nothing_is_written(
    plan: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "launch"
    outcome = planner("export", str(plan), "--to", "accelerate", "-o", str(folder))
    assert outcome.code == 2
    lines = outcome.err.splitlines()
    assert any(line.startswith("error: mesh: accelerate (fsdp) has no pipeline") for line in lines)
    assert "planner solve --runnable-in accelerate" in lines[-1]
    assert not folder.exists()
    lossy = planner("export", str(plan), "--to", "accelerate", "--allow-lossy", "-o", str(folder))
    assert lossy.code == 0
    assert "Hugging Face Accelerate runs another plan" in lossy.out
    assert (folder / "accelerate.yaml").exists()


@each("target", TARGETS.values())
def test_every_target_and_version_writes_something(target: Target, tmp_path: Path) -> None:
    path = written(CASES["one-chip"], tmp_path / "plan.yaml")
    for version in target.versions:
        flags = ("--target-version", version) if version else ()
        outcome = planner("export", str(path), "--to", target.name, "--allow-lossy", *flags)
        assert outcome.code == 0, outcome.err
        assert len(outcome.out.splitlines()) > 10
        assert "note: launch of " not in outcome.out


@each("target", TARGETS.values())
def test_how_it_is_launched_is_on_standard_error(target: Target, tmp_path: Path) -> None:
    case = CASES["dense-sharded"]
    path = written(case, tmp_path / "plan.yaml")
    export = export_plan(case.cost(), case.plan, target, allow_lossy=True)
    printed = planner("export", str(path), "--to", target.name, "--allow-lossy").err.splitlines()
    main = export.files[0].name
    for line in export.command.splitlines():
        assert f"note: launch of {main}: {line}" in printed
    for name, value in export.environment:
        assert f"note: environment: {name}={value}" in printed


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "to: is missing; say what runs the plan, e.g. --to megatron, of megatron,"),
        (("--to", "megatorn"), "error: to: 'megatorn' is not one of"),
        (("--to", "megatorn"), "did you mean 'megatron'"),
        (("--to", "torchtitan", "--target-version", "0.1"), "target-version: '0.1' is not one of"),
        (("--to", "megatron", "--target-version", "3"), "'3' is not one of 0.16, 0.19, 0.18"),
        (("--to", "megatron", "--row", "2"), "row"),
    ],
)
def test_bad_arguments(plan: Path, arguments: tuple[str, ...], words: str) -> None:
    outcome = planner("export", str(plan), *arguments)
    assert outcome.code == 2
    assert words in outcome.err
    assert not outcome.out


@each(
    ("changes", "words"),
    [
        ({"micro_batch": 7}, "does not divide the global batch"),
        ({"clock": float("nan")}, "clock"),
        ({"mesh": {"tp": 3}}, "does not divide the 40 attention heads"),
        ({"stages": "9,11,11,8"}, "40"),
        ({"schedule": "1f2b"}, "1f2b"),
        ({"invented": 1}, "invented"),
    ],
)
def test_plans_that_break_a_rule(tmp_path: Path, changes: dict[str, object], words: str) -> None:
    path = written(CASES["uneven"], tmp_path / "plan.yaml", **changes)
    outcome = planner("export", str(path), "--to", "megatron", "--allow-lossy")
    assert outcome.code == 2
    assert words in outcome.err
    assert "Traceback" not in outcome.err


@each(
    "content",
    [b"", b"\x00\x01\x02binary", b"- a list", b"schema_version: 2\njob: {}\nplan: {}\n", b"{" * 99],
)
def test_files_that_are_no_plan(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "plan.yaml"
    path.write_bytes(content)
    outcome = planner("export", str(path), "--to", "megatron")
    assert outcome.code == 2
    assert outcome.err.startswith("error: ")
    assert "Traceback" not in outcome.err


def test_a_folder_that_cannot_be_written(plan: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("mine", encoding="utf-8")
    for folder in (file, file / "inside"):
        outcome = planner("export", str(plan), "--to", "megatron", "-o", str(folder))
        assert outcome.code == 2
        assert str(folder) in outcome.err
    assert file.read_text(encoding="utf-8") == "mine"
    plan_named_so = tmp_path / "run.sh"
    os.replace(plan, plan_named_so)
    outcome = planner("export", str(plan_named_so), "--to", "megatron", "-o", str(tmp_path))
    assert outcome.code == 2
    assert "the plan file that is read" in outcome.err


def test_pools_of_chips_are_for_no_target(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    job = "{model: llama3-8b, pools: {dgx-h100-ndr: 8, dgx-a100-80-hdr: 8}, batch_tokens: 1048576}"
    stages = "[{layers: 20, pool: dgx-h100-ndr}, {layers: 12, pool: dgx-a100-80-hdr}]"
    path.write_text(
        f"schema_version: 1\njob: {job}\nplan: {{mesh: {{dp: 8, pp: 2}}, stages: {stages}}}\n",
        encoding="utf-8",
    )
    outcome = planner("export", str(path), "--to", "megatron")
    assert outcome.code == 2
    assert outcome.err.startswith("error: pools: ")


def test_another_optimizer_takes_the_place_of_that_of_the_plan(plan: Path) -> None:
    """Written where the target names it; the prediction, `evaluate` too, has its memory."""
    written_as = planner("export", str(plan), "--to", "megatron", "--optimizer", "adam-fp8")
    assert "--exp-avg-dtype fp8" in written_as.out
    refusal = planner("export", str(plan), "--to", "megatron", "--optimizer", "adafactor")
    assert refusal.code == 2
    assert "optimizer: megatron is not told of adafactor; allowed: adam, adam-bf16" in refusal.err
    other = planner("export", str(plan), "--to", "megatron", "--optimizer", "adafactor",
                    "--allow-lossy")  # fmt: skip
    assert "unsupported: optimizer: megatron is not told of adafactor" in other.err
    kept = []
    for name in ("adam", "adam-fp8"):
        asked = planner("evaluate", str(plan), "--optimizer", name, "--json")
        parts = json.loads(asked.out)["breakdown"]["memory_bytes"]
        kept.append(parts["optimizer"])
    assert kept[1] == pytest.approx(kept[0] / 2)  # 4 + 1 + 1 bytes in the place of 4 + 4 + 4


def test_an_empty_word_is_none(plan: Path) -> None:
    words = ("--to", "megatron", "--target-version", "", "--launcher", "")
    outcome = planner("export", str(plan), *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert "target-version: is empty; " in outcome.err
    assert "launcher: is empty; allowed: slurm, " in outcome.err
