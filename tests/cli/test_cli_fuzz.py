"""Random damage to every kind of file: a clean answer or clear lines, never a traceback.

Exit codes: 0 (an answer), 2 (bad input), 3 (proved infeasible), 4 (the time limit of a job file).
With `--json` standard output holds one document or, on bad input, nothing.
"""

from copy import deepcopy
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.cases import each
from support.dumping import dumped

from cli.command import planner
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

JOB = {
    "model": "gpt3-125m", "hardware": "h100-sxm5-80", "chips": 8, "batch_tokens": 1048576,
    "seq_len": 2048, "precision": "bf16", "job": "lora", "lora_rank": 16,
    "framework": "megatron", "era": "megatron-core", "assumptions": "calibrated",
    "objective": "time", "front": ["time", "energy"], "axes": ["tp", "dp"],
    "fix": {"tp": [1, 2], "recompute": "none"}, "offload": False, "placement": "framework",
    "clocks": True, "max_memory": "80GB", "max_power": "1MW", "max_step_time": 100,
    "min_mfu": 0.01, "time_limit": 60, "train_tokens": "1e12", "price_per_chip_hour": 2,
    "carbon_intensity": 400,
    "electricity_price": 0.08,
}  # fmt: skip
PLAN = {
    "schema_version": 1,
    "job": {"model": "gpt3-125m", "hardware": "h100-sxm5-80", "batch_tokens": 1048576,
            "seq_len": 2048, "precision": "bf16", "job": "pretrain", "framework": "megatron",
            "era": "megatron-core", "assumptions": "calibrated"},
    "plan": {"mesh": {"dp": 2, "fsdp": 1, "tp": 2, "cp": 1, "ep": 1, "pp": 2}, "micro_batch": 4,
             "schedule": "1f1b", "interleave": 1, "sharding": "zero1", "sequence_parallel": True,
             "cp_mode": "ring", "recompute": "none", "offload": ["optimizer"],
             "placement": ["tp", "cp", "fsdp", "dp", "pp"], "split": "even", "clock": 0.9,
             "stages": [{"layers": 6, "recompute": "full"}, {"layers": 6, "clock": 0.8}]},
}  # fmt: skip
CHANGES = {
    "tp_overlap": 0.5, "cp_overlap": 0.7, "scale_up_efficiency": 0.8, "step_s": 0.001,
    "host_s_per_layer": 1.0e-5, "ring_hop_s": 1.0e-6, "tile_m": 128, "fused_attention": True,
    "jitter": 0.02, "moe_imbalance": 1.1, "bucket_bytes": 2.5e7,
}  # fmt: skip


def _example(package: str, name: str) -> Any:
    file = resources.files(package) / "data" / "examples" / name
    return load_yaml(file.read_text(encoding="utf-8"))


CLUSTER = _example("hardware_db", "my-cluster.yaml")
CHIP = CLUSTER["chip"]
MODEL = _example("models_db", "my-model.yaml")

SOLVE = ("--json",)
ON_EIGHT = ("--batch-tokens", "64Ki", "--chips", "8", "--axes", "tp,dp,pp", *SOLVE)
MACHINE = ("solve", "--model", "gpt3-125m", "--hardware")
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "job": (JOB, ("solve", "FILE", *SOLVE)),
    "plan": (PLAN, ("evaluate", "FILE", "--json")),
    "assumptions": (CHANGES, ("solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80",
                              "--assumptions", "FILE", *ON_EIGHT)),
    "cluster": (CLUSTER, (*MACHINE, "FILE", *ON_EIGHT)),
    "chip": (CHIP, (*MACHINE, "FILE", *ON_EIGHT)),
    "model": (MODEL, ("solve", "--hardware", "h100-sxm5-80", "--model", "FILE", *ON_EIGHT)),
}  # fmt: skip

ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.sampled_from([0, 1, 2, 3, 7, 8, 16, 64, -1, 10**6, 10**12, 10**30, -(10**30)]),
    st.sampled_from([0.0, 0.5, 1.5, -1.0, 1e-300, 1e300, float("nan"), float("inf")]),
    st.sampled_from([
        "", "~", "1e9", "nan", "8", "1.5", "²", "80GB", "1e300P", "x\0.yaml", "/", ".yaml", "bf16",
        "lora", "tp", "zero3", "full", "[bold]", "[/x]", "é\u202e", "a\nb", "a" * 300,
    ]),
    st.text(max_size=8),
    st.lists(st.sampled_from([0, 1, 2, "tp", None, 1.5]), max_size=3),
    st.dictionaries(st.sampled_from(["tp", "value", "x"]), st.integers(0, 3), max_size=2),
)  # fmt: skip


