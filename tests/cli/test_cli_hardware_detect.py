"""`planner hardware detect`: saved outputs become a cluster file that `solve` takes."""

import os
from pathlib import Path

import pytest
from machine.detection_outputs import write_node

from cli.command import planner, refused
from hardware_db import load_cluster
from strict_yaml.reading import load as load_yaml


@pytest.fixture
def outputs(tmp_path: Path) -> Path:
    """A folder with what the tools print on a node of 8 H100."""
    folder = tmp_path / "outputs"
    write_node(folder)
    return folder


def test_the_file_is_a_cluster(outputs: Path, tmp_path: Path) -> None:
    file = tmp_path / "my-cluster.yaml"
    said = planner("hardware", "detect", "--from", outputs, "--nodes", 4, "-o", file)
    assert (said.code, said.err) == (0, "")
    assert " ".join(said.out.split()).startswith(f"{file}: 4 nodes of 8 x h100-sxm5-80 ")
    assert "All that was seen agrees with dgx-h100-ndr." in said.out
    assert "topo.txt line 2: GPU0 X NV18" in " ".join(said.out.split())
    assert "latency, energy, in_network_reduction, switch_power" in said.out
    data = load_yaml(file.read_text(encoding="utf-8"))
    assert data["name"] == "my-cluster"
    assert data["max_chips"]["note"] == "4 nodes of 8, as --nodes says"
    job = ("--model", "gpt3-125m", "--chips", 32, "--seq-len", 2048, "--batch-tokens", "512Ki")
    found, known = (
        planner("solve", "--hardware", name, *job, "--json").document["best"]["step_time_s"]
        for name in (file, "dgx-h100-ndr")
    )
    assert found == pytest.approx(known)
    assert load_cluster(file).is_record
    assert planner("hardware", "show", file, "--sources").code == 0


def test_nothing_is_written_elsewhere(
    outputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder for temporary files that was full or missing was a defect of planner."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "absent"))
    assert planner("hardware", "detect", "--from", outputs, "-o", tmp_path / "a.yaml").code == 0


def test_one_json_document(outputs: Path) -> None:
    files = [outputs / "topo.txt", outputs / "gpus.csv"]
    found = planner("hardware", "detect", "--from", *files, "--json").document
    assert (found["schema_version"], found["chip"], found["nodes"]) == (1, "h100-sxm5-80", None)
    assert [row["what"] for row in found["seen"]] == ["chip", "node", "nvlink"]
    assumed = {row["part"]: row["fields"] for row in found["assumed"]}
    assert "bandwidth" in assumed["leaf"]
    assert "max_chips" in assumed["cluster"]
    assert found["remarks"] == ["network devices are seen, their rates are not: add ibstat"]
    assert found["content"]["levels"][0]["links"]["value"] == 18


def test_wrong_input_is_refused(outputs: Path, tmp_path: Path) -> None:
    (outputs / "notes.txt").write_text("hello\n", encoding="utf-8")
    file = tmp_path / "mine.yaml"
    detect = ("hardware", "detect", "--from", outputs)
    said = planner(*detect, "-o", file)
    assert said.code == 2
    assert said.mistakes[0].startswith(f"from: {outputs / 'notes.txt'} is no output that is read")
    assert not file.exists()
    for options, line in (
        (("-o", tmp_path / "mine.json"), "must end in .yaml or .yml"),
        (("-o", tmp_path / "dgx-h100-ndr.yaml"), "from: "),
        (("--nodes", 0), "nodes: '0' is not a whole number from 1 to 1,000,000,000; nearest: 1"),
    ):
        assert line in planner(*detect, *options).mistakes[0]
    assert "cannot be read" in planner("hardware", "detect", "--from", "none.txt").mistakes[0]


def test_what_never_ends_is_not_waited_for(outputs: Path, tmp_path: Path) -> None:
    """A pipe in a folder is left out and said so; named itself, or empty, it is refused."""
    pipe = outputs / "pipe.txt"
    os.mkfifo(pipe)
    found = planner("hardware", "detect", "--from", outputs, "--json")
    assert found.code == 0
    assert f"{pipe} is no regular file, and is left out" in found.document["remarks"]
    said = planner("hardware", "detect", "--from", outputs)
    assert "is no regular file, and is left out" in " ".join(said.out.split())
    assert refused("hardware", "detect", "--from", pipe) == [
        f"from: {pipe} is no regular file; save the output in a file first"
    ]
    (line,) = refused("hardware", "detect", "--from", outputs / "gpus.csv", "/dev/zero")
    assert line.startswith("from: /dev/zero is no regular file")
    empty = tmp_path / "empty.txt"
    empty.touch()
    assert refused("hardware", "detect", "--from", empty) == [f"from: {empty} is empty"]
    (tmp_path / "pipes").mkdir()
    os.mkfifo(tmp_path / "pipes" / "one")
    assert refused("hardware", "detect", "--from", tmp_path / "pipes") == [
        f"from: {tmp_path / 'pipes'} has no files"
    ]


@pytest.mark.skipif(not Path("/proc/kmsg").exists(), reason="no files of the kernel")
def test_files_of_the_kernel_are_refused() -> None:
    """Some of them end only when the machine does."""
    lines = refused("hardware", "detect", "--from", "/proc")
    assert any(line.endswith(" is empty") for line in lines)
