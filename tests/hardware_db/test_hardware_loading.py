"""Names, user files, and every way in which a file can be wrong."""

import copy
import functools
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.cases import each
from support.dumping import dumped
from support.lines import without_lines

import hardware_db
from hardware_db import HardwareError, load_chip, load_cluster, load_reference
from strict_yaml.reading import load as load_yaml
from strict_yaml.text import YamlText
from strict_yaml.writing import dump as dump_yaml

EXAMPLE = Path(hardware_db.__file__).parent / "data" / "examples" / "my-cluster.yaml"
TEXT = EXAMPLE.read_text(encoding="utf-8")


@functools.cache
def example() -> Any:
    return load_yaml(TEXT)


@pytest.fixture
def data() -> dict[str, Any]:
    content = copy.deepcopy(example())
    assert isinstance(content, dict)
    return content


def problems(tmp_path: Path, content: Any) -> tuple[str, ...]:
    """The lines of the error that a file of that content gives."""
    path = tmp_path / "user.yaml"
    if isinstance(content, bytes):
        path.write_bytes(content)
    else:
        text = content if isinstance(content, str) else dump_yaml(content)
        path.write_text(text, encoding="utf-8")
    with pytest.raises(HardwareError) as caught:
        load_cluster(path)
    assert all(line.startswith(str(path)) for line in caught.value.problems)
    text = path.read_text(encoding="utf-8", errors="replace")
    said = (line[len(str(path)) + 2 :] for line in caught.value.problems)
    return tuple(without_lines(line, text) for line in said)


def test_the_example_is_a_working_cluster() -> None:
    cluster = load_cluster(EXAMPLE)
    assert cluster == load_cluster(str(EXAMPLE))
    assert cluster.chip.name == "my-chip"
    assert [level.domain_chips for level in cluster.scale(32).levels] == [4, 32]


def test_cluster_name_wins_over_chip_name() -> None:
    assert load_cluster("tpu-v5p").levels[0].name == "ici"
    assert load_cluster("h100-sxm5-80").name == "dgx-h100-ndr"


def test_a_chip_borrows_the_levels_of_its_default_cluster() -> None:
    borrowed = load_cluster("gh200-141")
    assert borrowed.name == "gh200-141"
    assert borrowed.chip == load_chip("gh200-141")
    assert borrowed.levels == load_cluster("gh200-ndr").levels


def test_a_chip_file_stands_for_its_default_cluster(tmp_path: Path, data: dict[str, Any]) -> None:
    path = tmp_path / "chip.yaml"
    path.write_text(dump_yaml(data["chip"]), encoding="utf-8")
    assert load_chip(path).name == "my-chip"
    cluster = load_cluster(path)
    assert (cluster.name, cluster.levels[0].name) == ("my-chip", "nvlink")


def test_a_cluster_file_may_name_a_shipped_chip(tmp_path: Path, data: dict[str, Any]) -> None:
    path = tmp_path / "named.yaml"
    path.write_text(dump_yaml({**data, "chip": "h100-sxm5-80"}), encoding="utf-8")
    assert load_cluster(path).chip == load_chip("h100-sxm5-80")


@each(("load", "name", "near"), [
    (load_chip, "h100-sxm5-8", "h100-sxm5-80"), (load_cluster, "tpu-v5", "tpu-v5"),
    (load_cluster, "dgx-h100", "dgx-h100-ndr"), (load_reference, "enrgy", "energy"),
    (hardware_db.load_calibration, "defalt", "default"),
])  # fmt: skip
def test_unknown_names_suggest_the_nearest(load: Any, name: str, near: str) -> None:
    with pytest.raises(HardwareError, match=f"unknown name '{name}'; did you mean '{near}"):
        load(name)


@each("name", [None, 7, ["tpu-v5p"]])
def test_names_of_the_wrong_type_are_refused(name: Any) -> None:
    with pytest.raises(HardwareError):
        load_cluster(name)


def test_unreadable_paths(tmp_path: Path) -> None:
    with pytest.raises(HardwareError, match="cannot be read"):
        load_cluster(tmp_path / "absent.yaml")
    with pytest.raises(HardwareError, match="cannot be read"):
        load_cluster(tmp_path)


