"""Adapters and preference pairs, for everything that tunes models.

Options are held against the kept tables of each library's version (`option_tables.py`); the
libraries themselves read the same exports in `test_oracle_tuning`.
"""

import ast
import json
import re
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest
from support.cases import each

from frameworks.export.test_options_exist import flat, table
from planner.answers.exported import target_that_writes
from planner.base.errors import InputError
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from planner.plan import Plan
from planner.question.request import request_from
from planner.question.resolved import Resolved, resolve
from strict_yaml.reading import load as load_yaml

TUNERS = ("accelerate", "trl", "torchtune", "axolotl", "megatron-bridge")
JOBS: dict[str, dict[str, Any]] = {
    "lora": {"job": "lora", "lora_rank": 8, "lora_targets": "q,v", "lora_dropout": 0.05},
    "qlora": {"job": "qlora", "lora_targets": "all"},
    "dora": {"job": "dora", "lora_targets": "attention"},
    "sft": {"job": "sft"},
    "dpo": {"job": "dpo"},
    "dpo-lora": {"job": "dpo-lora"},
    "dpo-ahead": {"job": "lora", "reference": "precomputed"},
}
SHARDED = Plan(fsdp=8, sharding="zero3", micro_batch=2, recompute="full")
REPLICAS = Plan(dp=8, sharding="ddp", micro_batch=2)
STAGES = Plan(dp=2, tp=2, pp=2, sharding="zero1", micro_batch=2)
REFUSED = {
    ("accelerate", "dpo"), ("accelerate", "dpo-lora"), ("accelerate", "dpo-ahead"),
    ("torchtune", "dpo-ahead"), ("megatron-bridge", "qlora"), ("megatron-bridge", "dpo"),
    ("megatron-bridge", "dpo-lora"), ("megatron-bridge", "dpo-ahead"),
}  # fmt: skip
"""What a target cannot be told of these."""


@cache
def resolved(name: str, model: str = "llama3-8b", framework: str = "fsdp") -> Resolved:
    asked = {"model": model, "hardware": "dgx-h100-ndr", "chips": 8, "seq_len": 2048}
    return resolve(request_from({**asked, "framework": framework, **JOBS[name]}))


def exported(
    target: str, name: str, plan: Plan = SHARDED, version: str = "", **changes: Any
) -> Export:
    framework = TARGETS[target].framework
    plan = STAGES if framework == "megatron" else plan
    cost = resolved(name, framework=framework, **changes).cost
    return export_plan(cost, plan, TARGETS[target], version)


def texts(export: Export) -> dict[str, str]:
    return {file.name: file.text for file in export.files}


def said_by(target: str, export: Export) -> dict[str, Any]:
    """What the files say, by the names of the library."""
    files = texts(export)
    if target == "accelerate":
        own: dict[str, Any] = json.loads(files.get("adapter_config.json", "{}"))
        return own
    if target == "megatron-bridge":
        program = ast.parse(files["pretrain.py"])
        calls = [node for node in ast.walk(program) if isinstance(node, ast.Call)]
        peft = [one for one in calls if ast.unparse(one.func) in ("LoRA", "DoRA", "CanonicalLoRA")]
        return {k.arg or "": ast.literal_eval(k.value) for one in peft for k in one.keywords}
    main: dict[str, Any] = load_yaml(files[f"{target}.yaml"])
    return main


def options(target: str, export: Export) -> Iterator[str]:
    """The options of an export, named as the table of its target has them."""
    content = said_by(target, export)
    if target == "torchtune":
        yield from _of_recipe(export, content)
        return
    prefix = ""
    if target == "trl":
        prefix = "dpo." if "trl.scripts.dpo" in export.command else "sft."
        content |= {"model_name_or_path": "", "dataset_name": ""}
    free = ("bnb_config_kwargs",)  # which goes to another library as it is
    if not content:  # all weights are trained
        return
    for key, _ in flat({k: v for k, v in content.items() if k not in free}):
        yield prefix + key


def _of_recipe(export: Export, content: dict[str, Any]) -> Iterator[str]:
    [recipe] = [word for word in export.command.split() if word.endswith("_distributed")]
    for key, value in content.items():
        yield f"{recipe}.{key}"
        if isinstance(value, dict) and not str(value["_component_"]).startswith("torch.optim"):
            component = value["_component_"].split(".")[-1]
            for name in value:
                if name not in ("_component_", "data_files"):  # the latter of load_dataset
                    yield f"{component}.{name}"


