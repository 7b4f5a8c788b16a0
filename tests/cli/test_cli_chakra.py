"""`planner export --chakra`: files, and what is asked beside it that is refused."""

import json
import sys
from pathlib import Path

import pytest
from support.cases import each

from cli.command import planner, refused
from planner.cost.chakra.schema import messages


@pytest.fixture(scope="module")
def plan(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("chakra") / "plan.yaml"
    flags = ("--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", 4)
    job = ("--fix", "pp=2", "--batch-tokens", 16384)
    assert planner("solve", *flags, *job, "-o", path).code == 0
    return path


def test_a_folder_of_traces(plan: Path, tmp_path: Path) -> None:
    folder = tmp_path / "few"
    outcome = planner("export", plan, "--chakra", folder)
    assert (outcome.code, outcome.err) == (0, "")
    assert f"--workload-configuration={folder}/gpt3-125m" in outcome.out
    assert "--ranks all" in outcome.out
    names = {"gpt3-125m.0.et", "gpt3-125m.2.et", "comm_group.json"}
    assert {path.name for path in folder.iterdir()} == names
    every = planner("export", plan, "--chakra", tmp_path / "all", "--ranks", "all", "--json")
    assert every.document["ranks"] == [0, 1, 2, 3]
    assert every.document["nodes"] == 2 * sum(every.document["nodes_by_stage"])
    groups = json.loads((tmp_path / "all" / "comm_group.json").read_text())
    assert sorted(map(tuple, groups.values())) == [(0, 1), (2, 3)]
    name = "gpt3-125m.2.et"
    sizes = [(tmp_path / where / name).stat().st_size for where in ("few", "all")]
    assert sizes[0] == sizes[1]


@each(("flags", "words"), [
    (("--chakra", "t", "--to", "megatron"), "to: is about the files of a framework"),
    (("--chakra", "t", "-o", "x"), "output: is about the files of a framework"),
    (("--chakra", "t", "--ranks", "every"), "ranks: 'every' is not one of stages, all"),
    (("--to", "megatron", "--ranks", "all"), "ranks: is about traces"),
    (("--to", "megatron", "--max-nodes", 5), "max-nodes: is about traces"),
    (("--chakra", "t", "--max-nodes", 5), "unless --max-nodes"),
])  # fmt: skip
def test_what_is_refused_beside_it(
    plan: Path, tmp_path: Path, flags: tuple[object, ...], words: str
) -> None:
    asked = [tmp_path / flag if flag in ("t", "x") else flag for flag in flags]
    assert words in refused("export", plan, *asked)[0]
    assert not (tmp_path / "t").exists()
    file = tmp_path / "file"
    file.touch()
    assert "is a file; name a folder" in refused("export", plan, "--chakra", file)[0]


def test_protobuf_is_an_extra(plan: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:

    messages.cache_clear()
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    line = refused("export", plan, "--chakra", tmp_path / "t")[0]
    assert "pip install 'parallelism-planner[chakra]'" in line
    assert not (tmp_path / "t").exists()