def test_all_mistakes_are_reported_at_once(tmp_path: Path, data: dict[str, Any]) -> None:
    del data["title"]
    data["node_chips"]["value"] = "4"
    data["levels"][0]["bandwith"] = data["levels"][0].pop("bandwidth")
    data["levels"][1]["latency"]["value"] = float("nan")
    data["levels"][1]["energy"]["unit"] = "J/bit"
    data["chip"]["power"]["tdp"]["value"] = -600
    data["chip"]["clock"]["kind"] = "guess"
    data["chip"]["peak"]["bf16"]["source"] = "sheets"
    del data["levels"][1]["switch_power"]["note"]
    found = problems(tmp_path, data)
    expected = [
        "title: missing",
        "node_chips.value: a number is required, not '4'",
        "levels[0].bandwith: unknown field; did you mean 'bandwidth'?",
        "levels[1].latency.value: a finite number is required, not nan",
        "levels[1].energy.unit: 'J/bit' is not one of",
        "chip.power.tdp: value: a positive number is required, not -600",
        "chip.clock.kind: 'guess' is not one of datasheet, measured, derived, assumed",
        "chip.peak.bf16.source: 'sheets' is not defined under sources",
        "levels[1].switch_power: an assumed number needs a note",
    ]
    for start in expected:
        assert any(line.startswith(start) for line in found), (start, found)
    assert len(found) == len(expected)


def _mac(joules: float) -> dict[str, Any]:
    """A quantity of `energy.mac`."""
    return {"value": joules, "unit": "J/MAC", "kind": "datasheet", "source": "sheet"}


@pytest.mark.parametrize(("path", "value", "message"), [
    ("levels.0.links.value", 11, "levels[0].bandwidth: 3e+11 B/s, but 11 links"),
    ("levels.0.domain.value", 4.5, "levels[0].domain: value: a whole number is required"),
    ("levels.0.domain.value", [4], "levels[0].domain: value: one number is required"),
    ("levels.0.domain.value", True, "levels[0].domain.value: a number is required, not true"),
    ("levels.0.domain.value", 1, "levels[0].domain: 1 chips do not exceed the level inside"),
    ("levels.0.domain.value", 6, "levels[0].domain: 6 chips do not fit nodes of 4"),
    ("levels.0.topology", "torus", "levels[0].torus: required for a torus"),
    ("levels.0.topology", "star", "levels[0].topology: 'star' is not one of switch, fat-tree"),
    ("levels.1.name", "links", "levels[1].name: 'links' occurs twice"),
    ("levels", [], "levels: at least 1 entry is required"),
    ("levels", 3, "levels: a list is required, not 3"),
    ("max_chips.value", 10**400, "max_chips.value: a finite number is required"),
    ("max_chips.value", 10**9, "max_chips: at most 10000000 can be modelled"),
    ("max_chips.value", 2, "max_chips: 2 is less than node_chips (4)"),
    ("chip", "h100", "chip: unknown name 'h100'; did you mean"),
    ("chip", 5, "chip: a mapping is required, not 5"),
    ("chip.peak.bf16.value", 9e14, "chip.peak.bf16: 9e+14 FLOP/s, but 100 PEs x 2e+09 Hz"),
    ("chip.peak", {}, "chip.peak: at least one format needs a rate"),
    ("chip.power.idle.value", 130, "chip.power.idle: 130 W is above power.wait (120 W)"),
    ("chip.power.busy.value", 700, "chip.power.busy: 700 W is more than 10 % above tdp"),
    ("chip.dvfs.levels.value", [0.9, 0.8], "chip.dvfs.levels: falling numbers in (0, 1]"),
    ("chip.dvfs.levels.value", [1.2, 1.0], "chip.dvfs.levels: falling numbers in (0, 1]"),
    ("chip.dvfs.settable", "yes", "chip.dvfs.settable: true or false is required, not 'yes'"),
    ("chip.scale_up.bandwidth.value", 6e11, "chip.scale_up.bandwidth: 6e+11 B/s, but 12 links"),
    ("chip.energy.flop.bf16.value", "0.9e-12", "chip.energy.flop.bf16.value: a number is required"),
    ("chip.energy.mac", {"bf16": _mac(9e-12)}, "chip.energy.mac.bf16: 9e-12 J/MAC is above two"),
    ("chip.energy.mac", {"fp4": _mac(1e-13)}, "chip.energy.mac.fp4: given, but peak.fp4 is not"),
    ("chip.energy.mac", {"bf16": {**_mac(1e-13), "unit": "J/FLOP"}},
     "chip.energy.mac.bf16: unit: 'J/FLOP' given, 'J/MAC' required here"),
    ("chip.calibration.attention", "fast", "chip.calibration.attention: 'fast' is not one of"),
    ("sources.plan.url", None, "sources.plan: a url, doi, arxiv or document is required"),
])  # fmt: skip
def test_one_mistake_gives_one_clear_line(
    tmp_path: Path, data: dict[str, Any], path: str, value: Any, message: str
) -> None:
    node: Any = data
    *steps, last = path.split(".")
    for step in steps:
        node = node[int(step) if isinstance(node, list) else step]
    node[last] = value
    found = problems(tmp_path, data)
    assert any(line.startswith(message) for line in found), found


