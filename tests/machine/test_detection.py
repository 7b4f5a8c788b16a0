"""Outputs of tools become cluster files: what was seen, what is assumed, what clashes."""

from __future__ import annotations

import contextlib
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from machine import detection_outputs as made
from support.cases import each

from hardware_db import load_cluster
from planner.base.errors import InputError
from planner.machine.detection.cluster import Detected, detected
from planner.machine.detection.formats import seen_in_files
from planner.machine.detection.readers.nvidia_query import QUERY
from planner.machine.detection.tools import COMMANDS, seen_here

H100 = made.table(made.H100, 81559, 8)
NV18 = made.matrix(made.linked(8, 18), near=range(8), far=1)
A100 = "NVIDIA A100-SXM4-80GB"
XGMI = [["X" if one == other else "XGMI" for other in range(8)] for one in range(8)]
SLURM = made.nodes([("gpu:h100:8(S:0-1)", "train,debug")] * 16, drained=1)

CASES: dict[str, tuple[dict[str, str], dict[str, Any], tuple[Any, ...]]] = {
    "a DGX H100 under Slurm; a ninth network device is near no GPU": (
        {"gpus.csv": H100, "topo.txt": NV18, "ib.txt": made.ports([400] * 8 + [100]), "s": SLURM},
        {},
        ("h100-sxm5-80", 8, 15, [("switch", 8, 450), ("fat-tree", 256, 50)], "dgx-h100-ndr"),
    ),
    "memory tells an A100 of 40 GB; -q; the fastest ports alone": (
        {"q": made.query("A100-SXM4-40GB", 40536, 8), "topo": made.matrix(made.linked(8, 12)),
         "ib": made.ports([200] * 8 + [100, 100], down=1)},
        {"nodes": 200},
        ("a100-sxm4-40", 8, 200, [("switch", 8, 300), ("fat-tree", 160, 25),
         ("fat-tree", 1120, 25), ("fat-tree", None, 25)], "dgx-a100-40-hdr"),
    ),
    "a DGX-1: a hybrid cube mesh, four network devices for eight chips, in one file": (
        {"all": made.table("Tesla V100-SXM2-16GB", 16160, 8, 3) + "\n"
         + made.matrix(made.cube_mesh()) + made.ports([100] * 4)},
        {"nodes": 4},
        ("v100-sxm2-16", 8, 4, [("hybrid-cube-mesh", 8, 150), ("fat-tree", 144, 6.25)],
         "dgx1-v100"),
    ),
    "cards on PCIe, from NCCL's topology": (
        {"gpus": made.table("NVIDIA L40S", 46068, 4, 4), "topo": made.matrix(made.linked(4, 0)),
         "topo.xml": made.nccl(4, 0, [400000, 400000])},
        {"nodes": 2},
        ("l40s", 4, 2, [("switch", 4, 31.51), ("fat-tree", 128, 25)], "l40s-pcie"),
    ),
    "cards bridged in pairs": (
        {"gpus": made.table("NVIDIA H100 PCIe", 81559, 8), "ib": made.ports([200] * 8),
         "topo": made.matrix(made.linked(8, 12, group=2))},
        {"nodes": 2},
        ("h100-pcie-80", 8, 2, [("fully-connected", 2, 300), ("switch", 8, 63.02),
         ("fat-tree", 256, 25)], "h100-pcie-ndr200"),
    ),
    "four chips that are wired directly; nothing of the network": (
        {"gpus": made.table(A100, 81920, 4), "topo": made.matrix(made.linked(4, 4))},
        {"nodes": 1},
        ("a100-sxm4-80", 4, 1, [("fully-connected", 4, 300)], None),
    ),
    "NVSwitches of NCCL's topology, two nodes in one file; the chip is said": (
        {"t.xml": made.nccl(8, 18, [200000] * 4, hosts=2)},
        {"chip": "h200-sxm5-141", "nodes": 2},
        ("h200-sxm5-141", 8, 2, [("switch", 8, 450), ("fat-tree", 256, 12.5)], None),
    ),
    "a virtual machine whose links end where they begin": (
        {"gpus": made.table(A100, 81920, 8), "t.xml": made.nccl(8, 12, [], own=True)},
        {"nodes": 1},
        ("a100-sxm4-80", 8, 1, [("switch", 8, 300)], "dgx-a100-80-hdr"),
    ),
    "MI300X over Ethernet": (
        {"rocm": made.rocm("AMD Instinct MI300X OAM", 206141652992, XGMI),
         "ib": made.ports([400] * 8, layer="Ethernet")},
        {"nodes": 2},
        ("mi300x", 8, 2, [("fully-connected", 8, 448), ("fat-tree", 256, 50)], "mi300x-8way"),
    ),
    "two devices of each MI250X": (
        {"rocm": made.rocm("AMD Instinct MI250X", 68702699520, XGMI)}, {"nodes": 2},
        ("mi250x", 4, 2, [("fully-connected", 4, 300), ("dragonfly", 512, 25)],
         "mi250x-slingshot"),
    ),
    "a node of a rack": (
        {"gpus": made.table("NVIDIA GB200", 189471, 4), "topo": made.matrix(made.linked(4, 18))},
        {"nodes": 18},
        ("gb200-nvl72-gpu", 4, 18, [("switch", 72, 900)], "gb200-nvl72"),
    ),
    "a chip of its own; memory tells which": (
        {"gpus": made.table("NVIDIA GH200 480GB", 97871, 1), "ib": made.ports([400])},
        {"nodes": 16},
        ("gh200-96", 1, 16, [("fat-tree", 32, 50)], "gh200-ndr"),
    ),
    "Slurm alone, in single lines, a partition of two": (
        {"s": made.nodes([("gpu:a100_80gb:4", "a"), ("gpu:v100:8", "b"), ("(null)", "c"),
                          ("gpu:a100_80gb:4", "a")], one_line=True)},
        {"partition": "a"},
        ("a100-sxm4-80", 4, 2, [("switch", 4, 300), ("fat-tree", 80, 25)], None),
    ),
}  # fmt: skip