def places(data: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths of everything in a tree."""
    items: list[tuple[Any, Any]] = []
    if isinstance(data, dict):
        items = list(data.items())
    elif isinstance(data, list):
        items = list(enumerate(data))
    found = []
    for key, part in items:
        found += [(*path, key), *places(part, (*path, key))]
    return found


def damaged(draw: Any, content: Any) -> bytes:
    """The content after one to three changes of its tree."""
    tree = deepcopy(content)
    for _ in range(draw(st.integers(1, 3))):
        path = draw(st.sampled_from(places(tree) or [()]))
        if not path:
            break
        part = tree
        for key in path[:-1]:
            part = part[key]
        action = draw(st.sampled_from(["replace", "replace", "replace", "remove", "rename"]))
        if action == "replace":
            part[path[-1]] = draw(ODD)
        elif action == "remove":
            del part[path[-1]]
        elif isinstance(part, dict):
            part[draw(st.text(max_size=5) | st.integers(0, 3))] = part.pop(path[-1])
    return dumped(tree, unicode=True).encode("utf-8", "surrogatepass")


def clean(command: tuple[str, ...], path: Path, content: bytes) -> None:
    """The command answers or refuses the file, and says nothing else."""
    path.write_bytes(content)
    outcome = planner(*(str(path) if word == "FILE" else word for word in command))
    assert outcome.code in (0, 2, 3, 4), outcome
    if outcome.code == 2:
        assert outcome.out == ""
        assert 1 <= len(outcome.mistakes) < 200
        return
    assert outcome.err == ""
    document = outcome.document
    assert document["schema_version"] == (2 if command[0] == "solve" else 1)
    plan = document if command[0] == "evaluate" else document["best"]
    if plan is not None:
        assert plan["step_time_s"] > 0
        assert plan["energy_per_step_j"] > 0
        assert plan["memory_per_chip_bytes"] > 0
        assert 0 < plan["mfu"] < 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One folder for all files, so that hypothesis may share it."""
    return tmp_path_factory.mktemp("fuzz")


@each("kind", KINDS)
def test_the_undamaged_file_works(kind: str, folder: Path) -> None:
    content, command = KINDS[kind]
    path = folder / f"{kind}.yaml"
    path.write_text(dump_yaml(content), encoding="utf-8")
    outcome = planner(*(str(path) if word == "FILE" else word for word in command))
    assert (outcome.code, outcome.err) == (0, ""), outcome.err


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=60, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_changed_entries(kind: str, folder: Path, data: st.DataObject) -> None:
    content, command = KINDS[kind]
    clean(command, folder / f"{kind}.yaml", damaged(data.draw, content))


@pytest.mark.parametrize("kind", KINDS)
@settings(
    max_examples=40, deadline=None, derandomize=True, database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)  # fmt: skip
@given(data=st.data())
def test_changed_bytes(kind: str, folder: Path, data: st.DataObject) -> None:
    content, command = KINDS[kind]
    text = bytearray(dump_yaml(content).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.sampled_from([0, 1, 2, 10, 10_000])))
        text[start:end] = data.draw(
            st.binary(max_size=4)
            | st.sampled_from([b"[", b"{", b": ", b"\t", b"&a ", b"*a", b"? "])
        )
    clean(command, folder / f"{kind}.yaml", bytes(text))


NASTY = st.text(max_size=10) | st.sampled_from([
    "0", "-1", "1.5", "1e12", "1e300P", "nan", "inf", "", "²", "tp=8", "tp=²", "=", "tp=1,,2",
    "[bold]", "[/x]", "a,b", "time,energy", "80GB", "8", "0.5", "x.yaml", "/", "a\0b", "\ud800",
])  # fmt: skip
FLAGS = (
    "--model", "--hardware", "--chips", "--batch-tokens", "--seq-len", "--precision", "--job",
    "--lora-rank", "--framework", "--era", "--assumptions", "--objective", "--front", "--axes",
    "--fix", "--placement", "--max-memory", "--max-power", "--max-step-time", "--min-mfu",
    "--train-tokens", "--price-per-chip-hour", "--carbon-intensity", "--electricity-price",
)  # fmt: skip


@settings(max_examples=120, deadline=None, derandomize=True, database=None)
@given(flags=st.lists(st.tuples(st.sampled_from(FLAGS), NASTY), min_size=1, max_size=3))
def test_any_value_of_any_flag(flags: list[tuple[str, str]]) -> None:
    given_flags = [word for flag in flags for word in flag]
    outcome = planner(
        "solve", "--model", "gpt3-125m", "--hardware", "h100-sxm5-80", "--chips", "8",
        "--batch-tokens", "512Ki", *given_flags, "--json",
    )  # fmt: skip
    assert outcome.code in (0, 2, 3)
    assert "Traceback" not in outcome.err
    if outcome.code == 2:
        assert outcome.out == ""
        assert outcome.err
    else:
        assert outcome.document["schema_version"] == 2
