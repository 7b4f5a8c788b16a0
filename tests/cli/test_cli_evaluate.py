"""`planner evaluate`: a plan file reproduces what `solve` said, to the last digit."""

import re
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from cli.answers import SMALL
from cli.command import planner, refused, solve
from cli.jobs import H100, JOBS
from cli.plan_files import COSTS, DECISIONS, edited, evaluate
from planner.base.units import show_bytes
from strict_yaml.reading import load as load_yaml


@each("name", JOBS)
def test_the_written_plan_reproduces_every_figure(name: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    answer = solve(*JOBS[name], "-o", path)
    again = evaluate(path)
    for key in (*COSTS, *DECISIONS, "chips", "micro_batches", "placement"):
        assert again[key] == answer["best"][key], key
    assert again["fits"] is True
    assert again["warnings"] == []
    assert {**again["versions"], "schema": "2"} == answer["versions"]
    for key, value in answer["question"]["job"].items():
        assert again["job"][key] == value, key


def test_the_file_is_for_people(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert text.startswith("# gpt3-125m on 8 x h100-sxm5-80: ")
    assert "planner evaluate plan.yaml" in text
    data = load_yaml(text)
    assert list(data) == ["schema_version", "job", "plan"]
    assert data["schema_version"] == 1
    assert all(len(line) <= 110 for line in text.splitlines())
    assert "!!" not in text


def test_the_written_job_holds_every_default(written: Path) -> None:
    job = load_yaml(written.read_text(encoding="utf-8"))["job"]
    assert job == {
        "model": "gpt3-125m", "hardware": "h100-sxm5-80", "batch_tokens": 4_194_304,
        "seq_len": 2048, "precision": "bf16", "job": "pretrain", "framework": "megatron",
        "era": "megatron-core", "assumptions": "calibrated", "cooling": "air", "pue": 1.1,
    }  # fmt: skip
    assert evaluate(written)["defaults"] == []


def test_a_plan_that_needs_the_limit_of_solve_still_fits(tmp_path: Path) -> None:
    """A plan found under --max-memory beyond the framework's share must not warn afterwards."""
    path = tmp_path / "plan.yaml"
    flags = ("--model", "llama2-13b", *H100, "--chips", "8",
             "--fix", "recompute=none", "--fix", "pp=1", "--fix", "dp=8")  # fmt: skip
    by_default = planner("solve", *flags, "--json")
    assert by_default.code == 3, "no plan fits the default limit"
    answer = solve(*flags, "--max-memory", "82GB", "-o", path)
    assert answer["best"]["memory_per_chip_bytes"] > 75e9, "chosen so that the default is exceeded"
    again = evaluate(path)
    assert again["step_time_s"] == answer["best"]["step_time_s"]
    assert again["fits"] is True, again["warnings"]


def test_a_user_file_is_found_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A plan that names `my.yaml` must evaluate wherever it is called from, or say which file."""
    example = resources.files("models_db") / "data" / "examples" / "my-model.yaml"
    (tmp_path / "my-model.yaml").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    answer = solve("--model", "my-model.yaml", *H100, "--chips", "8", "-o", "plan.yaml")
    assert evaluate(Path("plan.yaml"))["step_time_s"] == answer["best"]["step_time_s"]
    monkeypatch.chdir(tmp_path.parent)
    assert evaluate(tmp_path / "plan.yaml")["step_time_s"] == answer["best"]["step_time_s"]


def test_a_plan_elsewhere_still_finds_the_files_of_its_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    example = resources.files("models_db") / "data" / "examples" / "my-model.yaml"
    (tmp_path / "my-model.yaml").write_text(example.read_text(encoding="utf-8"), encoding="utf-8")
    (tmp_path / "slow.yaml").write_text("tp_overlap: 0.0\n", encoding="utf-8")
    (tmp_path / "plans").mkdir()
    monkeypatch.chdir(tmp_path)
    flags = ("--model", "my-model.yaml", *H100, "--chips", "8", "--assumptions", "slow.yaml")
    answer = solve(*flags, "-o", "plan.yaml")
    job = load_yaml((tmp_path / "plan.yaml").read_text(encoding="utf-8"))["job"]
    assert (job["model"], job["assumptions"]) == ("my-model.yaml", "slow.yaml")
    solve(*flags, "-o", "plans/plan.yaml")
    monkeypatch.chdir(tmp_path.parent)
    for path in (tmp_path / "plan.yaml", tmp_path / "plans" / "plan.yaml"):
        assert evaluate(path)["step_time_s"] == answer["best"]["step_time_s"]


def test_what_follows_from_a_field_goes_with_it(tmp_path: Path) -> None:
    """A limit on the memory of one chip says nothing about another one."""
    path = tmp_path / "plan.yaml"
    solve(*SMALL, "-o", path, "--max-memory", "80GB")
    assert evaluate(path, "--hardware", "a100-sxm4-40")["job"]["chip"] == "a100-sxm4-40"
    assert evaluate(path, "--framework", "jax", "--era", "nanotron")["job"]["era"] == "nanotron"
    lines = refused("evaluate", path, "--max-memory", "90GB")
    assert lines == ["max-memory: 90 GB is more than the 85.5 GB of each h100-sxm5-80"]


def test_mistakes_of_flags_and_of_the_file_at_once(written: Path) -> None:
    path = edited(written, lambda data: data["job"].update(precision="bf17"))
    lines = refused("evaluate", path, "--max-memory", "80Gb", "--hardware", "nohardware")
    assert sorted(line.split(": ")[0] for line in lines) == [
        str(path), "hardware", "max-memory",
    ]  # fmt: skip


def test_flags_override_the_file(written: Path) -> None:
    base = evaluate(written)
    assert evaluate(written, "--hardware", "h200-sxm5-141")["job"]["chip"] == "h200-sxm5-141"
    assert evaluate(written, "--precision", "fp8")["step_time_s"] < base["step_time_s"]
    assert evaluate(written, "--framework", "torchtitan")["job"]["framework"] == "torchtitan"
    assert evaluate(written, "--max-memory", "1GB")["fits"] is False
    run = evaluate(
        written, "--train-tokens", "1e9", "--price-per-chip-hour", "2", "--carbon-intensity", "100"
    )["training_run"]
    hours = 1e9 / base["tokens_per_s"] / 3600 / run["goodput"]["share"]
    assert run["cost"] == pytest.approx(hours * 8 * 2, rel=1e-12)


def test_another_framework_brings_its_own_era(written: Path) -> None:
    """The era of a plan file is the framework's; another framework must not keep it silently."""
    answer = evaluate(written, "--framework", "jax")
    assert answer["job"]["era"] == "jax" or any("era" in line for line in answer["warnings"])


def test_other_chips_have_another_compiler(tmp_path: Path) -> None:
    """The era of Gaudi's compiler is taken there, refused elsewhere, and goes with the chips."""
    path = tmp_path / "plan.yaml"
    job = ("--model", "gpt3-125m", "--chips", "8")
    solve(*job, "--hardware", "gaudi3", "-o", path)
    assert evaluate(path)["job"]["era"] == "gaudi"
    assert evaluate(path, "--hardware", "h100-sxm5-80")["job"]["era"] == "megatron-core"
    assert evaluate(path, "--hardware", "trainium2")["job"]["era"] == "neuron"
    (line,) = refused("evaluate", path, "--hardware", "xeon-clx-socket", "--era", "gaudi")
    assert line.startswith(
        "era: gaudi is the compiler for Gaudi chips of Intel alone, not for xeon"
    )


def test_an_edit_by_hand(written: Path) -> None:
    def to_tensor_parallel(data: Any) -> None:
        data["plan"]["mesh"] = {"tp": 2, "dp": 4}
        del data["plan"]["sequence_parallel"]

    answer = evaluate(edited(written, to_tensor_parallel))
    assert answer["mesh"] == {"dp": 4, "fsdp": 1, "tp": 2, "cp": 1, "ep": 1, "pp": 1}
    assert answer["sequence_parallel"] is True, "on by default where tp > 1"
    expected = solve(*SMALL, "--fix", "tp=2", "--fix", "dp=4")["certificate"]["objective"]
    assert answer["step_time_s"] >= expected * (1 - 1e-12)


def test_a_minimal_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "schema_version: 1\njob: {model: gpt3-125m, hardware: h100-sxm5-80}\n"
        "plan: {mesh: {dp: 8}, micro_batch: 4}\n",
        encoding="utf-8",
    )
    answer = evaluate(path)
    assert answer["chips"] == 8
    assumed = {row["name"]: row["value"] for row in answer["defaults"]}
    plan = {name: value for name, value in assumed.items() if name.startswith("plan.")}
    assert assumed.keys() - plan.keys() == {
        "framework", "seq-len", "batch-tokens", "precision", "era", "cooling", "pue",
    }  # fmt: skip
    assert plan == {
        "plan.schedule": "1f1b", "plan.interleave": "1", "plan.sharding": "zero1",
        "plan.sequence_parallel": "false", "plan.cp_mode": "ring", "plan.recompute": "none",
        "plan.offload": "nothing", "plan.placement": "tp, cp, fsdp, dp, pp", "plan.split": "even",
        "plan.clock": "1.0",
    }  # fmt: skip
    assert "plan.sharding" in planner("evaluate", path, "--show", "assumed").out


def test_explicit_stages(written: Path) -> None:
    def to_stages(layers: list[int]) -> Any:
        def change(data: Any) -> None:
            data["plan"].update(
                mesh={"dp": 4, "pp": 2},
                micro_batch=8,
                stages=[{"layers": count} for count in layers],
            )

        return change

    even = evaluate(edited(written, to_stages([6, 6])))
    uneven = evaluate(edited(written, to_stages([5, 7])))
    assert [stage["layers"] for stage in even["stages"]] == [6, 6]
    assert uneven["step_time_s"] > even["step_time_s"] * 0.9
    assert uneven["step_time_s"] != even["step_time_s"]
    lines = refused("evaluate", edited(written, to_stages([6, 7])))
    assert "12" in lines[0], "the layers of the model"


@pytest.mark.parametrize(("change", "words"), [
    ({"mesh": {"tp": 5, "dp": 1}}, r"12.*(4|6)"),
    ({"mesh": {"dp": 3}}, "2048|batch"),
    ({"mesh": {"dp": 8}, "micro_batch": 3}, "micro-batch 3"),
    ({"mesh": {"pp": 7, "dp": 1}}, "12|layers"),
    ({"mesh": {"ep": 2, "dp": 8}}, "ep|expert"),
    ({"mesh": {"dp": 262144}, "micro_batch": 1}, "262,?144|batch|chips"),
    ({"interleave": 2}, "interleave"),
])  # fmt: skip
def test_a_plan_that_cannot_be(written: Path, change: dict[str, Any], words: str) -> None:
    path = edited(written, lambda data: data["plan"].update(change))
    lines = refused("evaluate", path)
    assert any(re.search(words, line) for line in lines), lines


def test_a_plan_that_the_framework_cannot_run_warns(written: Path) -> None:
    change = {"mesh": {"dp": 4, "pp": 2}, "micro_batch": 4, "schedule": "zero-bubble"}
    answer = evaluate(edited(written, lambda data: data["plan"].update(change)))
    assert answer["warnings"]
    assert "zero-bubble" in answer["warnings"][0]


def test_a_plan_that_does_not_fit_says_by_how_much(written: Path) -> None:
    path = edited(written, lambda data: data["job"].update(model="llama2-70b", seq_len=4096))
    path = edited(path, lambda data: data["plan"].update(mesh={"dp": 8}, micro_batch=1))
    answer = evaluate(path)
    assert answer["fits"] is False
    assert any(line.startswith("memory: ") for line in answer["warnings"])
    outcome = planner("evaluate", path)
    assert outcome.code == 0
    assert "Warning: memory: " in outcome.out


def test_host_memory_that_does_not_fit_is_named(tmp_path: Path) -> None:
    """`fits` looks at the host too: the warning must not claim that the chip's memory is full."""
    path = tmp_path / "plan.yaml"
    path.write_text(
        "schema_version: 1\njob: {model: gpt3-175b, hardware: h100-sxm5-80}\n"
        "plan: {mesh: {tp: 16}, micro_batch: 64, sharding: ddp,\n"
        "  offload: [optimizer, weights, activations]}\n",
        encoding="utf-8",
    )
    answer = evaluate(path)
    assert answer["memory_per_chip_bytes"] < 70e9, "chosen so that only the host is too small"
    assert answer["fits"] is False
    assert "host" in answer["warnings"][0], answer["warnings"]


def test_zero3_without_shards_is_not_accepted_in_silence(written: Path) -> None:
    """`sharding: zero3` on a mesh of dp 8 shards nothing: that is not what was meant."""
    path = edited(written, lambda data: data["plan"].update(sharding="zero3"))
    outcome = planner("evaluate", path, "--json")
    said = outcome.err if outcome.code == 2 else " ".join(outcome.document["warnings"])
    assert "fsdp" in said


@each(("text", "words"), [
    ("", "mapping"),
    ("schema_version: 2\njob: {model: gpt3-125m}\nplan: {}\n", "schema_version is 2"),
    ("job: {model: gpt3-125m}\nplan: {}\n", "schema_version"),
    ("schema_version: 1\nplan: {}\n", "job: is missing"),
    ("schema_version: 1\njob: {model: gpt3-125m}\n", "plan: is missing"),
    ("schema_version: 1\njob: {}\nplan: {}\n", "job.model: is missing"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {mesh: {dp: 0}}\n", "plan.mesh.dp"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {mesh: {dp: 1.5}}\n", "plan.mesh.dp"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {mesh: {dp: '8'}}\n", "plan.mesh.dp"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {mesh: {dpp: 8}}\n", "'dp'"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {shardin: zero1}\n", "'sharding'"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {sharding: zero4}\n", "zero3"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {clock: .nan}\n", "plan.clock"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {clock: 1.5}\n", "plan.clock"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {placement: [tp, xp]}\n", "xp"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {placement: [tp, tp]}\n", "tp"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {offload: [tp]}\n", "optimizer"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {offload: optimizer}\n", "offload"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {mesh: {dp: 4}, stages: []}\n", "stage"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: {stages: [{layer: 1}]}\n", "layers"),
    ("schema_version: 1\njob: {model: gpt3-125m}\nplan: 3\n", "plan"),
    ("schema_version: 1\njob: [x]\nplan: {}\n", "job"),
    ("schema_version: 1\njob: {model: nomodel}\nplan: {}\n", "nomodel"),
    ("schema_version: 1\njob: {model: gpt3-125m", "line"),
])  # fmt: skip
def test_a_file_that_is_wrong(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(text, encoding="utf-8")
    lines = refused("evaluate", path, "--json")
    assert any(words in line for line in lines), lines


def test_all_mistakes_of_a_plan_file_at_once_with_their_paths(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "schema_version: 1\n"
        "job: {modle: gpt3-125m, seq_len: x, max_memory: 80Gb}\n"
        "plan:\n  mesh: {dp: 0, tq: 2}\n  micro_batch: 1.5\n  recompute: some\n"
        "  stages: [{layers: -1}, {layrs: 2}]\n",
        encoding="utf-8",
    )
    lines = refused("evaluate", path)
    for where in (
        "line 2: job.modle:", "line 2: job.seq_len:", "line 2: job.max_memory:",
        "line 4: plan.mesh.dp:", "line 4: plan.mesh.tq:", "line 5: plan.micro_batch:",
        "line 6: plan.recompute:", "line 7: plan.stages.0.layers:",
        "line 7: plan.stages.1.layrs:",
    ):  # fmt: skip
        assert any(line.startswith(f"{path}: {where}") for line in lines), (where, lines)
    assert len(lines) == 9


def test_unknown_fields_suggest_the_one_that_was_meant(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    path.write_text(
        "schema_version: 1\njob: {model: gpt3-125m, precison: bf16}\n"
        "plan: {mesh: {dp: 8}, micro_bach: 2}\n",
        encoding="utf-8",
    )
    lines = refused("evaluate", path)
    assert any("'precision'" in line for line in lines), lines
    assert any("'micro_batch'" in line for line in lines), lines


def test_chips_in_the_job_that_contradict_the_plan(written: Path) -> None:
    """A job of 16 chips with a plan of 8 is a mistake of the file, or at least worth a warning."""
    path = edited(written, lambda data: data["job"].update(chips=16))
    outcome = planner("evaluate", path, "--json")
    assert outcome.code == 2 or outcome.document["warnings"]


def test_the_sentence_about_memory_speaks_of_what_the_limit_limits(written: Path) -> None:
    answer = evaluate(written, "--max-memory", "57GB")
    assert answer["memory_limit_bytes"] == 57e9
    shown = ("--max-memory", "57GB", "--show", "all")
    said = " ".join(planner("evaluate", written, *shown).out.split())
    held = show_bytes(answer["memory_per_chip_bytes"])
    assert f"it fills {held} of the 57 GB of each chip that may be filled, with " in said
    assert "reserve outside" in said


@pytest.mark.parametrize("lost", [2, 4, 12, 100, 250])
def test_a_file_that_is_cut_off(written: Path, lost: int) -> None:
    """What is lost at its end would otherwise be taken for a field left out."""
    whole = written.read_bytes()
    written.write_bytes(whole[:-lost])
    line = f"{written}: is cut off: the line of three dots that ends it is missing"
    assert refused("evaluate", written) == [line]
    written.write_bytes(whole[:-1])
    assert evaluate(written)["fits"] is True


def test_a_job_file_says_which_command_takes_it(tmp_path: Path) -> None:
    path = tmp_path / "job.yaml"
    path.write_text("{model: gpt3-125m, chips: 8, front: [time, energy]}", encoding="utf-8")
    line = f"{path}: is a job file, not a plan: planner solve takes it"
    assert refused("evaluate", path) == [line]


def test_the_whole_run_is_in_the_plan_file(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    run = ("--train-tokens", "1e12", "--price-per-chip-hour", "2", "--carbon-intensity", "300")
    answer = solve(*SMALL, *run, "-o", path)
    assert answer["training_run"]["cost"] > 0
    assert evaluate(path)["training_run"] == answer["training_run"]


def test_a_framework_away_from_home_is_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "plan.yaml"
    solve(*SMALL, "--no-clocks", "-o", path)
    for hardware, words in (("tpu-v5p", "Google.*jax"), ("gaudi3", None), ("mi300x", None)):
        warnings = evaluate(path, "--hardware", hardware)["warnings"]
        found = [line for line in warnings if line.startswith("framework: megatron")]
        assert bool(found) is (words is not None), (hardware, warnings)
        assert words is None or re.search(words, found[0])
    other = evaluate(path, "--framework", "torchtitan")["warnings"]
    assert not [line for line in other if line.startswith("framework: ")], "both are of GPUs"
    assert "framework: jax" in evaluate(path, "--framework", "jax")["warnings"][-1]


def test_a_mesh_with_exponents(written: Path) -> None:
    text = written.read_text(encoding="utf-8")
    assert "dp: 8" in text
    written.write_text(text.replace("dp: 8", "dp: 8e0"), encoding="utf-8")
    assert evaluate(written)["mesh"]["dp"] == 8
    written.write_text(text.replace("dp: 8", "dp: 1e9"), encoding="utf-8")
    assert "dp 1000000000 x fsdp 1" in refused("evaluate", written)[0]