def saved(folder: Path, outputs: dict[str, str]) -> list[Path]:
    """The outputs as files."""
    for name, text in outputs.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in outputs]


def found_in(folder: Path, outputs: dict[str, str], **options: Any) -> Detected:
    """What is made of outputs."""
    return detected(seen_in_files(saved(folder, outputs))[0], name="mine", **options)


def numbers(node: Any) -> list[dict[str, Any]]:
    """All numbers of a file with their provenance."""
    if isinstance(node, list):
        return [number for part in node for number in numbers(part)]
    if not isinstance(node, dict):
        return []
    return [node] if "value" in node else [one for part in node.values() for one in numbers(part)]


@each("case", CASES)
def test_what_was_seen_becomes_a_file_that_loads(tmp_path: Path, case: str) -> None:
    outputs, options, (chip, node_chips, nodes, levels, same) = CASES[case]
    found = found_in(tmp_path, outputs, **options)
    file = tmp_path / "mine.yaml"
    file.write_text(found.text, encoding="utf-8")
    cluster = load_cluster(file)
    assert (cluster.chip.name, cluster.node_chips, found.nodes) == (chip, node_chips, nodes)
    assert cluster.max_chips == nodes * node_chips
    assert [
        (level.topology, level.domain_chips, round(level.bandwidth_bytes_per_s / 1e9, 2))
        for level in cluster.levels
    ] == levels
    assert found.same_as[:1] == (() if same is None else (same,))
    assert cluster.scale(cluster.max_chips).chips == cluster.max_chips


@each("case", CASES)
def test_each_number_names_its_line_or_is_assumed(tmp_path: Path, case: str) -> None:
    outputs, options, _ = CASES[case]
    data = found_in(tmp_path, outputs, **options).data
    kinds = [number["kind"] for number in numbers(data["levels"])]
    assert "assumed" in kinds
    for number in numbers(data):
        place = re.search(r"(\S+) line (\d+): (.*?)(?:\.\.\.|; |$)", number["note"])
        assert (place is None) == (number["kind"] == "assumed"), number
        if place is not None:
            file, line, text = place.groups()
            shown = re.sub(r"\x1b\[\d*m", "", outputs[file].splitlines()[int(line) - 1])
            assert " ".join(shown.split()).startswith(text), number


