"""`planner solve job.yaml`: every field, flags over file, and every way a file can be wrong."""

import functools
import re
from pathlib import Path
from typing import Any

import pytest
from support.lines import without_lines

from cli.answers import same
from cli.command import planner, refused, replaced, solve
from cli.jobs import BASE, BASE_FLAGS
from cli.upkeep_fields import OF_UPKEEP, PEERS, PRICED
from planner.question.request import Request
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

LOCAL = str(Path(__file__).parent / "local.yaml")
# Every field with a value other than its default, and the flags that say the same.
SEEING = ("--images", "2", "--model", "gemma3-4b")
FIELDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "model": ("gpt3-350m", ("--model", "gpt3-350m")),
    "hardware": ("a100-sxm4-80", ("--hardware", "a100-sxm4-80")),
    "chips": (2, ("--chips", "2")),
    "batch_tokens": (1048576, ("--batch-tokens", "1Mi")),
    "seq_len": (1024, ("--seq-len", "1Ki")),
    "lengths": ({"128": 0.5, "512": 0.5}, ("--lengths", "128=0.5,512=0.5")),
    "precision": ("fp8", ("--precision", "fp8")),
    "job": ("finetune", ("--job", "finetune")),
    "lora_rank": (32, ("--lora-rank", "32", "--job", "lora")),
    "adapter": ("dora", ("--adapter", "dora", "--job", "lora")),
    "lora_targets": (["attention"], ("--lora-targets", "attention", "--job", "lora")),
    "lora_dropout": (0.05, ("--lora-dropout", "0.05", "--job", "lora")),
    "reference": ("adapters", ("--reference", "adapters", "--job", "lora")),
    "images": (2, SEEING),
    "tower_recompute": ("none", (*SEEING, "--tower-recompute", "none")),
    "frozen_weights": ("nf4", ("--frozen-weights", "nf4", "--job", "lora")),
    "fp8_recipe": ("delayed", ("--fp8-recipe", "delayed", "--precision", "fp8")),
    "optimizer": ("adam-8bit", ("--optimizer", "adam-8bit")),
    "framework": ("torchtitan", ("--framework", "torchtitan")),
    "era": ("nanotron", ("--era", "nanotron")),
    "assumptions": ("roofline", ("--assumptions", "roofline")),
    "calibration": (LOCAL, ("--calibration", LOCAL)),
    "mfu": (0.4, ("--mfu", "40%", "--assumptions", "roofline")),
    "torus_axes": (
        {"fsdp": 2, "tp": 1},
        ("--torus-axes", "fsdp=2,tp=1", "--hardware", "tpu-v5p", "--framework", "jax"),
    ),
    "objective": ("energy", ("--objective", "energy")),
    "front": (["time", "energy", "memory"], ("--front", "time,energy,memory")),
    "chips_exact": (True, ("--chips-exact",)),
    "axes": (["tp", "dp"], ("--axes", "tp,dp")),
    "fix": ({"tp": [2, 4], "recompute": "none"}, ("--fix", "tp=2,4", "--fix", "recompute=none")),
    "layout": ("uneven", ("--layout", "uneven")),
    "gap": (0.01, ("--gap", "1%", "--layout", "uneven")),
    "front_points": (3, ("--front-points", "3", "--layout", "uneven")),
    "offload": (True, ("--offload", "--no-clocks", "--axes", "dp")),
    "placement": ("all", ("--placement", "all")),
    "runnable_in": (
        ["megatron", "deepspeed"],
        ("--runnable-in", "megatron,deepspeed", "--framework", "deepspeed"),
    ),
    "resume_from": ("tp=2,dp=2", ("--resume-from", "tp=2,dp=2")),
    "checkpoint": ("torch", ("--checkpoint", "torch", "--resume-from", "tp=2,dp=2")),
    "clocks": (False, ("--no-clocks",)),
    "collectives": ("best", ("--collectives", "best")),
    "degrade_link": (
        ["nvlink:0-2=0.25"],
        ("--degrade-link", "nvlink:0-2=0.25", "--hardware", "v100-32gb-edr", "--precision", "fp16"),
    ),
    "set": (["memory.bandwidth=2x"], ("--set", "memory.bandwidth=2x")),
    "pes": ([66, 132], ("--pes", "66,132")),
    "scale": (["memory"], ("--scale", "memory", "--pes", "66")),
    "topology": (["ring", "switch"], ("--topology", "ring,switch")),
    "total_pes": (528, ("--total-pes", "4x132")),
    "max_area": (4000, ("--max-area", "4000")),
    "max_links": (8, ("--max-links", "8")),
    "max_ports": (4, ("--max-ports", "4")),
    "max_memory": (20e9, ("--max-memory", "20GB")),
    "memory_margin": (0.7, ("--memory-margin", "0.7")),
    "max_oom_risk": (0.01, ("--max-oom-risk", "1%")),
    "power_cap": (500, ("--power-cap", "500W")),
    "cooling": ("liquid", ("--cooling", "liquid")),
    "pue": (1.25, ("--pue", "1.25")),
    "max_power": (3000, ("--max-power", "3kW")),
    "power_boundary": ("nodes", ("--power-boundary", "nodes", "--max-power", "3kW")),
    "max_step_time": (2, ("--max-step-time", "2s")),
    "min_mfu": (0.2, ("--min-mfu", "0.2")),
    "time_limit": (60, ("--time-limit", "1min")),
    "train_tokens": (1e12, ("--train-tokens", "1T")),
    "price_per_chip_hour": (2.5, ("--price-per-chip-hour", "2.5", "--train-tokens", "1T")),
    "carbon_intensity": (300, ("--carbon-intensity", "300", "--train-tokens", "1T")),
    "electricity_price": (0.08, ("--electricity-price", "0.08", "--train-tokens", "1T")),
    "prices": (["eia-texas"], ("--prices", "eia-texas", "--train-tokens", "1T")),
    **OF_UPKEEP,
}
ALSO: dict[str, dict[str, Any]] = {  # what else the flags of a field set
    "offload": {"clocks": False, "axes": ["dp"]},
    "power_boundary": {"max_power": 3000},
    **{name: {"train_tokens": 1e12} for name in (*PRICED, *OF_UPKEEP)},
    "peer_covers": {"train_tokens": 1e12, **PEERS},
    "budget": {"train_tokens": 1e12, "price_per_chip_hour": 2.5},
    "fp8_recipe": {"precision": "fp8"},
    "lora_rank": {"job": "lora"},
    "adapter": {"job": "lora"},
    "lora_targets": {"job": "lora"},
    "lora_dropout": {"job": "lora"},
    "reference": {"job": "lora"},
    "images": {"model": "gemma3-4b"},
    "tower_recompute": {"images": 2, "model": "gemma3-4b"},
    "frozen_weights": {"job": "lora"},
    "runnable_in": {"framework": "deepspeed"},
    "checkpoint": {"resume_from": "tp=2,dp=2"},
    "gap": {"layout": "uneven"},
    "front_points": {"layout": "uneven"},
    "scale": {"pes": [66]},
    "mfu": {"assumptions": "roofline"},
    "degrade_link": {"hardware": "v100-32gb-edr", "precision": "fp16"},
    "torus_axes": {"hardware": "tpu-v5p", "framework": "jax"},
}
WITH_UNITS = {
    "chips": "2", "batch_tokens": "1Mi", "seq_len": "1Ki", "lora_rank": "32",
    "max_memory": "20GB", "memory_margin": "70%", "max_power": "3kW", "max_step_time": "2s",
    "time_limit": "1min", "train_tokens": "1T",
}  # fmt: skip


