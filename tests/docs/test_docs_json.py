"""docs/json.md names every key that the commands print."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner
from evidence.calibration.synthetic import write_measurements

PAGE = Path(__file__).parents[2] / "docs" / "json.md"
FREE = ("versions", "sources", "counts", "front_counts", "checks", "filled",
        "collectives_left_out")  # fmt: skip  # their keys are data


def keys_of(value: Any) -> set[str]:
    """All keys of a JSON document, except those that are data."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    deeper = [keys_of(inner) for key, inner in value.items() if key not in FREE]
    return set(value).union(*deeper) if deeper else set(value)


@pytest.mark.parametrize(
    "line",
    [
        "solve --model llama2-7b --chips 64 --train-tokens 1e12 --price-per-chip-hour 2 --json",
        "solve --model gpt3-175b --hardware h100-sxm5-80 --chips 8 --json",
        "solve --model gpt3-125m --hardware h100-sxm5-80 --chips 4 --pes 66,132 --json",
        "feasible --model llama2-13b --chips 64 --batch-tokens 1e6 --assumptions roofline --json",
        "feasible --model llama2-13b --deadline 60d --train-tokens 2e12 --json",
        "validate --source simumax --source vtrain-multi --json",
        "validate --what failures --json",
        "validate --what collectives --json",
        "validate --what microbench --json",
        "calibrate --runs runs.csv --gemm gemms.csv --nccl all_reduce_perf.txt --json",
        "rack zero --json",
        "rack parallelism --json",
        "rack parallelism --beyond --json",
        "rack solve --strategy zero --gpus 4,8 --max-links 7 --static-power --backward --json",
        "rack solve --gpus 8 --max-links 6 --json",
        "rack topology ring:8 fat-tree:k=4 --json",
        "ridgeline --case mlp-4096 --batches 16,512 --json",
        "collective bounds --topology ring:4 --json",
        "collective synthesize --topology ring:4 --json",
        "collective simulate --topology ring:4 --sizes 1KB,1MB --degrade 0-1=0.5 --json",
        "collective compare --topology ring:4 --json",
        "collective compare --system h100-sxm5-80 --chips 16 --json",
        "collective compare --topology ring:4 --constants nccl --json",
        "collective export --topology ring:4 -o ring.xml --json",
        "doctor --json",
        "models show llama2-7b --json",
        "hardware show h100-sxm5-80 --json",
    ],
)
def test_every_key_is_documented(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_measurements(tmp_path)
    outcome = planner(*line.split())
    named = set(re.findall(r"`([a-z_0-9]+)`", PAGE.read_text(encoding="utf-8")))
    named |= {
        part for name in re.findall(r"`([a-z_.]+)`", PAGE.read_text()) for part in name.split(".")
    }
    found = {key for key in keys_of(json.loads(outcome.out)) if not key.startswith("network: ")}
    found = {key for key in found if not key.isdigit()}  # figures by number
    assert found <= named, sorted(found - named)


@pytest.mark.parametrize(
    "line",
    [
        "solve --model gpt3-125m --hardware h100-sxm5-80 --chips 4 --json",
        "feasible --model llama2-13b --chips 64 --batch-tokens 1e6 --assumptions roofline --json",
        "evaluate plan.yaml --json",
        "validate --what microbench --json",
        "calibrate --runs runs.csv --json",
        "rack zero --figure 3 --gpus 2 --json",
        "rack parallelism --figure 2 --json",
        "rack parallelism --beyond --json",
        "rack solve --gpus 2 --pes 4 --topology ring --strategy dp --json",
        "rack solve --gpus 4 --topology ring --max-links 1 --json",
        "rack topology ring:8 --json",
        "ridgeline --case mlp-4096 --batches 16,512 --json",
        "collective bounds --topology ring:4 --json",
        "collective synthesize --topology ring:4 --json",
        "collective simulate --topology ring:4 --sizes 1KB,1MB --degrade 0-1=0.5 --json",
        "collective compare --topology ring:4 --json",
        "collective compare --system h100-sxm5-80 --chips 16 --json",
        "collective export --topology ring:4 -o ring.xml --json",
        "doctor --json",
    ],
)
def test_every_answer_carries_its_schema_and_versions(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_measurements(tmp_path)
    if line.startswith("evaluate"):
        planner("solve", "--model", "gpt3-125m", "--chips", 4, "-o", "plan.yaml")
    document = planner(*line.split()).document
    assert next(iter(document)) == "schema_version"
    assert document["schema_version"] == (2 if line.startswith("solve") else 1)
    needed = {"planner", "schema", "hardware_db", "models_db"}
    assert set(document["versions"]) == needed or line.startswith("doctor")
