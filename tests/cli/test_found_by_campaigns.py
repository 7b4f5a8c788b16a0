"""What the campaigns of `benchmarks/reliability.py` found, a case of each class."""

import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support.cases import each

from cli.command import planner, refused
from planner.base.files import write_all
from planner.evidence.csvfile import parse
from planner.evidence.training_logs.readers import read_log
from planner.frameworks.reading import settings
from planner.frameworks.reading.texts import with_scripts
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

ROOT = Path(__file__).parents[2]
FORMATS, FILES = ROOT / "tests" / "formats", ROOT / "tests" / "answers" / "files"
PLAN = FORMATS / "plan-1.yaml"


def put(path: Path, source: Path, *edits: tuple[str, Any]) -> Path:
    """A file with other values at dotted paths."""
    data = load_yaml(source.read_text(encoding="utf-8"))
    for place, value in edits:
        *outer, name = place.split(".")
        part = data
        for step in outer:
            part = part[int(step) if isinstance(part, list) else step]
        part[name] = value
    path.write_text(dump_yaml(data), encoding="utf-8")
    return path


@each("value", [{"x": {}}, {"1f1b": 1}, ["1f1b"], 7, None])
def test_a_word_that_is_no_text(value: Any, tmp_path: Path) -> None:
    """It once ended in a TypeError: unhashable."""
    path = put(tmp_path / "plan.yaml", PLAN, ("plan.schedule", value))
    assert any("plan.schedule" in line for line in refused("evaluate", path))


def test_a_row_of_a_store_that_nobody_wrote(tmp_path: Path) -> None:
    for column, table in (("axes", "point"), ("answer", "result"), ("asked", "job")):
        for text in ("{", "[1]", "1" * 5000, "[" * 100_000):
            path = tmp_path / "store.db"
            shutil.copy(FORMATS / "store-1.db", path)
            with sqlite3.connect(path) as database:
                database.execute(f"UPDATE {table} SET {column} = ?", (text,))
            database.close()
            (line,) = refused("sweep", "table", path)
            assert line.startswith(f"{path}: is damaged"), line


@each(("edits", "words"), [
    ([("jobs.0.train_tokens", 0.5)], ""), ([("grid", "1e-320h")], "grid: "),
    ([("grid", "1e-9s")], "grid: "),
])  # fmt: skip
def test_a_fleet_of_tiny_figures(edits: list[Any], words: str, tmp_path: Path) -> None:
    path = put(tmp_path / "fleet.yaml", FILES / "fleet.yaml", *edits)
    if words:
        assert any(words in line for line in refused("fleet", path))
    else:
        outcome = planner("fleet", path, "--json")
        assert (outcome.code, outcome.err) == (0, "")


@each("value", [1e-320, 1e-31, -1e-31, 1e31])
def test_a_figure_of_a_machine_that_nothing_has(value: float, tmp_path: Path) -> None:
    """It once gave NaN, with warnings of numpy."""
    path = put(
        tmp_path / "c.yaml", FILES / "full-cluster.yaml", ("chip.memory.bandwidth.value", value)
    )
    lines = refused("evaluate", PLAN, "--hardware", path)
    assert any("or from 1e-30 to 1e+30 in size" in line for line in lines), lines


@each(("column", "text"), [("m", "1e-320"), ("k", "0.5"), ("tflops", "1e-300"), ("n", "1e13")])
def test_a_multiplication_without_work(column: str, text: str, tmp_path: Path) -> None:
    cells = {"m": "4096", "n": "4096", "k": "4096", "dtype": "bf16", "tflops": "640"} | {
        column: text
    }
    path = tmp_path / "gemm.csv"
    path.write_text(f"{','.join(cells)}\n{','.join(cells.values())}\n", encoding="utf-8")
    lines = refused("calibrate", "--gemm", path, "--hardware", "h100-sxm5-80")
    assert f"line 2: {column}: {float(text):g}: must be from " in lines[0]


def test_an_optimizer_of_deepspeed_that_is_a_section(tmp_path: Path) -> None:
    path = tmp_path / "ds.json"
    path.write_text(
        '{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "bf16": {"enabled": true}, '
        '"optimizer": {"type": {"enabled": true}}}',
        encoding="utf-8",
    )
    outcome = planner("evaluate", "--from", "deepspeed", path, "--model", "gpt3-125m",
                      "--hardware", "h100-sxm5-80", "--chips", "8", "--json")  # fmt: skip
    assert outcome.code in (0, 2)