@functools.cache
def by_flags(flags: tuple[str, ...]) -> Any:
    """The answer to the same question asked by flags alone."""
    return solve(*replaced(BASE_FLAGS, *flags))


def test_the_table_of_fields_is_complete() -> None:
    instead = {"pools", "chips_at_most"}  # tests/cli/test_cli_pools.py and test_cli_chips.py
    instead |= {"phases", "down"}  # tests/cli/test_cli_run.py
    assert set(FIELDS) | instead == set(Request.model_fields)


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_means_what_its_flag_means(name: str, job: Any) -> None:
    value, flags = FIELDS[name]
    path = job({**BASE, name: value, **ALSO.get(name, {})})
    same(solve(path), by_flags(flags))


@pytest.mark.parametrize("name", FIELDS)
def test_a_flag_overrides_the_file(name: str, job: Any) -> None:
    _, flags = FIELDS[name]
    path = job(BASE)
    same(solve(path, *flags), by_flags(flags))


@pytest.mark.parametrize("name", WITH_UNITS)
def test_a_file_may_write_units_too(name: str, job: Any) -> None:
    value, _ = FIELDS[name]
    base = {**BASE, **ALSO.get(name, {})}
    with_number = solve(job({**base, name: value}))
    same(solve(job({**base, name: WITH_UNITS[name]})), with_number)


