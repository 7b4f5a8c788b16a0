"""Every option that is written is one of the version that the export states.

The tables in `options` are made of the frameworks by `option_tables.py`.
"""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.cases import each

from frameworks.export.cases import CASES, Case
from planner.base.errors import InputError
from planner.evidence.calibration.launches.measured import READERS
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, Profiled, export_plan
from strict_yaml.reading import load as load_yaml

TABLES = Path(__file__).parent / "options"
VERSIONS = {
    "megatron": ("0.16", "core 0.16.1, 55ac708251 (2026-03-16)"),
    "megatron-0.18": ("0.18", "core 0.18.2, 571370c829 (2026-07-20)"),
    "megatron-0.19": ("0.19", "core 0.19.0, 5be9626709 (2026-08-19)"),
    "megatron-bridge": ("main", "067f987 (2026-08-22)"),
    "megatron-bridge-0.5": ("0.5", "v0.5.1, 5cb3444c43 (2026-07-20)"),
    "megatron-bridge-0.6": ("0.6", "v0.6.0, 51885cf132 (2026-08-19)"),
    "torchtitan-0.2": ("0.2", "v0.2.2 73a0e69 (2026-02-20)"),
    "torchtitan-0.3": ("0.3", "0.3.0 (PyPI)"),
    "torchtitan-main": ("main", "main b5bcd76 (2026-08-21)"),
    "deepspeed": ("0.19", "0.19.8 and edaa722 (2026-08-22)"),
    "deepspeed-0.18": ("0.18", "v0.18.9, 8c93851eca (2026-03-30)"),
    "accelerate": ("1.15", "Accelerate 1.15.0, 16cb6eb (2026-07-24)"),
    "accelerate-1.14": ("1.14", "Accelerate 1.14.0, beb0672aa8 (2026-06-11)"),
    "maxtext": ("main", "e591f30 (2026-08-22)"),
    "maxtext-0.2.3": ("0.2.3", "maxtext-v0.2.3, 3f36aef234 (2026-06-12)"),
    "maxtext-0.2.4": ("0.2.4", "maxtext-v0.2.4, 538fe7a3f3 (2026-08-21)"),
    "nanotron": ("main", "2411b02 (2026-04-07)"),
    "nanotron-0.5": ("0.5", "v0.5, 4799d24702 (2024-04-19)"),
}
"""Name of a table to the version of the target and what of the framework the table was made of."""
FREE = "optimizer."
"""Section of DeepSpeed that it hands to the optimizer as it is."""
CHANGES: tuple[dict[str, object], ...] = (
    {},
    *({"precision": name} for name in ("fp32", "fp16", "bf16", "fp8", "mxfp8", "fp4", "int8")),
    *({"recompute": name} for name in ("none", "selective", "full")),
    *({"sharding": name} for name in ("ddp", "zero1", "zero2", "zero3")),
    *({"offload": names} for names in (("optimizer",), ("activations",), ("optimizer", "weights"))),
    *({"cp": 2, "cp_mode": name} for name in ("ring", "all-to-all")),
    *({"optimizer": name} for name in ("adam-bf16", "muon", "lion")),
    {"sequence_parallel": False},
    {"tp": 2, "order": ("tp", "cp", "pp", "fsdp", "dp")},
    {"pp": 2, "interleave": 2, "schedule": "interleaved", "stages": None},
    {"pp": 2, "split": "even-counted", "stages": None},
    *({"framework": name} for name in ("megatron", "torchtitan", "jax", "nanotron", "deepspeed")),
)
"""Changes of a case or of its plan, one at a time: all branches of an exporter are written."""
FEW = CHANGES[::4]
"""Those that are tried for versions beside the default, whose options hardly differ from it."""


