"""Plans for DeepSpeed: its JSON configuration, a training script and the command.

Keys: DeepSpeed edaa722 (2026-08-22) and 0.19.8, runtime/constants.py, runtime/config.py,
runtime/zero/config.py, runtime/tensor_parallel/config.py, module_inject/auto_ep_config.py.
DeepSpeed takes a top-level key that it does not know without a word.
"""

from __future__ import annotations

import json
from itertools import accumulate
from typing import Any

from planner.frameworks.deepspeed.models import PRESETS, deepspeed_kernel
from planner.frameworks.deepspeed.script import script
from planner.frameworks.hugging_face import config as hf_model
from planner.frameworks.hugging_face.types import transformers_type
from planner.frameworks.writing.chosen import common_recompute, common_sharding, recompute_layers
from planner.frameworks.writing.clocks import lost_clock
from planner.frameworks.writing.export import Export, HostStart, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import kept_scores, left_to_weights, made_by, needed_package
from planner.frameworks.writing.torchrun import torchrun
from planner.plan import SHARDINGS

SCRIPT = "train.py"
SOURCES = {
    "0.19": "0.19.8 and edaa722 (2026-08-22)",
    "0.18": "v0.18.9, 8c93851eca (2026-03-30)",
}
"""Version to what its keys were read from."""
_DTYPES = {"bf16": "bfloat16", "fp16": "float16"}
_STEPS = 30


def export(launch: Launch) -> Export:
    """The plan as ds_config.json, train.py and the command that starts it."""
    config = settings(launch)
    return Export(
        target="deepspeed",
        version=launch.version,
        framework_version=launch.read_from(SOURCES),
        files=(
            TextFile(name="ds_config.json", text=json.dumps(config, indent=2) + "\n"),
            TextFile(name=SCRIPT, text=_script(launch)),
        ),
        command=_command(launch),
        lossy=tuple(_lossy(launch)),
        start=HostStart(
            command=" ".join((*torchrun(launch), SCRIPT)),
            ends=f"{_STEPS} steps: STEPS in {SCRIPT}",
            restarts=f"{SCRIPT} saves no checkpoint; engine.save_checkpoint and load_checkpoint do",
        ),
    )


def settings(launch: Launch) -> dict[str, Any]:
    """The configuration."""
    plan, precision = launch.plan, launch.cost.job.precision
    values: dict[str, Any] = {
        "train_batch_size": launch.global_batch,
        "train_micro_batch_size_per_gpu": plan.micro_batch,
        **_accumulation(launch),
        "gradient_clipping": 1.0,
        "steps_per_print": 1,
        "optimizer": _optimizer(launch),
        "bf16": {"enabled": precision not in ("fp16", "fp32")},
        "fp16": {"enabled": precision == "fp16"},
        "zero_optimization": _zero(launch),
    }
    if plan.tp > 1 and plan.pp == 1:
        values["tensor_parallel"] = {"autotp_size": plan.tp}
    if plan.cp > 1 and plan.tp == plan.pp == 1:
        values["sequence_parallel_size"] = plan.cp
    if plan.ep > 1 and plan.pp == 1:
        kind = transformers_type(launch.model)
        preset = {"preset_model": kind} if kind in PRESETS else {}
        values["expert_parallel"] = {"enabled": True, "autoep_size": plan.ep} | preset
    return values


def _optimizer(launch: Launch) -> dict[str, Any]:
    """The optimizer that the job names; Adam in the place of one that DeepSpeed is not told of.

    Source: runtime/engine.py, `_configure_basic_optimizer`; ops/lion/fused_lion.py.
    """
    if launch.cost.job.optimizer == "lion":
        return {"type": "Lion", "params": {"lr": 1e-4, "betas": [0.9, 0.99], "weight_decay": 1.0}}
    adam = {"lr": 3e-4, "betas": [0.9, 0.95], "eps": 1e-8, "weight_decay": 0.1}
    return {"type": "AdamW", "params": adam}


def _accumulation(launch: Launch) -> dict[str, int]:
    """Micro-batches; left to DeepSpeed where it has other data ranks than the plan."""
    plan = launch.plan
    beside = sum(size > 1 for size in (plan.tp, plan.cp, plan.pp))
    return {"gradient_accumulation_steps": launch.micro_batches} if beside <= 1 else {}


