"""`planner evaluate --from` and `planner explain --from`."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner
from planner.report.tables.improvement import print_improvement
from strict_yaml.limits import HINT

GOLDEN = Path(__file__).parent.parent / "frameworks" / "export" / "golden"
UNEVEN = GOLDEN / "megatron" / "uneven" / "run.sh"
ASKED = ("--from", "megatron", "--model", "llama2-13b", "--hardware", "dgx-a100-80-hdr")


def answer(*words: object) -> dict:
    outcome = planner("evaluate", *map(str, words), "--json")
    assert outcome.code == 0, outcome.err
    return json.loads(outcome.out)


def test_a_launch_costs_what_its_plan_costs(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    launched = answer(UNEVEN, *ASKED, "-o", plan)
    planned = answer(plan)
    assert launched["step_time_s"] == planned["step_time_s"]
    assert launched["mesh"] == {"dp": 16, "fsdp": 1, "tp": 2, "cp": 1, "ep": 1, "pp": 4}
    assert "launch" not in planned
    assert launched["launch"]["source"] == "megatron"
    assert launched["launch"]["unknown"] == []
    ignored = {one["name"]: one["reason"] for one in launched["launch"]["ignored"]}
    assert ignored["--log-interval"] == "logging: no part of a plan"
    assert ignored["--lr"] == "learning rate and weight decay: no part of a plan"


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A launch with an unknown setting and without an overlap."""
    path = tmp_path_factory.mktemp("launch") / "run.sh"
    text = UNEVEN.read_text(encoding="utf-8").replace("--swiglu", "--swiglu --recompute-all 1")
    for name in ("--overlap-grad-reduce", "--overlap-param-gather"):
        text = text.replace(name, "")
    path.write_text(text, encoding="utf-8")
    return path


def test_what_is_shown(script: Path) -> None:
    outcome = planner("evaluate", script, *ASKED, "--show", "launch")
    assert outcome.code == 0
    words = " ".join(outcome.out.split())
    assert "Warning: --overlap-grad-reduce: is not given" in words
    assert "Not known, so not counted" in words
    assert "--recompute-all 1 not known" in words
    assert "settings have no part in a plan; --json lists them." in words
    assert f"planner explain --from megatron {script} --model llama2-13b" in words.replace("\n", "")
    assert "planner solve --model llama2-13b --hardware dgx-a100-80-hdr" in words
    screen = " ".join(planner("evaluate", script, *ASKED).out.replace("\\", " ").split())
    assert "1 setting of the launch is not known, so not counted (--show launch)" in screen
    assert f"planner explain --from megatron {script} --model llama2-13b" in screen


def test_standard_input() -> None:
    command = [sys.executable, "-m", "planner", "evaluate", "-", *ASKED, "--json"]
    done = subprocess.run(command, input=UNEVEN.read_bytes(), capture_output=True, check=True)
    assert json.loads(done.stdout)["launch"]["file"] == "-"


@pytest.fixture(scope="module")
def explained(script: Path) -> dict:
    return planner("explain", script, *ASKED, "--json").document


def test_explain_says_of_a_launch_what_evaluate_says(script: Path, explained: dict) -> None:
    evaluated = answer(script, *ASKED)
    assert evaluated["warnings"][0].startswith("--overlap-grad-reduce: is not given")
    assert [one["name"] for one in evaluated["launch"]["unknown"]] == ["--recompute-all"]
    for name in ("mesh", "warnings", "launch", "defaults"):
        assert explained[name] == evaluated[name]


def test_explain_shows_what_was_not_read(script: Path) -> None:
    words = " ".join(planner("explain", script, *ASKED).out.split())
    for part in ("Warning: --overlap-grad-reduce: is not given", "Not known, so not counted",
                 "--recompute-all 1 not known", "have no part in a plan"):  # fmt: skip
        assert part in words


def test_explain_offers_what_the_framework_runs(explained: dict) -> None:
    """Megatron-LM shards gradients and weights without a pipeline only."""
    refused = {step["change"]: step["refused"] for step in explained["steps"]}
    assert refused["zero2"]["reason"] == "megatron-fsdp-pipeline"
    assert (refused["recompute full"], refused["micro-batch 2"]) == (None, None)