@each(("target", "name"), [(target, name) for target in TUNERS for name in JOBS])
def test_each_job_is_written_or_refused_with_the_reason(target: str, name: str) -> None:
    if (target, name) in REFUSED:
        with pytest.raises(InputError):
            exported(target, name)
        return
    export = exported(target, name)
    assert export.unsupported == ()
    assert export.command
    assert target in export.framework_version.lower().replace("067f987", "megatron-bridge")
    if target != "megatron-bridge":
        assert {*options(target, export)} <= {*table("peft" if target == "accelerate" else target)}


@each("target", ["trl", "torchtune", "axolotl"])
def test_each_release_is_written_in_its_own_options(target: str) -> None:
    """The last two of each; a table holds what the classes or recipes of that release name."""
    newest, before = TARGETS[target].versions
    stated = set()
    for version, name in ((newest, target), (before, f"{target}-{before}")):
        for job in JOBS:
            if (target, job) in REFUSED:
                continue
            export = exported(target, job, version=version)
            assert {*options(target, export)} <= {*table(name)}
            assert export.version == version
            assert f" {version}" in export.framework_version
            assert export.framework_version in export.files[0].text
            stated.add(export.framework_version)
    assert len(stated) == 2


@each("target", TUNERS)
def test_weights_and_texts_are_named_by_variables(target: str) -> None:
    """No job that tunes starts from random weights, and each can be given texts."""
    for name in ("lora", "sft"):
        if (target, name) == ("megatron-bridge", "sft"):
            continue  # pre-training by another name, which a line of what is lossy says
        export = exported(target, name)
        assert "MODEL" in dict(export.environment)
        assert "MODEL" in dict(export.start.needs if export.start else ())
        assert export.start is not None
        assert export.start.results
        said = "".join(texts(export).values()) + export.start.command
        assert "MODEL" in said
        assert "DATA" in said
        assert "random weights" not in "".join(lost.reason for lost in export.lossy)


@each(("plan", "call"), [
    (SHARDED, "loaded()"),
    (Plan(fsdp=4, tp=2, sharding="zero3", micro_batch=2, sequence_parallel=False),
     "loaded(distributed_config=sizes)"),
    (Plan(fsdp=4, cp=2, sharding="zero3", micro_batch=2), "loaded()"),
])  # fmt: skip
def test_full_tuning_loads_and_saves_weights(plan: Plan, call: str) -> None:
    """Of whole models, of split ones and on parts of sequences; names are all defined."""
    export = exported("accelerate", "sft", plan)
    script = texts(export)["train.py"]
    program = ast.parse(script)
    calls = {ast.unparse(one) for one in ast.walk(program) if isinstance(one, ast.Call)}
    assert {call, "save(accelerator, model)", "sequences(VOCABULARY)"} <= calls
    assert "config.json" not in texts(export)
    constants = {one for one in re.findall(r"\b[A-Z][A-Z_]{3,}\b", _code_of(program))}
    stated = {ast.unparse(target) for one in program.body if isinstance(one, ast.Assign)
              for target in one.targets}  # fmt: skip
    assert constants <= stated


def _code_of(program: ast.Module) -> str:
    """The names that a program reads, without its texts."""
    found = (one for one in ast.walk(program) if isinstance(one, ast.Name))
    return " ".join(one.id for one in found)


@each("target", TUNERS)
def test_adapters_are_told_of_rank_dropout_and_matrices(target: str) -> None:
    said = said_by(target, exported(target, "lora"))
    words = {
        "accelerate": ("r", "lora_alpha", "lora_dropout", "target_modules"),
        "trl": ("lora_r", "lora_alpha", "lora_dropout", "lora_target_modules"),
        "axolotl": ("lora_r", "lora_alpha", "lora_dropout", "lora_target_modules"),
        "torchtune": ("lora_rank", "lora_alpha", "lora_dropout", "lora_attn_modules"),
        "megatron-bridge": ("dim", "alpha", "dropout", "target_modules"),
    }[target]
    own = said["model"] if target == "torchtune" else said
    matrices = ["linear_q", "linear_v"] if target == "megatron-bridge" else ["q_proj", "v_proj"]
    assert [own[word] for word in words] == [8, 16, 0.05, matrices]
    if target == "torchtune":
        assert own["apply_lora_to_mlp"] is False