def zero_stage(launch: Launch) -> int:
    """The stage of ZeRO, 0 to 3; in a pipeline at most 1."""
    stage = SHARDINGS.index(common_sharding(launch))
    return min(stage, 1) if launch.plan.pp > 1 else stage


def _zero(launch: Launch) -> dict[str, Any]:
    plan, stage = launch.plan, zero_stage(launch)
    values: dict[str, Any] = {"stage": stage}
    if stage:
        values["overlap_comm"] = True
    host = {"device": "cpu", "pin_memory": True}
    if "optimizer" in plan.offload and stage:
        values["offload_optimizer"] = host
    if "weights" in plan.offload and stage == 3:
        values["offload_param"] = host
    return values


def _borders(launch: Launch) -> list[int]:
    """First layer of each stage and the end, the embedding and the head counted as layers."""
    chunks, each = launch.chunk_layers, launch.plan.interleave
    layers = [sum(chunks[at : at + each]) for at in range(0, len(chunks), each)]
    layers[0] += 1
    layers[-1] += 1
    return [0, *accumulate(layers)]


def _script(launch: Launch) -> str:
    plan, stage = launch.plan, zero_stage(launch)
    pipeline = plan.pp > 1
    constants: dict[str, Any] = {
        "MODEL_TYPE": transformers_type(launch.model) or "llama",
        "DIMENSIONS": hf_model.dimensions(launch.model, launch.seq_len),
        "DTYPE": _DTYPES.get(launch.cost.job.precision, "float32"),
        "ATTENTION": deepspeed_kernel(launch.cost),
        "SEQ_LEN": launch.seq_len,
        "SEQUENCES": launch.global_batch,
        "STEPS": _STEPS,
        "RECOMPUTE": common_recompute(launch) == "full",
    }
    if pipeline:
        constants["BORDERS"] = _borders(launch)
    else:
        constants |= {"MICRO_BATCH": plan.micro_batch, "STAGE": stage}
        constants |= {"TENSOR_RANKS": plan.tp, "SEQUENCE_RANKS": plan.cp if plan.tp == 1 else 1}
        constants["EXPERT_RANKS"] = plan.ep
    return script(made_by(launch), constants, pipeline=pipeline)


def _command(launch: Launch) -> str:
    """The launcher reaches other nodes by a file with a line `host slots=N` for each."""
    hosts = "--hostfile=YOUR_HOSTFILE " if launch.nodes > 1 else ""
    return f"deepspeed {hosts}--num_nodes={launch.nodes} --num_gpus={launch.node_chips} {SCRIPT}"


def _lossy(launch: Launch) -> list[Lost]:
    plan, lost = launch.plan, list(lost_clock(launch))
    keys = hf_model.keys_of_weights(launch.model)
    lost.append(left_to_weights("the model type", keys))
    lost += kept_scores(deepspeed_kernel(launch.cost))
    lost += needed_package("train.py", deepspeed_kernel(launch.cost))
    reason = "sequences are as long as SEQ_LEN of train.py says; ds_config.json does not say it"
    lost.append(Lost("seq_len", reason))
    kept = recompute_layers(launch)
    if plan.recompute != "none":
        reason = "what is computed again is in train.py, not in ds_config.json"
        lost.append(Lost("recompute", reason))
    if kept["selective"]:
        fused = deepspeed_kernel(launch.cost) != "eager"
        reason = "the scores are what fused attention computes again; nothing else is"
        lost.append(Lost("recompute", reason if fused else "nothing is computed again"))
    if plan.pp > 1:
        for name in ("micro-batches", "stages"):
            reason = f"the {name} are those of PipelineModule in train.py, not of ds_config.json"
            lost.append(Lost("pp", reason))
    if plan.pp > 1 and launch.model.tied_embeddings:
        lost.append(Lost("pp", "the head in train.py has weights of its own, not the embedding's"))
    if launch.cost.job.kind == "finetune":
        lost.append(Lost("job", "train.py starts from random weights: load your checkpoint"))
    return lost