@each("name", ["overlap.tensor_parallel", "moe.overlap_cover", "pipeline.p2p_exposed"])
def test_more_than_all_is_not_hidden(name: str, tmp_path: Path) -> None:
    """Times of communication were negative then."""
    (line,) = refused("evaluate", PLAN, "--set", f"{name}=1.5")
    assert line.endswith("1.5 is out of range; must be above 0 and at most 1")
    constant = {"value": 1.5, "unit": "1", "prior": 0.9, "sigma": 0.1, "n": 9}
    branch, _, leaf = name.partition(".")
    path = put(tmp_path / "local.yaml", FILES / "local.yaml",
               ("constants", {branch: {leaf: constant}}))  # fmt: skip
    lines = refused("evaluate", PLAN, "--calibration", path)
    assert any("must be at most 1, a share of communication" in line for line in lines), lines


def test_files_are_written_all_or_none_to_the_last_rename(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the second cannot be renamed the first, which is new, goes again; an old one stays."""
    old, new, last = (tmp_path / name for name in ("old", "new", "last"))
    old.write_text("before", encoding="utf-8")
    real = os.replace

    def full(source: str, target: str) -> None:
        if target == str(last):
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(Exception, match="last: cannot be written"):
        write_all({old: "after", new: "x", last: "y"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["old"]
    assert old.read_text(encoding="utf-8") in ("before", "after")


@each("name", ["SIGTERM", "SIGHUP"])
def test_a_signal_unwinds_the_program(name: str, tmp_path: Path) -> None:
    """It once ended it with the temporary file beside the target."""
    code = (
        "import os, signal, sys\n"
        "real = os.replace\n"
        "def now(*given):\n"
        f"    os.kill(os.getpid(), signal.{name})\n"
        "    real(*given)\n"
        "os.replace = now\n"
        "from planner.cli.entry import main\n"
        "main()\n"
    )
    words = ["models", "import", str(FILES / "config.json"), "--name", "mine", "-o", "mine.yaml"]
    done = subprocess.run([sys.executable, "-c", code, *words], cwd=tmp_path, text=True,
                          capture_output=True, check=False)  # fmt: skip
    assert done.returncode == 128 + getattr(signal, name), done.stderr
    assert "Traceback" not in done.stderr
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".planner-")]


@each("database, name", [("models", "llama3-8b"), ("hardware", "h100-sxm5-80")])
def test_a_record_that_is_written_is_shown_as_json_too(
    database: str, name: str, tmp_path: Path
) -> None:
    """`--json` printed nothing beside `-o`, and `--sources` was ignored."""
    path = tmp_path / "mine.yaml"
    shown = planner(database, "show", name, "--json")
    written = planner(database, "show", name, "--json", "-o", path)
    assert written.document == shown.document
    assert path.is_file()
    (line,) = refused(database, "show", name, "--sources", "-o", tmp_path / "other.yaml")
    assert line.endswith("sources: has no effect with --output; the file has them: leave one out")
    assert not (tmp_path / "other.yaml").exists()


@each(("name", "command"), [
    ("g.csv", ("calibrate", "--hardware", "h100-sxm5-80", "--gemm")),
    ("r.csv", ("validate", "--data")), ("f.csv", ("evaluate",)),
    ("p.csv", ("ridgeline", "--hardware", "h100-sxm5-80", "--csv")),
])  # fmt: skip
def test_a_cell_longer_than_a_reader_of_csv_takes(
    name: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    path = tmp_path / name
    for length in (4_001, 140_000):
        path.write_text(f"m,n,k,dtype,seconds\n1,1,1,{'x' * length},1\n", encoding="utf-8")
        assert len(refused(*command, path)) <= 3


def test_a_cell_that_rules_look_through_is_no_page() -> None:
    """Rules look for `A.*B` in the cells of a run, which takes long where A comes very often."""
    for length, problem in ((4_000, ""), (4_001, "a cell of 4,001 characters, more than 4,000")):
        ((line,),) = (parse(f"id,source\n1,{'x' * length}\n", "r.csv")[1],)
        assert problem in line.problem if problem else not line.problem


@each("model", ["gpt3-125m", "llama3-8b", "gemma-2b"])
def test_what_is_written_for_maxtext_is_read_back(model: str, tmp_path: Path) -> None:
    """Also a model of MaxText's block of GPT-3, and one whose embeddings are tied."""
    job = ("--model", model, "--hardware", "h100-sxm5-80", "--chips", "8")
    plan, folder = tmp_path / "plan.yaml", tmp_path / "exported"
    solved = planner(
        "solve", *job, "--axes", "fsdp", "--runnable-in", "maxtext", "-o", plan, "--json"
    )
    assert planner("export", plan, "--to", "maxtext", "-o", folder).code == 0
    found = planner("evaluate", "--from", "maxtext", folder / "maxtext.yml", *job, "--json")
    assert (found.code, found.err) == (0, "")
    best = solved.document["best"]
    for name in ("mesh", "micro_batch", "recompute"):
        assert found.document[name] == best[name], name


def test_a_word_of_140_000_letters_in_a_launch() -> None:
    """The time of looking for scripts grew with the square of a word's length, to minutes."""
    script = f"#!/bin/bash\n: {'x' * 140_000}\nbash first.sh my-next.sh {'y' * 140_000}.sh.txt\n"
    asked: list[str] = []
    assert with_scripts(script, asked.append) == script
    assert asked[:2] == ["first.sh", "my-next.sh"]


def test_of_thousands_of_settings_the_first_may_be_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name that each of 20,000 may mean once took 16 CPU seconds to find."""
    sought: list[str] = []
    monkeypatch.setattr(settings, "_hint", lambda name, _: sought.append(name) or "")
    path = tmp_path / "ds_config.json"
    fields = {f"steps_per_prin{at}": 1 for at in range(1000)}
    path.write_text(json.dumps({"train_batch_size": 8, **fields}), encoding="utf-8")
    launch = ("evaluate", "--from", "deepspeed", path, "--model", "gpt3-125m", "--chips", 8)
    assert planner(*launch, "--hardware", "h100-sxm5-80", "--json").code == 0
    assert len(sought) == 100


def test_a_superscript_is_no_number(tmp_path: Path) -> None:
    """`str.isdigit` holds for it, and `int` refuses it."""
    path = tmp_path / "launch.sh"
    path.write_text("torchrun --nproc_per_node \u00b2 --nnodes 1 train.py --seq-length 4\u00b2\n")
    for line in refused("evaluate", "--from", "megatron", path, "--model", "gpt3-125m"):
        assert "Traceback" not in line


def test_no_module_asks_for_digits_that_are_no_numbers() -> None:
    for name in ("planner", "solvers", "models_db", "hardware_db", "strict_yaml"):
        for module in (Path(__file__).parents[2] / name).rglob("*.py"):
            assert ".isdigit()" not in module.read_text(encoding="utf-8"), module


OF_PYTHON_2 = b"{'descr': '<f8', 'fortran_order': False, 'shape': (2L, 2L), }".ljust(118)
ADVISED: dict[str, tuple[bytes, tuple[str, ...], int]] = {
    "an array of Python 2": (
        b"\x93NUMPY\x01\x00v\x00" + OF_PYTHON_2 + (1.0 - np.eye(2)).tobytes(),
        ("rack", "topology", "ring:2", "--traffic", "t.npy"), 0),
    "a key of GraphML without a type": (
        b'<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d" for="edge" '
        b'attr.name="name"/><graph edgedefault="undirected"><node id="0"/><node id="1"/>'
        b'<edge source="0" target="1"><data key="d">2</data></edge></graph></graphml>',
        ("rack", "topology", "--graph", "g.graphml"), 0),
    "an escape that is none": (
        rb"0 1 {'li\nks': 2, 'pr\ice': 3.5}", ("rack", "topology", "--graph", "g.edgelist"), 0),
    "an edge that is a list": (
        b'{"nodes": [{"id": 0}, {"id": 1}], "edges": [[1, 2]]}',
        ("rack", "topology", "--graph", "g.json"), 2),
}  # fmt: skip


@each("what", ADVISED)
def test_a_library_warns_nobody_of_a_file(what: str, tmp_path: Path) -> None:
    """Tests fail with any warning."""
    content, (*words, name), code = ADVISED[what]
    (tmp_path / name).write_bytes(content)
    done = planner(*words, tmp_path / name)
    assert (done.code, len(done.err.splitlines())) == (code, code == 2), done.err


LOG = """ iteration 1/ 100 | elapsed time per iteration (ms): 901.0 | lm loss: 9.0 |
 iteration 2/ 100 | elapsed time per iteration (ms): 902.0 | lm loss: WORD |
 iteration 3/ 100 | elapsed time per iteration (ms): 903.0 | lm loss: 8.0 |
"""


@each("word", ["\u00b2", "9.,0", "9=.0", "9" * 5000])
def test_a_loss_that_is_no_number(word: str) -> None:
    """The line of its step counts, unless no program prints such a number."""
    _, log = read_log(LOG.replace("WORD", word), "log")
    assert len(log.steps) == (2 if len(word) > 100 else 3)


@each("name", ["iteration 2", "global_step=2", "step: 2", "completed step: 2", "902.0"])
def test_a_number_of_a_log_that_is_longer_than_python_reads(name: str) -> None:
    text = LOG.replace("WORD", "9.0")
    longer = text.replace(name, name.replace("2", "2" * 5000))
    _, log = read_log(longer, "log")
    assert len(log.steps) == (3 if longer == text else 2)


def test_numbers_that_are_longer_than_python_reads(tmp_path: Path) -> None:
    digits = "9" * 5000
    log = tmp_path / "failures.csv"
    log.write_text(f"start,end,chips,cause\n0,10,{digits},hardware\n", encoding="utf-8")
    (line,) = refused("calibrate", "--failures", log, "-o", tmp_path / "site.yaml")
    assert "a cell of 5,000 characters" in line
    nccl = tmp_path / "log.txt"
    text = (FILES / "all_reduce_perf.txt").read_text(encoding="utf-8")
    nccl.write_text(re.sub(r"(?m)^(\s+)1048576\b", rf"\g<1>{digits}", text), encoding="utf-8")
    lines = refused(
        "calibrate", "--nccl", nccl, "--hardware", "h100-sxm5-80", "-o", tmp_path / "local.yaml"
    )
    assert "is more than any message" in lines[0]


@each("axis", ["ici_tensor_parallelism", "dcn_data_parallelism"])
def test_an_axis_of_maxtext_that_says_nothing(axis: str, tmp_path: Path) -> None:
    job = ("--model", "llama3-8b", "--hardware", "tpu-v5p", "--chips", "8", "--json")
    meshes = []
    for line in ("", f"{axis}: []\n"):
        path = tmp_path / "maxtext.yml"
        path.write_text(f"base_config: base.yml\nmodel_name: llama3-8b\n{line}", encoding="utf-8")
        meshes.append(planner("evaluate", "--from", "maxtext", path, *job).document["mesh"])
    assert meshes[0] == meshes[1]


def test_a_model_of_nanotron_without_heads(tmp_path: Path) -> None:
    folder = tmp_path / "exported"
    assert planner("export", PLAN, "--to", "nanotron", "--allow-lossy", "-o", folder).code == 0
    path = folder / "nanotron.yaml"
    text = path.read_text(encoding="utf-8")
    path.write_text(re.sub(r"(num_attention_heads: )\d+", r"\g<1>0", text), encoding="utf-8")
    (line,) = refused("evaluate", "--from", "nanotron", path, "--hardware", "h100-sxm5-80")
    assert "no model of the database has" in line


TWICE = "hardware: cpu\n" + "remat: |\n  full\n" * 20
OTHER = "".join(f"GPU[{at}]\t\t: Card Series: \t\t{'MI ' * 500}{at}\n" for at in range(4))


@each(("name", "text", "command"), [
    ("maxtext.yml", TWICE, ("evaluate", "--from", "maxtext", "FILE", "--hardware", "tpu-v5p")),
    ("job.yaml", "model: x\n" + "chips: 8\n" * 30, ("solve", "FILE")),
    ("smi.txt", OTHER, ("hardware", "detect", "--from", "FILE")),
    ("chip.yaml", "name: zzzz\n", ("solve", "--model", "llama2-13b", "--hardware", "zzzz")),
])  # fmt: skip
def test_a_refusal_fits_a_few_rows(
    name: str, text: str, command: tuple[object, ...], tmp_path: Path
) -> None:
    """One once wrote its line breaks as `\\n`, others a thousand characters of a file or names."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    lines = refused(*(path if word == "FILE" else word for word in command))
    assert len(lines) <= 11
    assert all(len(line) < 500 and "\\n" not in line for line in lines), lines
