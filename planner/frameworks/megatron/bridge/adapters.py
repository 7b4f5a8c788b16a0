"""Adapters in the words of Megatron-Bridge.

Source: Megatron-Bridge 067f987 (2026-08-22), src/megatron/bridge/peft/ (lora.py, dora.py,
canonical_lora.py) and training/finetune.py.
"""

from __future__ import annotations

from planner.base.vocabulary import ATTENTION_MATRICES
from planner.cost.context import CostModel
from planner.frameworks.hugging_face.adapters import alpha_of
from planner.frameworks.writing.export import Lost
from planner.frameworks.writing.launch import Launch

_FUSED = {"linear_qkv": ("q", "k", "v"), "linear_fc1": ("gate", "up")}
_ALONE = {"o": "linear_proj", "down": "linear_fc2"}
_APART = {
    "q": "linear_q", "k": "linear_k", "v": "linear_v", "o": "linear_proj",
    "gate": "linear_fc1_gate", "up": "linear_fc1_up", "down": "linear_fc2",
}  # fmt: skip
_LATENT = (
    "linear_q_proj", "linear_q_down_proj", "linear_q_up_proj", "linear_kv_down_proj",
    "linear_kv_up_proj", "linear_proj",
)  # fmt: skip


def fuses(model: CostModel) -> bool:
    """Whether each joint matrix has adapters beside all of its parts, or beside none."""
    targets, gated = {*model.job.adapted}, model.shapes.gated
    joint = [{*parts} - (set() if gated else {"gate"}) for parts in _FUSED.values()]
    return all(parts <= targets or not parts & targets for parts in joint)


def module_names(model: CostModel) -> list[str]:
    """`target_modules`, of joint matrices where each has adapters as a whole."""
    targets = model.job.adapted
    if not fuses(model):
        return [_APART[name] for name in targets]
    found: list[str] = []
    if model.shapes.latent:
        found += _LATENT if "q" in targets else ()
        targets = tuple(name for name in targets if name not in ATTENTION_MATRICES)
    whole = {part: name for name, parts in _FUSED.items() for part in parts}
    found += [whole.get(name) or _ALONE[name] for name in targets]
    return list(dict.fromkeys(found))


def class_of(model: CostModel) -> tuple[str, str]:
    """The module and the class of the adapters."""
    if model.job.adapter == "dora":
        return "dora", "DoRA"
    return ("lora", "LoRA") if fuses(model) else ("canonical_lora", "CanonicalLoRA")


def imported(model: CostModel) -> tuple[str, ...]:
    """Lines that the program needs for its adapters."""
    module, name = class_of(model)
    return (
        f"from megatron.bridge.peft.{module} import {name}",
        "from megatron.bridge.training.finetune import finetune",
    )


def assigned(model: CostModel) -> str:
    """The adapters, and the weights beside which they stand."""
    job = model.job
    named: dict[str, object] = {
        "target_modules": module_names(model),
        "dim": job.lora_rank,
        "alpha": alpha_of(job),
        "dropout": job.lora_dropout,
    }
    if model.shapes.experts and job.adapter != "dora":
        named["share_expert_adapters"] = False  # the plan counts those of every expert
    lines = "".join(f"    {name}={value!r},\n" for name, value in named.items())
    return (
        f"cfg.peft = {class_of(model)[1]}(\n{lines})\n"
        'cfg.checkpoint.pretrained_checkpoint = os.environ["MODEL"]'
    )


def adapters_lost(launch: Launch) -> list[Lost]:
    """What a launch with adapters leaves open."""
    if launch.cost.job.trains_all:
        return []
    found = [
        Lost("model", "pretrain.py reads the weights that the environment variable MODEL names, a "
             "checkpoint of Megatron-Bridge"),
        Lost("lengths", "pretrain.py reads tokens of the files that the environment variable DATA "
             "names, which Megatron-LM's tools/preprocess_data.py makes, random ones without it"),
    ]  # fmt: skip
    if fuses(launch.cost) and {"q", "gate"} & {*launch.cost.job.adapted}:
        reason = "joint matrices (linear_qkv, linear_fc1) have one A each, fewer than the plan has"
        found.append(Lost("lora_targets", reason))
    return found