def test_a_flag_can_switch_off_what_the_file_switches_on(job: Any) -> None:
    """Flags override fields: each switch of a file needs a flag that undoes it."""
    path = job({**BASE, "clocks": False, "offload": True})
    answer = solve(path, "--no-offload", "--clocks", "on")
    assert not any(row["offload"] for row in answer["front"]["plans"])
    assert min(row["clock"] for row in answer["front"]["plans"]) < 1.0


def test_the_file_of_a_plan_job_is_a_job(job: Any, tmp_path: Path) -> None:
    """What `-o` writes under `job:` is itself a job file."""
    solve(*BASE_FLAGS, "-o", tmp_path / "plan.yaml")
    fields = load_yaml((tmp_path / "plan.yaml").read_text(encoding="utf-8"))["job"]
    answer = solve(job(fields), "--chips", 4, "--batch-tokens", "256Ki")
    assert answer["best"] == solve(*BASE_FLAGS)["best"]


@pytest.mark.parametrize(("change", "words"), [
    ({"chips": 0}, "chips: 0"),
    ({"chips": -1}, "chips: -1"),
    ({"chips": 1.5}, "chips: 1.5"),
    ({"chips": float("nan")}, "chips: nan"),
    ({"chips": True}, "chips: true"),
    ({"chips": None}, "chips: "),
    ({"chips": "many"}, "chips: 'many'"),
    ({"chips": 10**12}, "1000000000000"),
    ({"batch_tokens": float("nan")}, "batch_tokens: nan"),
    ({"batch_tokens": float("inf")}, "batch_tokens: inf"),
    ({"batch_tokens": -1}, "batch_tokens: -1"),
    ({"min_mfu": float("nan")}, "min_mfu: nan"),
    ({"min_mfu": "0.4"}, "min_mfu: '0.4'"),
    ({"seq_len": 2048.5}, "seq_len: 2048.5"),
    ({"seq_len": [2048]}, "seq_len: [2048]"),
    ({"model": 13}, "model: 13"),
    ({"model": None}, "model: null"),
    ({"model": ["gpt3-125m"]}, "model: ['gpt3-125m']"),
    ({"fix": "tp=8"}, "fix: 'tp=8'"),
    ({"fix": {"tp": None}}, "fix"),
    ({"fix": {"tp": []}}, "fix"),
    ({"fix": {"tq": 2}}, "'tq'"),
    ({"fix": {"tp": {"a": 1}}}, "fix"),
    ({"axes": "tpp"}, "axes: 'tpp'"),
    ({"axes": "fsdp,tpp"}, "axes: 'tpp'"),
    ({"axes": ""}, "axes: ''"),
    ({"axes": 3}, "axes: 3"),
    ({"front": "time"}, "front: 'time'"),
    ({"chips_exact": "yes"}, "chips_exact: 'yes'"),
    ({"chips_exact": 1}, "chips_exact: 1"),
    ({"max_memory": "80Gb"}, "max_memory"),
    ({"objective": "speed"}, "objective: 'speed'"),
    ({"precison": "bf16"}, "'precision'"),
    ({"chps": 8}, "'chips'"),
    ({"hardware": "x\0.yaml"}, "x"),
    ({"model": "x\0.yaml"}, "x"),
    ({"assumptions": "x\0.yaml"}, "x"),
    ({"hardware": ""}, "hardware"),
    ({"model": ""}, "model"),
    ({"assumptions": ""}, "assumptions"),
])  # fmt: skip
def test_a_wrong_field(change: dict[str, Any], words: str, job: Any) -> None:
    lines = refused("solve", job({**BASE, **change}), "--json")
    assert any(words in line for line in lines), lines