@each(("target", "key", "value"), [
    ("accelerate", "use_dora", True), ("trl", "use_dora", True), ("axolotl", "peft_use_dora", True),
])  # fmt: skip
def test_magnitudes_are_told(target: str, key: str, value: object) -> None:
    assert said_by(target, exported(target, "dora"))[key] is value
    assert said_by("torchtune", exported("torchtune", "dora"))["model"]["use_dora"] is value
    assert "DoRA(" in texts(exported("megatron-bridge", "dora"))["pretrain.py"]


def test_frozen_weights_of_four_bits_are_quantized_twice() -> None:
    script = texts(exported("accelerate", "qlora"))["train.py"]
    assert "FROZEN_WEIGHTS = 'nf4'" in script
    trl = said_by("trl", exported("trl", "qlora"))
    assert trl["load_in_4bit"]
    assert trl["use_bnb_nested_quant"]
    axolotl = said_by("axolotl", exported("axolotl", "qlora"))
    assert axolotl["adapter"] == "qlora"
    assert axolotl["bnb_config_kwargs"]["bnb_4bit_use_double_quant"]
    assert axolotl["fsdp_config"]["cpu_ram_efficient_loading"] is False
    own = load_yaml(texts(exported("accelerate", "qlora"))["accelerate.yaml"])
    assert own["fsdp_config"]["fsdp_cpu_ram_efficient_loading"] is False
    assert said_by("torchtune", exported("torchtune", "qlora"))["model"]["quantize_base"]


@each("target", ["trl", "axolotl", "torchtune"])
def test_a_pair_is_two_sequences(target: str) -> None:
    rows = {"trl": "per_device_train_batch_size", "axolotl": "micro_batch_size",
            "torchtune": "batch_size"}[target]  # fmt: skip
    texts_of, pairs = (said_by(target, exported(target, name)) for name in ("lora", "dpo-lora"))
    assert (texts_of[rows], pairs[rows]) == (2, 1)
    steps = "gradient_accumulation_steps"
    assert texts_of[steps] == pairs[steps] == 2


def test_shards_and_replicas_are_told() -> None:
    sharded, whole = (said_by("axolotl", exported("axolotl", "lora", plan))
                      for plan in (SHARDED, REPLICAS))  # fmt: skip
    assert sharded["fsdp_config"]["activation_checkpointing"] is True
    assert sharded["dp_shard_size"] == 8
    assert "fsdp_config" not in whole
    assert whole["gradient_checkpointing"] is False
    with pytest.raises(InputError, match="shards state over all ranks"):
        exported("torchtune", "lora", REPLICAS)


@each(("target", "plan", "said"), [
    ("trl", Plan(fsdp=4, tp=2, sharding="zero3", micro_batch=2, sequence_parallel=False), "tp 2"),
    ("accelerate", Plan(fsdp=4, cp=2, sharding="zero3", micro_batch=2), "cp 2"),
])  # fmt: skip
def test_divided_layers_are_refused(target: str, plan: Plan, said: str) -> None:
    with pytest.raises(InputError, match=said):
        exported(target, "lora", plan)


def test_experts_have_no_adapters_of_their_own() -> None:
    plan = Plan(fsdp=8, sharding="zero3", micro_batch=2)
    with pytest.raises(InputError, match="lora-targets attention"):
        exported("trl", "qlora", plan, model="mixtral-8x7b")
    found = said_by("trl", exported("trl", "dora", plan, model="mixtral-8x7b"))
    assert found["lora_target_modules"] == ["q_proj", "k_proj", "v_proj", "o_proj"]


@each(("name", "framework", "target"), [
    ("lora", "fsdp", "accelerate"), ("dpo", "fsdp", "trl"), ("dpo-lora", "fsdp", "trl"),
    ("lora", "megatron", "megatron-bridge"), ("sft", "megatron", "megatron"),
])  # fmt: skip
def test_a_job_is_launched_by_what_runs_it(name: str, framework: str, target: str) -> None:
    one = resolved(name, framework=framework)
    assert [runner.name for runner in one.runners.targets] == [target]
    plan = STAGES if framework == "megatron" else SHARDED
    assert target_that_writes(one, plan) == target