def test_inconsistent_bidirectional_rate(tmp_path: Path, data: dict[str, Any]) -> None:
    both = {**data["levels"][0]["bandwidth"], "value": 7e11}
    data["levels"][0]["bidirectional"] = both
    (line,) = problems(tmp_path, data)
    assert line == "levels[0].bidirectional: 7e+11 B/s is not twice levels[0].bandwidth"


@each(("content", "message"), [
    (b"", "the file is empty"),
    (b"\n# nothing\n", "the file is empty"),
    (b"- 1\n- 2\n", "the file is not a mapping"),
    (b"just text", "the file is not a mapping"),
    (b"\x00\x01\x02\xff\xfe" * 50, "not a text file"),
    (b"\x00" * 100, "not valid YAML"),
    (b"a: [1, 2", "line 1: not valid YAML"),
    (b"a: 1\n\tb: 2\n", "line 2: not valid YAML"),
    (b"a: 1\na: 2\n", "line 2: the key 'a' occurs twice"),
    (b"a: &x {b: 1}\nc: *x\n", "line 2: YAML aliases"),
    (b"a: !!python/object/apply:os.system ['true']\n", "line 1: YAML tags (!!python"),
    (b"[" * 5000 + b"]" * 5000, "nested deeper"),
    (b"a: " + b"x" * 2_000_000, "larger than"),
])  # fmt: skip
def test_files_that_are_no_clean_yaml(tmp_path: Path, content: bytes, message: str) -> None:
    found = problems(tmp_path, content)
    assert any(line.startswith(message) or message in line for line in found), found


def test_wrong_record_type(tmp_path: Path) -> None:
    found = problems(tmp_path, "name: x\nhidden_size: 4096\n")
    assert "levels: missing" in found
    assert any(line.startswith("hidden_size: unknown field") for line in found)


