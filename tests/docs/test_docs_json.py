"""docs/json*.md name every key that the commands print."""

import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner
from evidence.calibration.synthetic import write_measurements
from evidence.checked.logs import write_log
from machine.detection_outputs import write_node

PAGES = sorted((Path(__file__).parents[2] / "docs").glob("json*.md"))
KEPT = Path(__file__).parents[1] / "formats"
FREE = ("versions", "sources", "counts", "front_counts", "checks", "filled",
        "collectives_left_out", "content", "row", "extras", "parts_s", "old",
        "new")  # fmt: skip  # their keys are data


def keys_of(value: Any) -> set[str]:
    """All keys of a JSON document, except those that are data."""
    if isinstance(value, list):
        return set().union(*map(keys_of, value)) if value else set()
    if not isinstance(value, dict):
        return set()
    deeper = [keys_of(inner) for key, inner in value.items() if key not in FREE]
    return set(value).union(*deeper) if deeper else set(value)


LINES = [
    "solve --model llama2-7b --chips 64 --train-tokens 1e12 --price-per-chip-hour 2 --json",
    "solve --model gpt3-175b --hardware h100-sxm5-80 --chips 8 --json",
    "solve --model gpt3-125m --hardware h100-sxm5-80 --chips 4 --pes 66,132 --json",
    "solve --model gpt3-125m --hardware h100-sxm5-80 --chips 4 --phases 1e9 --phases 1e9,plan=same "
    "--json",
    "solve --model gpt3-125m --hardware h100-sxm5-80 --batch-tokens 64Ki --down 2chips "
    "--resume-from dp=4 --json",
    "evaluate plan.yaml --json",
    "evaluate plan.yaml --train-tokens 1e12 --mtbf 3h --json",
    "feasible --model llama2-13b --chips 64 --batch-tokens 1e6 --assumptions roofline --json",
    "feasible --model llama2-13b --deadline 60d --train-tokens 2e12 --json",
    "validate --source simumax --source vtrain-multi --json",
    "validate --what failures --json",
    "validate --what collectives --json",
    "validate --what microbench --json",
    "calibrate --runs runs.csv --gemm gemms.csv --nccl all_reduce_perf.txt --json",
    "measure --framework megatron --model llama3-8b --hardware h100-sxm5-80 --chips 8 -o other "
    "--json",
    "calibrate --measurements measurements --json",
    "solve --model gpt3-125m --hardware h100-sxm5-80 --chips 4 --certificate cert.json --json",
    "verify cert.json --json",
    "check plan.yaml --log train.log --json",
    "check plan.yaml --log slow.log --json",
    "export plan.yaml --chakra traces --json",
    "validate --what transfer --source trn1 --json",
    "rack zero --json",
    "rack zero --figure 3 --gpus 2 --json",
    "rack parallelism --json",
    "rack parallelism --figure 2 --json",
    "rack parallelism --beyond --json",
    "rack solve --strategy zero --gpus 4,8 --max-links 7 --static-power --backward --json",
    "rack solve --gpus 8 --max-links 6 --json",
    "rack solve --gpus 4 --topology ring --max-links 1 --json",
    "rack topology ring:8 fat-tree:k=4 --json",
    "goodput --chips 64,128 --stall 5s --simulate exponential --runs 10 --json",
    "sweep run study.yaml -o study.db --json",
    "sweep status study.db --json",
    "sweep table study.db --json",
    "sweep plot study.db --x chips --y best.mfu --plot lines.svg --json",
    "ridgeline --case mlp-4096 --batches 16,512 --json",
    "reproduce --json",
    "reproduce 003 x-opt --json",
    "collective bounds --topology ring:4 --json",
    "collective synthesize --table ring:3 --json",
    "collective synthesize --topology ring:4 --json",
    "collective simulate --topology ring:4 --sizes 1KB,1MB --degrade 0-1=0.5 --json",
    "collective compare --topology ring:4 --json",
    "collective compare --system h100-sxm5-80 --chips 16 --json",
    "collective compare --topology ring:4 --constants nccl --json",
    "collective export --topology ring:4 -o ring.xml --json",
    "doctor --json",
    "compare old.json new.json --json",
    "targets --json",
    "models show llama2-7b --json",
    "hardware show h100-sxm5-80 --json",
    "hardware detect --from outputs --json",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where measurements and a plan are."""
    folder = tmp_path_factory.mktemp("json")
    write_measurements(folder)
    write_node(folder / "outputs")
    study = "job: {model: gpt3-125m, hardware: h100-sxm5-80}\ncross: {chips: [8, 16]}\n"
    (folder / "study.yaml").write_text(study, encoding="utf-8")
    planner("solve", "--model", "gpt3-125m", "--chips", 4, "-o", folder / "plan.yaml")
    shutil.copy(KEPT / "result-2.json", folder / "old.json")
    asked = "--model gpt3-125m --hardware h100-sxm5-80 --chips 8 --axes tp --batch-tokens 512Ki"
    (folder / "new.json").write_text(planner("solve", *asked.split(), "--json").out, "utf-8")
    write_log(folder / "plan.yaml", folder / "train.log")
    write_log(folder / "plan.yaml", folder / "slow.log", factor=3.0)
    return folder


@pytest.mark.parametrize("line", LINES)
def test_an_answer_has_documented_keys_and_carries_its_schema_and_versions(
    line: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    document = planner(*line.split()).document
    assert keys_found(document) <= documented(), sorted(keys_found(document) - documented())
    assert next(iter(document)) == "schema_version"
    of_one_plan = line.startswith("solve") and "--phases" not in line and "--down" not in line
    assert document["schema_version"] == (2 if of_one_plan else 1)
    if not line.startswith(("doctor", "models show", "hardware ")):
        assert set(document["versions"]) == {
            "planner", "schema", "hardware_db", "models_db", "constants",
        }  # fmt: skip


def documented() -> set[str]:
    """The keys that the pages name."""
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    dotted = {
        part for name in re.findall(r"`([a-z_.]+)`", text) for part in name.split(".")
    }  # fmt: skip
    return dotted | set(re.findall(r"`([a-z_0-9]+)`", text))


def keys_found(document: Any) -> set[str]:
    """Those of a document that are words of ours."""
    found = {key for key in keys_of(document) if not key.startswith("network: ")}
    return {key for key in found if not key.isdigit()}  # figures by number