@pytest.mark.parametrize(("change", "foreign"), [
    ({"axes": 3}, "tuple"),
    ({"fix": "tp=8"}, "dictionary"),
    ({"model": None}, "None"),
    ({"chips": True}, "True"),
    ({"chips": 0}, "Input should"),
])  # fmt: skip
def test_messages_speak_of_the_file_not_of_python(
    change: dict[str, Any], foreign: str, job: Any
) -> None:
    lines = refused("solve", job({**BASE, **change}))
    assert foreign not in lines[0], lines


def test_each_wrong_value_of_a_fixed_field(job: Any) -> None:
    path = job({**BASE, "fix": {"tp": [2, "two", -3]}})
    ends = "is not a whole number from 1 to 2,147,483,648"
    assert refused("solve", path) == [
        f"{path}: line 5: fix: tp: 'two' {ends}",
        f"{path}: line 5: fix: tp: '-3' {ends}; nearest: 1",
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "text"), [("axes", "tp, dp"), ("front", "time,energy,memory")])
def test_a_list_of_words_may_be_the_text_of_its_flag(name: str, text: str, job: Any) -> None:
    path = job({**BASE, name: text})
    same(solve(path), by_flags(FIELDS[name][1]))


def test_numbers_with_an_exponent(job: Any) -> None:
    """`1e9` without a dot is a number, and a whole one where that is meant."""
    same(
        solve(
            job(
                "{model: gpt3-125m, hardware: h100-sxm5-80, chips: 4e0, "
                "batch_tokens: 262144, seq_len: 1.024e3}"
            )
        ),
        by_flags(("--seq-len", "1Ki")),
    )
    path = job({**BASE})
    path.write_text(path.read_text(encoding="utf-8") + "seq_len: 25e-1\n", encoding="utf-8")
    assert refused("solve", path) == [f"{path}: line 5: seq_len: 2.5: must be a whole number"]


def test_what_is_no_job_says_what_it_is(tmp_path: Path) -> None:
    plan, fronts = tmp_path / "plan.yaml", [tmp_path / "front.json", tmp_path / "front.csv"]
    solve(*BASE_FLAGS, "-o", plan, "--pareto", fronts[0], "--pareto", fronts[1])
    line = f"{plan}: is a plan, not a job file: planner evaluate takes it"
    assert refused("solve", plan) == [line]
    for front in fronts:
        line = f"{front}: is a front, not a job file: planner evaluate takes it, with --row"
        assert refused("solve", front) == [line]


def test_all_mistakes_at_once_each_with_its_path(job: Any) -> None:
    path = job(
        {"modle": "gpt3-125m", "chips": 0, "seq_len": "x", "min_mfu": 3, "fix": {"tp": 2},
         "max_memory": "80Gb", "front": 3, "offload": "maybe"}
    )  # fmt: skip
    lines = refused("solve", path)
    text = path.read_text(encoding="utf-8")
    names = {without_lines(line, text).removeprefix(f"{path}: ").split(":")[0] for line in lines}
    assert names == {
        "modle", "chips", "seq_len", "min_mfu", "max_memory", "front", "offload",
    }  # fmt: skip
    assert len(lines) == 7
    assert all(line.startswith(f"{path}: ") for line in lines)


def test_wrong_names_are_reported_at_once_with_the_file(job: Any) -> None:
    path = job(
        {"model": "nomodel", "hardware": "nohardware", "chips": 8, "framework": "noframework",
         "objective": "noobjective", "job": "nojob", "precision": "noprecision"}
    )  # fmt: skip
    said = "\n".join(refused("solve", path))
    names = ("model", "hardware", "framework", "objective", "job", "precision")
    assert [name for name in names if f"no{name}" not in said] == []
    assert str(path) in said


def test_a_mistake_of_a_flag_does_not_blame_the_file(job: Any) -> None:
    path = job(BASE)
    lines = refused("solve", path, "--seq-len", "0")
    assert len(lines) == 1
    assert str(path) not in lines[0], "the file is fine"


