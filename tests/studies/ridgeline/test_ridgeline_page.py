"""Every number of docs/ridgeline.md is what the commands beside it find, as the page has it."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from cli.command import planner

from planner.studies.ridgeline.plane import NEAR_SHARE

PAGE = (Path(__file__).parents[3] / "docs" / "ridgeline.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
NOT_PROSE = re.compile(
    r"^```.*?^```$|^!\[.*?$|^\*(?:Made|Figures|Arrows).*?\*$|`[^`]*`", re.M | re.S
)
"""Blocks, pictures and their captions (tests/docs/test_docs_pictures.py reads those), code."""
NUMBER = re.compile(r"(?<![\w.,-])\d[\d,]*(?:\.\d+)?(?:[a-z]\b)?")
SOURCES = ("arXiv:2209.01368", "IPDPS 2013", "figure 4b", "its figure 6 and")


def points(*flags: object) -> list[Any]:
    outcome = planner("ridgeline", *flags, "--json")
    assert outcome.code == 0, outcome.err
    found: list[Any] = outcome.document["points"]
    return found


def rules() -> list[str]:
    return [f"at least {100 * NEAR_SHARE:.0f} % of the longest", "A share above 100 % cannot be"]


def knees_of_a_tpu() -> list[str]:
    found = planner("ridgeline", "--hardware", "tpu-v5p", "--json").document
    inner, outer = found["ridgelines"]
    return [
        f"{inner['flop_per_s'] / 1e12:.0f} TFLOP/s, {inner['memory_bytes_per_s'] / 1e12:.3f} TB/s",
        f"{inner['network_bytes_per_s'] / 1e9:.0f} GB/s of ICI",
        f"{outer['network_bytes_per_s'] / 1e9:.2f} GB/s of DCN",
        f"at x = {inner['knee']['x']:.2f} and x = {outer['knee']['x']:.0f}",
        f"both at y = {inner['knee']['y']:.0f}",
        f"its diagonals at {inner['diagonal']:,.0f} and {outer['diagonal']:,.0f} FLOP",
    ]


def the_case() -> list[str]:
    document = planner("ridgeline", "--case", "mlp-4096", "--json").document
    by_batch = {point["batch"]: point for point in document["points"]}
    (ridge,), at = document["ridgelines"], by_batch[512]
    width = round((at["network_bytes"] / 8) ** 0.5)
    compute = [batch for batch, one in by_batch.items() if one["region"] == "compute"]
    assert [batch for batch, one in by_batch.items() if one["near_ridge"]] == [512]
    assert at["flop"] == 6 * 512 * width**2
    crossing = 8 * ridge["flop_per_s"] / (6 * ridge["network_bytes_per_s"])
    times = f"{1e3 * at['compute_time_s']:.2f} ms", f"{1e3 * at['network_time_s']:.2f} ms"
    rates = [ridge[name] for name in ("memory_bytes_per_s", "network_bytes_per_s")]
    return [
        f"a {width}-wide layer",
        f"({ridge['flop_per_s'] / 1e12:.1f} TFLOP/s, {rates[0] / 1e9:.0f} GB/s, "
        f"{rates[1] / 1e9:.0f} GB/s)",
        "F = 6 B D^2",
        "2 x 4 D^2 bytes",
        f"B = 8 C / (6 W_N) = {crossing:.0f}, whatever",
        f"At batch {compute[0]} computing takes {times[0]} and the all-reduce {times[1]}",
        f"From {compute[1]:,} on it is compute-bound, below {compute[0]} network-bound",
        f"x = {document['knee']['x']:.2f}, y = {document['knee']['y']:.0f}.",
        f"that up to batch {compute[0]} the all-reduce",
        f"at {compute[0]} ({times[0]} against {times[1]})",
        f'its conclusion for {compute[0]} ("on',
    ]


def ways_to_count() -> list[str]:
    knee = planner("ridgeline", "--case", "mlp-4096", "--json").document["knee"]["y"]

    def intensities(counting: str) -> dict[int, float]:
        flags = ("--case", "mlp-4096", "--counting", counting, "--batches", "16,27,28,32,83,84")
        return {point["batch"]: point["operational_intensity"] for point in points(*flags)}

    def crossed(found: dict[int, float]) -> int:
        below = max(batch for batch, intensity in found.items() if intensity < knee)
        assert below + 1 in found
        return below

    step, gemm, blocked = map(intensities, ("step", "gemm", "blocked"))
    (after,) = (batch for batch in (16, 32) if step[batch] >= knee)
    return [
        "FLOP per byte at batch 32 |",
        "once: 4 (2 B D + D^2)",
        f"| {step[32]:.1f} ({step[16]:.1f} at 16) | {crossed(step)}, so {after} of the paper's",
        f"multiplications | {gemm[32]:.1f} | {crossed(gemm)} |",
        f"(model/within-chip.md)) | {blocked[32]:.1f} | {crossed(blocked)} |",
    ]


def the_layer() -> list[str]:
    flags = ("--hardware", "h100-sxm5-80", "--model", "llama3-8b", "--chips", 16, "--tp", 8)
    document = planner("ridgeline", *flags, "--batches", "1,2", "--json").document
    assert document["title"].startswith("one layer of Llama 3 8B, 16 chips, tp 8,")
    found = {(point["series"], point["batch"]): point for point in document["points"]}
    one, attention = found["layer", 1], found["attention", 1]
    levels = {each["level"]: each["network_time_s"] for each in one["levels"]}
    assert (attention["region"], one["region"]) == ("network", "compute")
    assert [found["layer", batch]["level"] for batch in (1, 2)] == ["leaf", "nvlink"]
    return [
        "One layer of Llama 3 8B on 16 H100s, tp 8 inside",
        f"leaf take {1e3 * levels['leaf']:.2f} ms against {1e3 * levels['nvlink']:.2f} ms",
        f"computes for {1e3 * one['compute_time_s']:.2f} ms per sequence",
        f"{1e6 * attention['network_time_s']:.0f} us over NVLink",
        f"against {1e6 * attention['compute_time_s']:.0f} us of arithmetic",
    ]


def the_plan(folder: Path) -> list[str]:
    block = re.search(r"^```yaml\n(# file: sharded.yaml\n.*?)^```$", PAGE, re.M | re.S)
    assert block is not None
    path = folder / "sharded.yaml"
    path.write_text(block[1], encoding="utf-8")
    document = planner("ridgeline", "--plan", path, "--sweep", "tp", "--json").document
    assert document["title"].startswith("one step of Llama 2 13B on 64 chips")
    one, two, four, _ = document["points"]
    assert [point["tp"] for point in (one, two, four)] == [1, 2, 4]
    assert two["near_ridge"]
    assert (four["region"], four["level"]) == ("network", "leaf")
    return [
        "Llama 2 13B, fully sharded over 64 H100s",
        f"{one['compute_time_s']:.2f} s of computing",
        f"{1e3 * one['network_time_s']:.0f} ms over the leaf",
        f"At tp 2 the leaf takes {two['network_time_s']:.2f} s as well, near the ridge",
        f"at tp 4 it binds with {four['network_time_s']:.2f} s",
    ]


def the_experts() -> list[str]:
    flags = ("--hardware", "gb200-nvl72", "--model", "mixtral-8x7b", "--chips", 8, "--ep", 8)
    found = {point["name"]: point for point in points(*flags, "--batches", 1)}
    experts = found["experts"]
    assert next(name for name, one in found.items() if one["region"] == "memory") == "router"
    return [
        "on 8 GB200s with one expert of Mixtral each, a sequence of 32,768 tokens takes "
        f"{1e3 * experts['network_time_s']:.2f} ms over NVLink against "
        f"{1e3 * experts['compute_time_s']:.1f} ms of arithmetic in the experts",
    ]


def the_joules() -> list[str]:
    found = planner("ridgeline", "--hardware", "h100-sxm5-80", "--json").document
    energy, ridge = found["energy"], found["ridgelines"][0]
    best = energy["flop_j"] + energy["static_w"] / ridge["flop_per_s"]
    assert energy["assumed"] == ["static_w"]
    return [
        f"{1e12 * energy['flop_j']:.1f} pJ per FLOP, {1e12 * energy['memory_j_per_byte']:.0f} pJ",
        f"{energy['static_w']:.0f} W at rest",
        f"the same at {energy['balance']:.0f} FLOP per byte",
        f"at {ridge['knee']['y']:.0f} only",
        f"At best a FLOP costs {1e12 * best:.3f} pJ.",
    ]


FACTS: tuple[Callable[[], list[str]], ...] = (
    rules, knees_of_a_tpu, the_case, ways_to_count, the_layer, the_experts, the_joules,
)  # fmt: skip


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """What the page must say, with the numbers as they are found."""
    found = [phrase for facts_of in FACTS for phrase in facts_of()]
    return found + the_plan(tmp_path_factory.mktemp("page"))


def test_the_page_has_the_numbers_that_are_found(facts: list[str]) -> None:
    assert [phrase for phrase in facts if phrase not in TEXT] == []


def test_every_number_of_the_page_is_vouched_for(facts: list[str]) -> None:
    prose = " ".join(NOT_PROSE.sub(lambda match: "`" * len(match[0]), PAGE).split())
    for phrase in (*facts, *SOURCES):
        prose = prose.replace(phrase, "")
    left = [
        prose[max(match.start() - 40, 0) : match.end() + 20] for match in NUMBER.finditer(prose)
    ]
    assert left == []