def table(name: str) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Option to how many values it takes, and the values that it allows."""
    found = {}
    for line in (TABLES / f"{name}.txt").read_text(encoding="utf-8").splitlines():
        option, *rest = line.split(" ", 2)
        taken = rest.pop(0) if rest and rest[0] in {"0", "1", "+", "3"} else ""
        found[option] = (taken, tuple(rest[0].split("|")) if rest else ())
    return found


def flat(value: object, prefix: str = "") -> Iterator[tuple[str, list[object]]]:
    """Dotted keys of a mapping with their values; lists of mappings are those mappings."""
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from flat(inner, f"{prefix}.{key}" if prefix else str(key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for inner in value:
            yield from flat(inner, prefix)
    else:
        yield prefix, value if isinstance(value, list) else [value]


def assigned(program: str, name: str) -> Iterator[tuple[str, list[object]]]:
    """Fields of a variable that a program sets."""
    for key, text in re.findall(rf"^\s*{name}\.([a-z0-9_.]+) = (.*)$", program, flags=re.M):
        yield key, [text.strip('"')] if text.startswith('"') else []


def flags(words: list[str]) -> Iterator[tuple[str, list[object]]]:
    """Flags with the words that follow."""
    starts = [at for at, word in enumerate(words) if word.startswith("--")]
    for start, end in zip(starts, [*starts[1:], len(words)], strict=True):
        yield words[start], list(words[start + 1 : end])


def target_of(name: str) -> str:
    """The target of a table."""
    return name.removesuffix(f"-{VERSIONS[name][0]}")


def written(name: str, export: Export) -> Iterator[tuple[str, list[object]]]:
    """The options of an export with their values."""
    texts = {file.name: file.text for file in export.files}
    target = target_of(name)
    if target == "megatron":
        yield from flags(shlex.split(texts["args.txt"]))
    elif target == "megatron-bridge":
        yield from assigned(texts["pretrain.py"], "cfg")
        for word in shlex.split(texts["overrides.txt"]):
            yield word.partition("=")[0], []
    elif name == "torchtitan-0.2":
        yield from flat(tomllib.loads(texts["torchtitan.toml"]))
    elif name == "torchtitan-0.3":
        script = texts["torchtitan.sh"].replace("\\\n", "")
        for option, values in flags(shlex.split(script, comments=True)):
            if "." in option:  # a switch that is turned off has a prefix
                yield option.removeprefix("--").replace(".no_", "."), values
    elif name == "torchtitan-main":
        yield from assigned(texts["planned_config.py"], "config")
    elif target == "deepspeed":
        yield from flat(json.loads(texts["ds_config.json"]))
    else:
        [file] = [one for one in texts if one.endswith((".yaml", ".yml"))]
        yield from flat(load_yaml(texts[file]))


def changed(case: Case, change: dict[str, object]) -> Case:
    """A case with a change; data ranks hold shards of the weights, or replicas, as it wants."""
    of_job = {name: value for name, value in change.items() if hasattr(case, name)}
    of_plan = {name: value for name, value in change.items() if name not in of_job}
    plan = replace(case.plan, **of_plan)
    ranks = plan.dp * plan.fsdp
    if "sharding" in change:
        whole = plan.sharding != "zero3"
        plan = replace(plan, dp=ranks if whole else 1, fsdp=1 if whole else ranks)
    if plan.offload:
        plan = replace(plan, recompute="none")
    return replace(case, **of_job, plan=plan)


def exports(target: str, case: Case) -> Iterator[Export]:
    """Exports of a case and of all changes of it that are plans."""
    version, framework_version = VERSIONS[target]
    name = target_of(target)
    recorded = (Profiled(steps=20, recorded=2),) if name in READERS else ()
    own = CHANGES if name == target or name == "torchtitan" else FEW
    for profiled in (None, *recorded):
        for change in own if profiled is None else CHANGES[:1]:
            one = changed(case, change)
            try:
                found = export_plan(
                    one.cost(),
                    one.plan,
                    TARGETS[name],
                    version,
                    allow_lossy=True,
                    profiled=profiled,
                )
            except InputError:
                continue
            assert framework_version in found.framework_version
            yield found


def wrong(target: str, export: Export) -> set[str]:
    """Options that the table lacks, or that take other values than those written."""
    known, found = table(target), set()
    for option, values in written(target, export):
        if target_of(target) == "deepspeed" and option.startswith(FREE):
            continue
        if option not in known:
            found.add(option)
            continue
        taken, allowed = known[option]
        if taken and {"0": 0, "1": 1, "+": max(1, len(values))}[taken] != len(values):
            found.add(f"{option} takes {taken}, not {values}")
        if allowed and not {str(value) for value in values} <= set(allowed):
            found.add(f"{option} is one of {allowed}, not {values}")
    return found


@each("name", CASES)
@pytest.mark.parametrize("target", VERSIONS)
def test_every_option_is_one_of_the_version_that_is_stated(target: str, name: str) -> None:
    found = [wrong(target, one) for one in exports(target, CASES[name])]
    assert set().union(*found) == set()
    assert len(found) >= 5
