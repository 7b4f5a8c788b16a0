"""The table of torchtitan's configurations against torchtitan's own ConfigManager.

0.3 is the installed package; PLANNER_TORCHTITAN_MAIN is a checkout of main. Run with a Python that
has torchtitan, and torchao for the configurations in 8 and 4 bits.
"""

import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from support.cases import each

from planner.frameworks.torchtitan.reading.registry import REGISTRY, Registered

pytestmark = pytest.mark.oracle
ASKS = Path(__file__).with_name("torchtitan_configs.py")
MODULES = sorted({module for module, _ in REGISTRY})
LEFT_OUT = ("_mm", "_emulate_lora")  # with images, or with adapters
DEFAULTS = {
    "data_parallel_replicate_degree": "1",
    "data_parallel_shard_degree": "-1",
    "tensor_parallel_degree": "1",
    "context_parallel_degree": "1",
    "pipeline_parallel_degree": "1",
    "expert_parallel_degree": "1",
    "enable_sequence_parallel": "True",
    "pipeline_parallel_schedule": "1F1B",
    "fsdp_reshard_after_forward": "default",
}
UNASKED = {
    # Modules or chips that the configuration needs: FlashAttention on Hopper.
    "qwen3_debugmodel_flex_flash",
}


def answers(version: str) -> dict[tuple[str, str], dict[str, Any]]:
    """What torchtitan says of every configuration."""
    environment = dict(os.environ)
    if version == "main":
        folder = os.environ.get("PLANNER_TORCHTITAN_MAIN")
        if not folder:
            pytest.skip("PLANNER_TORCHTITAN_MAIN names no checkout of torchtitan main")
        environment["PYTHONPATH"] = folder
    if find_spec("torchtitan") is None or find_spec("torchao") is None:
        pytest.skip("torchtitan and torchao are not installed")
    done = subprocess.run(
        [sys.executable, str(ASKS), json.dumps(MODULES)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return {(module, name): found for module, name, found in json.loads(done.stdout)}


def expected(one: Registered) -> dict[str, Any]:
    formats = {"": [], "float8": ["float8"], "mxfp8": ["mxfp8"]}
    mesh = {name: value.replace("false", "False") for name, value in one.parallelism}
    return {
        "tokens": one.batch * one.length,
        "length": one.length,
        "recompute": one.recompute,
        "compiles": list(one.compiles),
        "formats": formats.get(one.converter, ["nvfp4"]),
        "stored": ["float32", "bfloat16"],
        "flavor": one.flavor,
        **DEFAULTS,
        **mesh,
    }


@each("version", ["0.3", "main"])
def test_the_table_says_what_torchtitan_does(version: str) -> None:
    found = answers(version)
    wanted = {key: expected(one) for key, one in REGISTRY.items()}
    known = {key: one for key, one in found.items() if not key[1].endswith(LEFT_OUT)}
    assert set(known) == set(wanted)
    failed = {name: one["error"] for (_, name), one in known.items() if "error" in one}
    assert set(failed) <= UNASKED, failed
    asked = {key: one for key, one in known.items() if key[1] not in failed}
    assert asked == {key: wanted[key] for key in asked}
