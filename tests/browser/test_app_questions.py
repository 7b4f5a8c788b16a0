"""The runtime of the page, where whole numbers have 32 bits, gives the answers of this machine."""

import gzip
import json
import math
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import planner
from browser.built import WEB, built

A100, V5P, MI300X = {"hardware": "a100-sxm4-80"}, {"hardware": "tpu-v5p"}, {"hardware": "mi300x"}
H100, SMALL = {"hardware": "h100-sxm5-80"}, {"model": "llama3-8b", "chips": 64}
LARGE = {"model": "llama3-70b", "chips": 512}
QUESTIONS: list[dict[str, Any]] = [
    {"model": "llama2-13b", "chips": 4096},
    LARGE | H100,
    LARGE | H100 | {"precision": "fp8"},
    LARGE | V5P,
    LARGE | MI300X | {"chips": 64},
    LARGE | {"chips": 64, "hardware": "trn2"},
    LARGE | H100 | {"chips": 1},
    LARGE | H100 | {"chips": 128, "framework": "torchtitan"},
    LARGE | H100 | {"chips": 64, "framework": "deepspeed"},
    LARGE | H100 | {"chips": 2048, "train_tokens": "15T", "objective": "days"},
    {"model": "llama3.1-405b", "chips": 16384} | H100,
    {"model": "llama3.1-405b", "chips": 131072, "batch_tokens": "64Mi"} | V5P,
    {"model": "gpt3-175b", "chips": 4096},
    {"model": "gpt3-13b", "chips": 8} | A100,
    {"model": "bloom-176b", "chips": 384} | A100,
    {"model": "deepseek-v3", "chips": 2048} | H100,
    {"model": "deepseek-v3", "chips": 16384, "batch_tokens": "60Mi"} | H100,
    {"model": "mixtral-8x7b", "chips": 64} | H100,
    {"model": "qwen3-235b-a22b", "chips": 512} | H100,
    {"model": "qwen3-next-80b-a3b", "chips": 64} | H100,
    {"model": "nemotron-h-8b", "chips": 32} | H100,
    {"model": "qwen3-8b", "chips": 24, "hardware": "l40s-pcie"},
    {"model": "llama3-8b", "chips": 16, "hardware": "tpu-v6e"},
    SMALL | H100 | {"objective": "edp"},
    SMALL | H100 | {"front": ["time", "energy", "memory"]},
    SMALL | H100 | {"max_power": "40kW"},
    SMALL | H100 | {"chips": 8, "seq_len": 131072, "batch_tokens": "1Mi"},
    SMALL | H100 | {"chips": 8, "job": "lora"},
    SMALL | H100 | {"set": ["memory.bandwidth=2x"]},
    SMALL | H100 | {"chips": None, "chips_at_most": 512, "objective": "energy"},
    {"model": "gpt3-125m", "chips": 4, "layout": "uneven"} | H100,
]
RUN_DATA = {"digest", "seconds"}


def differences(left: Any, right: Any, place: str = "") -> Iterator[str]:
    """Where two documents differ by more than 1e-9, but for run data."""
    if isinstance(left, dict) and isinstance(right, dict):
        for name in {*left, *right} - RUN_DATA:
            yield from differences(left.get(name), right.get(name), f"{place}/{name}")
    elif isinstance(left, list) and isinstance(right, list) and len(left) == len(right):
        for at, pair in enumerate(zip(left, right, strict=True)):
            yield from differences(*pair, f"{place}/{at}")
    elif isinstance(left, float) or isinstance(right, float):
        if not math.isclose(left, right, rel_tol=1e-9):
            yield f"{place}: {left!r} and {right!r}"
    elif left != right:
        yield f"{place}: {left!r} and {right!r}"


def test_differences_are_seen() -> None:
    assert [*differences({"a": [1.0, 2]}, {"a": [1.0 + 1e-8, 3]})] != []
    assert [*differences({"a": 1.0, "digest": 1}, {"a": 1.0 + 1e-12, "digest": 2})] == []


def told(texts: list[dict[str, str]]) -> tuple[list[Any], dict[str, Any]]:
    """The answers of the built page under Node.js, and what they took."""
    folder = built()
    if shutil.which("node") is None:
        pytest.skip("no Node.js")
    done = subprocess.run(["node", WEB / "ask.mjs", folder], input=json.dumps(texts),
                          capture_output=True, text=True, check=True)  # fmt: skip
    return json.loads(done.stdout), json.loads(done.stderr)


def test_the_memory_has_nothing_of_its_builder() -> None:
    kept = gzip.decompress((built() / "runtime" / "python.packed").read_bytes())
    assert b"pyodide" in kept
    node = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    for word in (str(WEB), "start.mjs", node.stdout.strip()):
        assert word.encode() not in kept


@pytest.mark.parametrize("name", ["python.packed", "planner.packed"])
def test_a_damaged_archive_is_named(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "app"
    shutil.copytree(built(), folder)
    place = folder / "runtime" / name
    whole = gzip.decompress(place.read_bytes())
    at = whole.index(b'"build": "') + len(b'"build": "')
    other = whole[:at] + (b"0" if whole[at : at + 1] != b"0" else b"1") + whole[at + 1 :]
    for content, why in (
        (place.read_bytes()[:-1000], "load the page again"),
        (gzip.compress(whole[:-1000], 1), "it ends too early"),
        (gzip.compress(b"\1\0\0\0!", 1), "it does not begin as an archive"),
        (gzip.compress(other, 1), "files of two builds"),
    ):
        place.write_bytes(content)
        said = subprocess.run(["node", WEB / "ask.mjs", folder], input="[]", text=True,
                              capture_output=True, check=False)  # fmt: skip
        assert said.returncode
        assert why in said.stderr
        assert name in said.stderr or "two builds" in why


def test_memory_after_a_large_question() -> None:
    asked = {"model": "llama3.1-405b", "hardware": "h100-sxm5-80", "chips": "16384"}
    (found,), took = told([asked])
    assert found["certificate"]["status"] == "optimal"
    assert took["memory_bytes"] < 400e6


def test_thirty_questions_and_one_that_takes_scipy() -> None:
    given = [{k: v for k, v in one.items() if v is not None} for one in QUESTIONS]
    texts = [
        {k: "\n".join(v) if k == "set" else ",".join(v) if isinstance(v, list) else str(v)
         for k, v in one.items()}
        for one in given
    ]  # fmt: skip
    wrong = {}
    for fields, found in zip(given, told(texts)[0], strict=True):
        known = json.loads(json.dumps(planner.solve(**fields).to_dict()))
        wrong[str(fields)] = [*differences(known, found)][:3]
    assert len(wrong) == 31
    assert not {name: lines for name, lines in wrong.items() if lines}