ALIKE = "leave one of the two out"
WRONG: dict[str, tuple[dict[str, str], dict[str, Any], str]] = {
    "an unknown file": ({"notes.txt": "hello\n"}, {}, "notes.txt is no output that is read here; "
                        f"allowed are nvidia-smi topo -m, nvidia-smi -q, .*--query-gpu={QUERY}"),
    "nothing with chips": ({"ib": made.ports([400])}, {}, "no output says how many chips a node"),
    "no name": ({"t": NV18}, {}, "chip: no output names it; add nvidia-smi -q"),
    "two counts": ({"t": NV18, "g": made.table(made.H100, 81559, 4)}, {},
                   f"t line 2, 4 in .*g line 5; {ALIKE}"),
    "two matrices": ({"g": H100, "t": NV18, "u": made.matrix(made.linked(8, 17))}, {},
                     f"links between devices differ in .*t line 2 and .*u line 2; {ALIKE}"),
    "two rates": ({"g": H100, "x.xml": made.nccl(8, 18, [200000] * 8), "i": made.ports([400] * 8)},
                  {}, "mlx5_0: 200 Gb/s in .*x.xml line 56, 400 Gb/s in .*i line 7"),
    "no device in common": ({"g": H100, "t": NV18, "i": made.ports([400]).replace("mlx5", "bnxt")},
                            {}, "have no network device in common"),
    "two chips": ({"g": H100, "q": made.query("NVIDIA H200", 81559, 8)}, {}, "'NVIDIA H200'"),
    "another chip in Slurm": ({"g": H100, "s": made.nodes([("gpu:a100:8", "a")])}, {},
                              "chip: h100-sxm5-80 in .*g line 2, a100 in .*s line 1"),
    "an unknown card": ({"g": made.table("NVIDIA A100 80GB PCIe", 81920, 4)}, {},
                        "has no record; nearest: a100-sxm4-80; .*--chip takes one"),
    "an unknown chip": ({"g": made.table("NVIDIA A10", 23028, 4)}, {}, "nearest: a100-sxm4-40"),
    "memory is missing": ({"s": made.nodes([("gpu:v100:8", "a")])}, {},
                          "may be v100-sxm2-16 or v100-sxm2-32; add nvidia-smi -q"),
    "a mistyped chip": ({"g": H100}, {"chip": "h100-sxm-80"},
                       "^chip: unknown name .*did you mean 'h100-sxm5-80'"),
    "another chip given": ({"g": H100}, {"chip": "a100-sxm4-80"},
                           "^chip: a100-sxm4-80 given, h100-sxm5-80 in .*g line 2"),
    "more links than it has": ({"g": made.table(A100, 81920, 8), "t": NV18}, {},
                               "18 NVLink links between two chips, and a100-sxm4-80 has 12"),
    "odd links": ({"g": H100, "t": made.matrix([["X", "NV18", "SYS"], ["NV18", "X", "SYS"],
                  ["SYS", "SYS", "X"]])}, {}, "devices of a node"),
    "unequal groups": ({"g": made.table(made.H100, 81559, 3), "t": made.matrix(
        [["X", "NV6", "SYS"], ["NV6", "X", "SYS"], ["SYS", "SYS", "X"]])}, {},
        "neither all-to-all, nor within equal groups"),
    "other nodes than in Slurm": ({"g": H100, "s": SLURM}, {"nodes": 9},
                                  "9 given, 15 in .*s line 9"),
    "kinds of nodes": ({"s": made.nodes([("gpu:h100:8", "a"), ("gpu:h100:4", "b")])}, {},
                       "8 x h100 .line 1., 4 x h100 .line 9.; --partition takes one of a, b"),
    "no such partition": ({"s": SLURM}, {"partition": "trian"}, "did you mean 'train'"),
    "all drained": ({"s": made.nodes([("gpu:h100:8", "a")], drained=1)}, {}, "are down or drained"),
    "no GPUs": ({"s": made.nodes([("(null)", "a")])}, {}, "none of 1 nodes has Gres=gpu"),
    "a cut matrix": ({"t": "\n".join(NV18.splitlines()[:5])}, {}, "8 GPUs, but rows of only 4"),
    "a cut XML": ({"x": made.nccl(2, 18, [])[:-40]}, {}, "x: line 19: not valid XML"),
    "an XML that could grow": ({"x": '<?xml version="1.0"?><!DOCTYPE a><system/>'}, {},
                               "is no output that is read here"),
    "a number that is none": ({"x": made.nccl(2, 18, [1]).replace('"9"', '"many"', 1)}, {},
                              "count of <nvlink> is 'many', not a number"),
    "a number too large": ({"i": made.ports([400]).replace("400", "4" * 5000)}, {},
                           "i: line 7: Rate is '4{60}...', not a number from 0 to 1e.18"),
    "endless links": ({"t": NV18.replace("NV18", f"NV{'1' * 400}", 1)}, {}, "t: line 2: NV is '11"),
    "more GPUs than a node has": ({"x": made.nccl(1100, 0, [])}, {},
                                  "a node of 1,100 GPUs; at most 1,024 are read"),
    "no active port": ({"i": made.ports([], down=2)}, {}, "no port of any device is active"),
    "no rate": ({"i": made.ports([400]).replace("400", "fast")}, {},
                "no active port states a rate in Gb/s"),
    "half a chip": ({"r": made.rocm("AMD Instinct MI250X", 68702699520, [["X"]])}, {},
                    "mi250x is 2 devices, .*r line .* has 1"),
    "a shipped name": ({"g": H100}, {"name": "dgx-h100-ndr"}, "nearest: my-dgx-h100-ndr"),
}  # fmt: skip