@pytest.mark.parametrize(("content", "words"), [
    (b"", "mapping"),
    (b"just text", "mapping"),
    (b"[1, 2]", "mapping"),
    (b"model: gpt3-125m\nmodel: gpt3-350m\n", "'model'.*twice"),
    (b"model: gpt3-125m\nfix: {tp: 1, tp: 2}\n", "'tp'.*twice"),
    (b"model: gpt3-125m\nchips: [1,", "line"),
    (b"model: 'gpt3-125m\nchips: 8", "line"),
    (b"\x7fELF\x02\x01\x01\x00\x00", "not"),
    (b"\x89PNG\r\n\x1a\n", "not a text file"),
    (b"PK\x03\x04\x14\x00", "not"),
    (b"model: gpt3-125m\n[1, 2]: 3\n", "text|line"),
    (b"? {a: 1}\n: 2\n", "text|line"),
    (b"fix: {[1, 2]: 3}\n", "text|line"),
    (b"model: gpt3-125m\n8: chips\n", "text"),
    (b"%YAML 9.9\n---\nmodel: gpt3-125m\n", "."),
])  # fmt: skip
def test_a_file_that_is_not_a_job(content: bytes, words: str, job: Any) -> None:
    path = job(content)
    outcome = planner("solve", path, "--json")
    assert outcome.code == 2, outcome.out[:500]
    assert outcome.out == ""
    assert all(line.startswith(str(path)) or "chips" in line for line in outcome.mistakes)
    assert re.search(words, outcome.mistakes[0]), outcome.mistakes


@pytest.mark.parametrize("keep", [1, 5, 20, 40, 60])
def test_a_truncated_file(keep: int, job: Any) -> None:
    text = dump_yaml({**BASE, "fix": {"tp": [1, 2]}, "front": ["time", "energy"]})
    outcome = planner("solve", job(text[:keep].encode()), "--json")
    assert outcome.code in (0, 2)
    if outcome.code == 2:
        assert outcome.out == ""
        assert outcome.mistakes


def test_a_large_file(tmp_path: Path) -> None:
    path = tmp_path / "large.yaml"
    path.write_bytes(b"# " + b"x" * (10 * 2**20))
    assert "larger than 10 MiB" in refused("solve", path)[0]


def test_a_folder_and_a_missing_file(tmp_path: Path) -> None:
    assert "cannot be read" in refused("solve", tmp_path)[0]
    assert "cannot be read" in refused("solve", tmp_path / "absent.yaml")[0]


def test_a_message_stays_short_whatever_the_file_holds(job: Any) -> None:
    """An alias bomb of 400 bytes must not print 25 megabytes of its own content."""
    lines = ["model: gpt3-125m", "chips: 8", "a: &a [x, x, x, x, x, x, x, x]"]
    for small, large in ("ab", "bc", "cd", "de", "ef"):
        lines.append(f"{large}: &{large} [{', '.join(['*' + small] * 8)}]")
    outcome = planner("solve", job("\n".join([*lines, "precision: *f"])))
    assert outcome.code == 2
    assert len(outcome.err) < 10_000
    outcome = planner("solve", job({**BASE, "precision": ["x" * 100_000]}))
    assert outcome.code == 2
    assert len(outcome.err) < 10_000


def test_an_exponent_without_a_dot_is_a_number(job: Any) -> None:
    """`1e12` is text in YAML 1.1."""
    text = "model: gpt3-125m\nhardware: h100-sxm5-80\nchips: 8\ntrain_tokens: 1e12\n"
    assert solve(job(text))["training_run"]["tokens"] == 1e12


def test_a_byte_order_mark_and_windows_line_ends(job: Any) -> None:
    text = "\ufeffmodel: gpt3-125m\r\nhardware: h100-sxm5-80\r\nchips: 8\r\n"
    assert solve(job(text.encode()))["best"]["chips"] == 8


def test_paths_in_a_job_file_are_seen_from_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow.yaml").write_text("tp_overlap: 0.0\n", encoding="utf-8")
    path = tmp_path / "job.yaml"
    path.write_text(dump_yaml({**BASE, "assumptions": "slow.yaml"}), encoding="utf-8")
    monkeypatch.chdir(tmp_path.parent)
    assert solve(path)["question"]["job"]["assumptions"] == str(tmp_path / "slow.yaml")


def test_a_similar_path_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "slow.yaml").write_text("tp_overlap: 0.0\n", encoding="utf-8")
    for flag in ("--assumptions", "--model", "--hardware"):
        (line,) = refused("solve", *replaced(BASE_FLAGS, flag, tmp_path / "slw.yaml"))
        assert line.endswith("did you mean 'slow.yaml'?")
