"""Plan files, and the answers of `planner evaluate` about them."""

from pathlib import Path
from typing import Any

from cli.command import planner
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

COSTS = (
    "step_time_s", "energy_per_step_j", "energy_per_step_low_j", "energy_per_step_high_j",
    "power_per_chip_w", "memory_per_chip_bytes", "host_memory_per_chip_bytes", "mfu", "hfu",
    "tokens_per_s", "breakdown",
)  # fmt: skip


DECISIONS = (
    "mesh", "micro_batch", "schedule", "interleave", "sharding", "sequence_parallel", "cp_mode",
    "recompute", "offload", "split", "clock",
)  # fmt: skip


def evaluate(path: Path, *flags: object) -> Any:
    """The JSON answer of `planner evaluate`."""
    outcome = planner("evaluate", path, *flags, "--json")
    assert (outcome.code, outcome.err) == (0, ""), outcome.err
    return outcome.document


def edited(path: Path, change: Any) -> Path:
    """The same file after a change to its data."""
    data = load_yaml(path.read_text(encoding="utf-8"))
    change(data)
    other = path.with_name("edited.yaml")
    other.write_text(dump_yaml(data), encoding="utf-8")
    return other