@each("case", WRONG)
def test_what_clashes_is_refused_in_one_line(tmp_path: Path, case: str) -> None:
    outputs, options, words = WRONG[case]
    with pytest.raises(InputError) as error:
        detected(seen_in_files(saved(tmp_path, outputs))[0], **{"name": "mine", **options})
    assert len(str(error.value).splitlines()) == 1
    assert re.search(words, str(error.value)), str(error.value)


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_an_output_that_is_cut_or_mixed_up_is_refused_or_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Never an exception of another kind."""
    outputs, options, _ = data.draw(st.sampled_from(sorted(CASES.values(), key=str)))
    lines = next(iter(outputs.values())).splitlines()
    kept = data.draw(st.lists(st.sampled_from(lines), max_size=30))
    cut = data.draw(st.integers(0, len(lines)))
    text = "\n".join([*lines[:cut], *kept])
    if data.draw(st.booleans()):  # whole, and all numbers after a sign or in a cell are another
        number = data.draw(st.sampled_from(["0", "1", "7", "99999999999", "9" * 400, "9" * 5000]))
        text = "\n".join(re.sub(r"(?<=[=:\", V])\d+", number, line) for line in lines)
    with contextlib.suppress(InputError):
        found_in(tmp_path_factory.mktemp("cut"), {**outputs, next(iter(outputs)): text}, **options)


def test_the_tools_of_a_node_are_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    printed = {"gpus": H100, "topo": NV18}
    saved(tmp_path, printed)
    cat = shutil.which("cat")
    script = f"#!/bin/sh\n{cat} {tmp_path}/$([ $1 = topo ] && echo topo || echo gpus)\n"
    failing = "#!/bin/sh\necho no adapter >&2\nexit 9\n"
    for name, text in (("nvidia-smi", script), ("ibstat", failing)):
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    seen, missing = seen_here()
    assert [one.output for one in seen] == [" ".join(command) for command in COMMANDS[:2]]
    assert missing == (
        "rocm-smi: not on this node", "ibstat: exit code 9: no adapter",
        "scontrol: not on this node",
    )  # fmt: skip
    assert detected(seen, name="here").same_as == ("dgx-h100-ndr",)
    (tmp_path / "nvidia-smi").unlink()
    with pytest.raises(InputError, match="nothing was seen on this node"):
        seen_here()