@each(
    ("words", "line"),
    [
        (("--from", "megatorn"), "from: 'megatorn' is not one of auto, megatron, torchtitan, "
         "deepspeed, trl, torchtune, axolotl, maxtext, nanotron; did you mean 'megatron'?"),
        (("--from", "megatron"), "hardware: a launch does not say what it runs on; name it: "
         "--hardware (--from auto assumes a machine)"),
        ((*ASKED, "--row", "2"), "row: a launch is one plan; --row is for fronts"),
        ((*ASKED, "--seq-len", "2048"), f"seq-len: {UNEVEN} says 4,096; change it there"),
        ((*ASKED, "--fix", "tp=0"), "fix: tp: '0' is not a whole number from 1 to "
         "2,147,483,648; nearest: 1"),
        ((*ASKED, "--fix", "offload=all"), "fix: offload: 'all' is not one of optimizer, weights, "
         "activations, none"),
        ((*ASKED, "--chips", "nan"), "chips: 'nan' is not a whole number from 1 to "
         "2,147,483,648"),
        ((*ASKED, "-o", str(UNEVEN)), f"output: {UNEVEN} is the file that is read; name another"),
        (("--chips", "8"), "chips: is about launches (--from); a plan file says it itself, change "
         "it there"),
    ],
)  # fmt: skip
def test_bad_questions(words: tuple[str, ...], line: str) -> None:
    outcome = planner("evaluate", str(UNEVEN), *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.mistakes == [line]


@each("source", ["megatron", "torchtitan", "deepspeed"])
@each(
    ("content", "end"),
    [
        (b"", "is empty"),
        (b"\xff\xfe\x00", "not a text file (byte 0 is not UTF-8)"),
        (b"--lr \x00", "not a text file (it holds a NUL)"),
        (b"x" * (2**20 + 1), f"is no launch: larger than 1 MiB; {HINT}"),
        (b"x" * (11 * 2**20), f"larger than 10 MiB; {HINT}"),
    ],
)
def test_bad_files(source: str, content: bytes, end: str, tmp_path: Path) -> None:
    path, plan = tmp_path / "launch", tmp_path / "plan.yaml"
    path.write_bytes(content)
    words = ("--model", "llama2-13b", "--hardware", "dgx-a100-80-hdr", "-o", str(plan))
    outcome = planner("evaluate", str(path), "--from", source, *words)
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.strip().endswith(end)
    assert not plan.exists()


def test_a_launch_of_another_framework() -> None:
    toml = GOLDEN / "torchtitan-0.2" / "uneven" / "torchtitan.toml"
    outcome = planner("evaluate", str(toml), *ASKED)
    assert outcome.code == 2
    assert outcome.err.strip().endswith("has no argument of Megatron-LM, such as --lr")


def test_auto_and_the_nearest_better_plans(tmp_path: Path) -> None:
    path = tmp_path / "run.sh"
    path.write_text(
        "TP=8\ntorchrun --nnodes 2 --nproc_per_node 8 pretrain_gpt.py --num-layers 40 \\\n"
        "  --hidden-size 5120 --num-attention-heads 40 --seq-length 2048 --bf16 \\\n"
        "  --micro-batch-size 1 --global-batch-size 128 --tensor-model-parallel-size $TP \\\n"
        "  --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather\n",
        encoding="utf-8",
    )
    found = answer(path, "--from", "auto", "--improve")
    better = found["launch"]["improvements"]
    assert better["looked_at"] >= better["runnable"] >= better["fitting"] > 0
    first = better["by_changes"]["1"][0]
    assert first["changes"] == {"tp": ["8", "2"]}
    assert first["gain"] == 1 - first["step_time_s"] / found["step_time_s"]
    assert first["gain_low"] < first["gain"] < first["gain_high"]
    assert "-TP=8\n+TP=2\n" in first["diff"]
    path.write_text(path.read_text().replace("TP=8", "TP=2"))
    assert answer(path, "--from", "auto")["step_time_s"] == first["step_time_s"]
    shown = planner("evaluate", str(path), "--from", "auto", "--improve").out
    assert "The best of 2 changes" in shown or "is faster" in shown


def test_a_printed_diff_is_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Long lines, tabs, form feeds and a last line without its end are as in the file."""
    path = tmp_path / "run.sh"
    text = (
        f"\tTP=8 # {'wide ' * 40}\x0c odd\n"
        "torchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 5120 "
        "--num-attention-heads 40 --seq-length 2048 --bf16 --micro-batch-size 1 "
        "--global-batch-size 128 --use-distributed-optimizer --tensor-model-parallel-size $TP"
    )
    path.write_text(text, encoding="utf-8")
    better = answer(path, "--from", "auto", "--improve")["launch"]["improvements"]
    diff = better["by_changes"]["1"][0]["diff"]
    kept = re.findall(r"(?m)^[- ](?!-- )(.*\n)", diff)
    assert "".join(kept).removesuffix("\n") == text
    assert diff.count("\n\\ No newline at end of file\n") >= 1
    capsys.readouterr()
    print_improvement(better)
    assert f"The best of 1 change\n{diff}" in capsys.readouterr().out


def test_a_diff_is_of_the_file_that_has_the_settings(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script whose settings are in a TOML file; a tab ends a name with spaces, for `patch`."""
    folder = tmp_path / "my runs"
    folder.mkdir()
    script, settings = folder / "run.sh", folder / "llama3_8b.toml"
    script.write_text(
        "CONFIG_FILE=${CONFIG_FILE:-./train_configs/llama3_8b.toml}\n"
        "torchrun --nproc_per_node 8 -m torchtitan.train --job.config_file ${CONFIG_FILE}\n",
        encoding="utf-8",
    )
    settings.write_text(
        '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 1\n'
        "seq_len = 8192\n[parallelism]\ntensor_parallel_degree = 4\n"
        '[activation_checkpoint]\nmode = "full"\n',
        encoding="utf-8",
    )
    monkeypatch.chdir(tmp_path)
    found = answer(script, "--from", "auto", "--improve")
    better = found["launch"]["improvements"]["by_changes"]["1"][0]
    name = "my runs/llama3_8b.toml\t"
    assert better["diff"].startswith(f"--- {name}\n+++ {name}\n@@ ")
    assert '-mode = "full"\n+mode = "none"\n' in better["diff"]
    settings.write_text(settings.read_text().replace('"full"', '"none"').replace(
        "[training]", "[training]\nglobal_batch_size = 2"))  # fmt: skip
    assert answer(script, "--from", "auto")["step_time_s"] == better["step_time_s"]


@pytest.mark.parametrize(
    "words", ["export ASCEND_RT_VISIBLE_DEVICES=0,1", "export HCCL_CONNECT_TIMEOUT=7200",
              "# eight NPUs", "import torch_npu"]
)  # fmt: skip
def test_a_launch_on_npus_is_costed_on_none_of_nvidias(tmp_path: Path, words: str) -> None:
    path = tmp_path / "run.sh"
    path.write_text(
        f"{words}\ntorchrun --nproc_per_node 8 pretrain_gpt.py --num-layers 40 --hidden-size 5120 "
        "--num-attention-heads 40 --seq-length 2048 --bf16 --micro-batch-size 1\n",
        encoding="utf-8",
    )
    outcome = planner("evaluate", path, "--from", "auto")
    assert outcome.code == 2
    assert "hardware: " in outcome.err
    assert "an NPU, and not which; name it, e.g. --hardware ascend-910b" in outcome.err
    assert answer(path, "--from", "auto", "--hardware", "dgx-a100-80-hdr")["step_time_s"] > 0


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("--improve", "--from", "auto", "--quiet"), "improve: has no effect with --quiet"),
        (("--improve",), "improve: is about launches (--from)"),
    ],
)
def test_improve_needs_a_launch(words: tuple[str, ...], line: str) -> None:
    outcome = planner("evaluate", str(UNEVEN), *words)
    assert outcome.code == 2
    assert outcome.err.startswith(f"error: {line}")


def test_the_search_beside_a_tuning_launch_is_of_its_job() -> None:
    folder = Path(__file__).parents[1] / "frameworks" / "importing" / "published"
    file = folder / "torchtune-0.6.1" / "llama3-8B_qdora_single_device.yaml.txt"
    words = " ".join(planner("evaluate", file, "--from", "auto").out.replace("\\", " ").split())
    assert "--job lora --lora-rank 8 --adapter dora --lora-targets" in words
    assert "--frozen-weights nf4 --chips 1 --runnable-in torchtune" in words
