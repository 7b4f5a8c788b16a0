"""What campaigns found in kinds of files that none of them had damaged before."""

import json
import warnings
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, refused
from planner.base.errors import InputError
from planner.evidence.calibration.logs.gemm_log import parse_gemm
from planner.evidence.runs.networks import network_bytes_per_s

LONG = "9" * 5000
LAUNCH = ("evaluate", "--from", "auto", "FILE", "--hardware", "dgx-h100-ndr", "--chips", "16")
TITAN = '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 8\nseq_len = {}\n'
NEMO = """
trainer: {{num_nodes: 2, devices: 8, precision: bf16}}
model:
  tensor_model_parallel_size: 4
  pipeline_model_parallel_size: 4
  micro_batch_size: 1
  global_batch_size: 256
  encoder_seq_length: 2048
  num_layers: 96
  hidden_size: 12288
  ffn_hidden_size: ${{multiply:{}, ${{.hidden_size}}}}
  num_attention_heads: 96
"""
NEOX = """
{{"pipe_parallel_size": 4, "model_parallel_size": 2, "num_layers": 44, "hidden_size": 6144,
"num_attention_heads": 64, "seq_length": 2048, "train_micro_batch_size_per_gpu": 4,
"zero_optimization": {{"stage": {}}}, "fp16": {{"enabled": true}}}}
"""
MAXTEXT = "python3 -m maxtext.trainers.pre_train.train {}.yml model_name=llama2-70b\n"


@each(("name", "text"), [
    ("a.toml", TITAN.format(LONG)), ("a.yaml", NEMO.format(LONG)), ("a.yml", NEOX.format("[1]")),
    ("a.sh", MAXTEXT.format("x" * 5000)),
])  # fmt: skip
def test_launches_with_long_numbers_lists_and_names(name: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    done = planner(*(path if word == "FILE" else word for word in LAUNCH), "--json")
    assert done.code in (0, 2), done
    assert done.err == "" if done.code == 0 else done.err.startswith("error: ")
    assert len(done.err) < 2000


HEADING = "transA,transB,m,n,k,a_type,d_type,hipblaslt-Gflops,us\n"


@each("row", ["N,N,4096,4096,4096,bf16_r", "N,N,4096,4096,4096,bf16_r,bf16_r,1"])
def test_a_line_of_hipblaslt_that_is_cut_off(row: str) -> None:
    with pytest.raises(InputError, match="line 2: us: '' is not a number"):
        parse_gemm(HEADING + row + "\n", "g.txt")


def test_more_cells_than_a_short_heading_of_hipblaslt(tmp_path: Path) -> None:
    path = tmp_path / "g.txt"
    path.write_text("transA,us\nN,1,2\n", encoding="utf-8")
    (line,) = refused("calibrate", "--hardware", "h100-sxm5-80", "--gemm", path)
    assert "line 2: m: '' is not a number" in line


ROWS = {
    "energy": "id,hardware,n_chips,avg_power_w_per_chip,power_boundary,cooling\n"
    "a,h100-sxm5-80,512,{},node,liquid\n",
    "collectives": "id,hardware,n_gpus,collective,bytes,time_us\n"
    "a,h100-sxm5-80,64,all_reduce,{},2984\n",
    "microbench": "id,chip,test,m,n,k,value,unit\n"
    "a,a100-sxm4-80,gemm_fp16,1024,1024,1024,{},TFLOP/s\n",
}


@each("number", ["1e-320", "1e31", "9" * 300])
@each("what", ROWS)
def test_measurements_have_a_range(what: str, number: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text(ROWS[what].format(number), encoding="utf-8")
    lines = refused("validate", "--what", what, "--data", path)
    assert any("must be at " in line or "whole number" in line for line in lines), lines


@each("text", ["0 Gb/s per GPU", f"{LONG}x NDR", f"{LONG} Gb/s per GPU", f"{LONG}x 200 Gb/s"])
def test_a_network_without_a_rate_that_can_be(text: str) -> None:
    found = network_bytes_per_s(text, 8)
    assert found is None or 1e-30 <= found <= 1e30


def test_an_export_of_deepspeed_says_what_its_file_leaves_to_code(tmp_path: Path) -> None:
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        "schema_version: 1\njob: {model: llama3-8b, hardware: h100-sxm5-80, batch_tokens: 524288}\n"
        "plan: {mesh: {fsdp: 8}, micro_batch: 1, sharding: zero3, recompute: full}\n",
        encoding="utf-8",
    )
    found = planner("export", plan, "--to", "deepspeed", "--allow-lossy", "--json")
    lost = {one["field"] for one in json.loads(found.out)["lossy"]}
    assert {"seq_len", "recompute"} <= lost


@each(("name", "text", "command"), [
    ("a.py", 'A = "\\B"\n', ("models", "import", "FILE", "--name", "mine", "-o", "out.yaml")),
    ("a.sh", "torchrun pretrain_gpt.py --num-layers $((1if 2 else 3))\n", LAUNCH),
    ("a.sh", "torchrun pretrain_gpt.py --num-layers 2 --moe-layer-freq '1if 2 else 3'\n", LAUNCH),
    ("study.yaml", "job: {model: gpt3-125m}\ncross: {chips: [8]}\nwhere: [chips > 1or 2]\n",
     ("sweep", "run", "FILE", "--dry-run")),
])  # fmt: skip
def test_advice_of_python_is_not_told(
    name: str, text: str, command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_text(text, encoding="utf-8")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = planner(*(name if word == "FILE" else word for word in command))
    assert done.code in (0, 2), done.err
    assert told == []