def leaves(node: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything below a node."""
    items: Any = ()
    if isinstance(node, dict):
        items = node.items()
    elif isinstance(node, list):
        items = enumerate(node)
    found = [path] if path else []
    for key, child in items:
        found += leaves(child, (*path, key))
    return found


GARBAGE = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**30), 10**30),
    st.just(10**400),
    st.floats(),
    st.text(max_size=8),
    st.lists(st.floats(), max_size=3),
    st.dictionaries(st.text(max_size=4), st.integers(), max_size=2),
)


@settings(max_examples=250, deadline=None)
@given(seed=st.integers(0, 10**9), garbage=GARBAGE, rename=st.booleans())
def test_mutated_records_load_or_raise_hardware_error(
    seed: int, garbage: Any, rename: bool
) -> None:
    content = copy.deepcopy(example())
    *steps, last = random.Random(seed).choice(leaves(content))
    node = content
    for step in steps:
        node = node[step]
    if rename and isinstance(node, dict):
        node[f"{last}_"] = node.pop(last)
    else:
        node[last] = garbage
    expect_no_other_error(dumped(content).encode())


@settings(max_examples=250, deadline=None)
@given(seed=st.integers(0, 10**9), junk=st.binary(max_size=6))
def test_damaged_bytes_load_or_raise_hardware_error(seed: int, junk: bytes) -> None:
    content = TEXT.encode()
    rng = random.Random(seed)
    start = rng.randrange(len(content))
    damaged = content[:start] + junk + content[start + rng.randrange(40) :]
    expect_no_other_error(damaged if rng.random() < 0.7 else content[:start])


def expect_no_other_error(content: bytes) -> None:
    """The bytes give a working cluster or an error with text in every line."""
    assert all(line.strip() for line in outcome(content))


def outcome(content: bytes) -> tuple[str, ...]:
    try:
        data = hardware_db.reading.parse(content, "fuzz.yaml")
        text = YamlText("fuzz.yaml", content)
        cluster = hardware_db.making.made_cluster(hardware_db.making.completed(data, text))
        return tuple(level.name for level in cluster.scale(4).levels)
    except HardwareError as error:
        return error.problems


def test_schemas_describe_the_files() -> None:
    schemas = hardware_db.json_schemas()
    assert set(schemas) == {
        "chip", "cluster", "like-chip", "like-cluster", "calibration", "reference",
    }  # fmt: skip
    chip = schemas["chip"]
    assert chip["additionalProperties"] is False
    assert {"name", "peak", "memory", "power"} <= set(chip["required"])
    quantity = schemas["cluster"]["$defs"]["QuantityModel"]
    assert set(quantity["required"]) == {"value", "unit", "kind"}
    group = schemas["calibration"]["properties"]["constants"]["additionalProperties"]["anyOf"]
    assert {"$ref": "#/properties/constants"} in group


def test_loading_again_returns_the_same_object() -> None:
    assert load_cluster("dgx-h100-ndr") is load_cluster("dgx-h100-ndr")


def test_mistakes_in_a_calibration_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        "name: mine\ntitle: Mine\nconstants:\n"
        "  a: {value: 0.5, unit: '1', kind: assumed}\n"
        "  b: {c: fast, d: {value: x, unit: '1', kind: assumed, note: n}}\n",
        encoding="utf-8",
    )
    with pytest.raises(HardwareError) as caught:
        hardware_db.load_calibration(path)
    assert [line[len(str(path)) + 2 :] for line in caught.value.problems] == [
        "line 4: constants.a: an assumed number needs a note that says how it was obtained",
        "line 5: constants.b.c: a mapping is required, not 'fast'",
        "line 5: constants.b.d.value: a number is required, not 'x'",
    ]


def test_a_users_torus_must_be_countable(tmp_path: Path, data: dict[str, Any]) -> None:
    level = data["levels"][0]
    chips = {"unit": "chip", "kind": "datasheet", "source": "plan"}
    level.update(
        topology="torus",
        domain={"value": 4 * 4 * 2**20, **chips},
        torus={
            "pod": {"value": [4, 4, 2**20], **chips},
            "cube_edge": {"value": 1, **chips},
            "wrap_rule": "always",
        },
    )
    assert "levels[0].torus.pod: more than 100000 building blocks" in problems(tmp_path, data)


@pytest.mark.parametrize("key", ["gemm", "attention"])
def test_a_chip_names_constants_that_exist(key: str, tmp_path: Path, data: dict[str, Any]) -> None:
    data["chip"]["calibration"][key] = "foo"
    found = problems(tmp_path, data)
    assert len(found) == 1
    assert found[0].startswith(f"chip.calibration.{key}: 'foo' is not one of a100, ")


@each(("name", "near"), [
    ("h100", ["h100-500w", "h100-pcie-80", "h100-sxm5-80", "dgx-h100-ndr"]),
    ("B200", ["b200-sxm-180", "dgx-b200-ndr", "gb200-nvl72", "gb200-nvl72-gpu"]),
])  # fmt: skip
def test_names_that_hold_what_was_typed_are_suggested_first(name: str, near: list[str]) -> None:
    words = " or ".join(map(repr, near))
    with pytest.raises(HardwareError, match=rf"unknown name '{name}'; did you mean {words}\?"):
        load_cluster(name)


def test_names_ignore_case() -> None:
    assert load_cluster("TPU-v5p") is load_cluster("tpu-v5p")
    assert load_chip("H100-SXM5-80") is load_chip("h100-sxm5-80")
    assert hardware_db.describe("Energy") == hardware_db.describe("energy")


@each("look_up", [load_cluster, hardware_db.describe])
def test_a_family_that_is_spelled_almost_right(look_up: Any) -> None:
    with pytest.raises(HardwareError, match=r"'h101'; did you mean 'h100-500w' or 'h100-pcie-80'"):
        look_up("h101")
    with pytest.raises(HardwareError, match=r"\d+ clusters and \d+ chips .*hardware list;"):
        look_up("zzzzzz")


@each("name", ["tpu", "a100"])
def test_a_suggestion_is_made_once_and_machines_come_first(name: str) -> None:
    with pytest.raises(HardwareError) as error:
        hardware_db.describe(name)
    names = str(error.value).split("did you mean ")[1].removesuffix("?").split(" or ")
    assert len(set(names)) == len(names) == 4
    machines = (*hardware_db.list_clusters(), *hardware_db.list_chips())
    assert all(found.strip("'") in machines for found in names)


@pytest.mark.parametrize(("change", "line"), [
    ({"url": "www.example.com"}, "'www.example.com' does not start with http:// or https://"),
    ({"doi": "https://doi.org/10.1/x"}, "'https://doi.org/10.1/x' does not start with 10."),
])  # fmt: skip
def test_a_source_leads_somewhere(
    change: dict[str, str], line: str, tmp_path: Path, data: dict[str, Any]
) -> None:
    data["sources"]["more"] = {"title": "More", **change}
    assert problems(tmp_path, data) == (f"sources.more.{next(iter(change))}: {line}",)


def test_an_exponent_without_a_dot_is_a_number(tmp_path: Path, data: dict[str, Any]) -> None:
    path = tmp_path / "mine.yaml"
    data["levels"][0]["latency"]["value"] = "LATENCY"
    path.write_text(dump_yaml(data).replace("LATENCY", "3e-6"), encoding="utf-8")
    assert load_cluster(path).levels[0].latency_s == 3e-6
