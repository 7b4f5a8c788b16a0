"""Every number in every shipped file has a unit, a kind and a source; no source is idle."""

import copy
import functools
import math
import re
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

import hardware_db
from hardware_db.quantity import KINDS, UNITS
from strict_yaml.reading import load as load_yaml

DATA = Path(hardware_db.__file__).parent / "data"
FILES = sorted(path for path in DATA.rglob("*.yaml") if path.parent.name != "examples")


@functools.cache
def content(path: Path) -> Any:
    return load_yaml(path.read_text(encoding="utf-8"))


def read(path: Path) -> dict[str, Any]:
    data = copy.deepcopy(content(path))
    assert isinstance(data, dict)
    return data


def faults(node: Any, path: str, sources: dict[str, Any], used: set[str]) -> list[str]:
    """What is wrong with the provenance below a node; `used` collects the source keys."""
    if isinstance(node, dict) and "value" in node:
        return quantity_faults(node, path, sources, used)
    if isinstance(node, dict):
        pairs = [(str(key), child) for key, child in node.items()]
    elif isinstance(node, list):
        pairs = [(str(index), child) for index, child in enumerate(node)]
    else:
        bare = isinstance(node, int | float) and not isinstance(node, bool)
        return [f"{path}: bare number"] if bare else []
    return [
        fault for key, child in pairs for fault in faults(child, f"{path}.{key}", sources, used)
    ]


def quantity_faults(
    node: dict[str, Any], path: str, sources: dict[str, Any], used: set[str]
) -> list[str]:
    keys = node.get("source") or []
    keys = [keys] if isinstance(keys, str) else keys
    used.update(keys)
    found = [f"{path}: undefined source {key}" for key in keys if key not in sources]
    if not keys:
        found.append(f"{path}: no source")
    if set(node) - {"value", "unit", "kind", "source", "note", "uncertainty", "rows"}:
        found.append(f"{path}: unexpected field")
    if ("uncertainty" in node) != ("rows" in node):
        found.append(f"{path}: a fit has an uncertainty and rows")
    if node.get("unit") not in UNITS:
        found.append(f"{path}: unit {node.get('unit')!r}")
    if node.get("kind") not in KINDS:
        found.append(f"{path}: kind {node.get('kind')!r}")
    if (node.get("kind") == "assumed" or node["value"] is None) and not node.get("note"):
        found.append(f"{path}: needs a note")
    flat = node["value"]
    while isinstance(flat, list) and flat and isinstance(flat[0], list):
        flat = [item for row in flat for item in row]
    for item in flat if isinstance(flat, list) else [flat]:
        number = isinstance(item, int | float) and not isinstance(item, bool)
        if item is not None and not (number and math.isfinite(item)):
            found.append(f"{path}: value {item!r}")
    return found


@each("path", FILES)
def test_file_has_complete_provenance(path: Path) -> None:
    data = read(path)
    sources = data.pop("sources")
    used: set[str] = set()
    assert faults(data, path.stem, sources, used) == []
    assert used == set(sources), "unused source"
    assert data["name"] == path.stem
    for key, source in sources.items():
        places = [form for form in ("url", "doi", "arxiv", "document") if source.get(form)]
        assert len(source["title"]) > 8, key
        assert len(places) == 1, key
        if places == ["url"]:
            assert re.fullmatch(r"https?://[^\s]+\.[^\s]+", source["url"]), key
        if places == ["arxiv"]:
            assert re.fullmatch(r"\d{4}\.\d{4,5}", source["arxiv"]), key


@each("broken", [
    {"value": 1.0, "unit": "B", "kind": "datasheet"},
    {"value": 1.0, "unit": "B", "kind": "datasheet", "source": "absent"},
    {"value": 1.0, "unit": "GB", "kind": "datasheet", "source": "known"},
    {"value": 1.0, "unit": "B", "kind": "guessed", "source": "known"},
    {"value": 1.0, "unit": "B", "kind": "assumed", "source": "known"},
    {"value": None, "unit": "B", "kind": "datasheet", "source": "known"},
    {"value": "1e9", "unit": "B", "kind": "datasheet", "source": "known"},
    {"value": math.nan, "unit": "B", "kind": "datasheet", "source": "known"},
    7,
])  # fmt: skip
def test_the_check_above_can_fail(broken: Any) -> None:
    assert faults({"memory": broken}, "x", {"known": {}}, set())


def test_no_file_uses_yaml_features_that_user_files_may_not() -> None:
    for path in FILES:
        hardware_db.reading.parse(path.read_bytes(), path.name)


def test_loaded_records_carry_the_provenance() -> None:
    chip = hardware_db.load_chip("h100-sxm5-80")
    peak = chip.quantities["peak.bf16"]
    assert (peak.number, peak.unit, peak.kind) == (989e12, "FLOP/s", "datasheet")
    assert next(chip.sources[key].reference for key in peak.sources) == (
        "https://www.nvidia.com/en-us/data-center/h100/"
    )
    level = hardware_db.load_cluster("tpu-v5p").quantities["levels.ici.link_bandwidth"]
    assert level.number == 9e10
    assert "100 GB/s on the wire" in level.note


def test_describe_gives_every_number_of_a_cluster_and_its_chip() -> None:
    rows = hardware_db.describe("dgx-h100-ndr")
    cluster = hardware_db.load_cluster("dgx-h100-ndr")
    assert len(rows) == len(cluster.quantities) + len(cluster.chip.quantities)
    by_path = {row.path: row for row in rows}
    row = by_path["chip.memory.bandwidth"]
    assert (row.value, row.unit, row.kind) == (3.35e12, "B/s", "datasheet")
    assert "NVIDIA H100 specifications (https://" in row.sources[0]
    assert by_path["levels.leaf.domain"].value == 256
    assert all(row.note for row in rows if row.kind == "assumed")


@each("name", ["gh200-96", "default", "energy"])
def test_describe_knows_every_kind_of_record(name: str) -> None:
    assert all(row.kind in KINDS for row in hardware_db.describe(name))


def test_describe_names_the_nearest() -> None:
    with pytest.raises(hardware_db.HardwareError, match="did you mean 'dgx-h100-ndr'"):
        hardware_db.describe("dgx-h100-ndx")


@each("path", FILES)
def test_no_number_that_only_a_student_report_states_is_called_a_data_sheet_s(path: Path) -> None:
    record = read(path)
    reports = {key for key, entry in record["sources"].items() if "student" in entry["title"]}
    assert all(record["sources"][key]["document"].startswith("unpublished") for key in reports)

    def check(node: Any) -> None:
        if isinstance(node, dict) and "value" in node:
            keys = node.get("source") or []
            alone = set([keys] if isinstance(keys, str) else keys) <= reports
            assert not (alone and keys) or node["kind"] == "assumed", node
        elif isinstance(node, dict | list):
            for child in node.values() if isinstance(node, dict) else node:
                check(child)

    check(record)


def test_latencies_of_ici_are_assumed() -> None:
    names = [name for name in hardware_db.list_clusters() if name.startswith("tpu-")]
    assert names
    for name in names:
        assert hardware_db.load_cluster(name).quantities["levels.ici.latency"].kind == "assumed"
