"""Megatron-Bridge: a program that fills a recipe in and trains, a script, and overrides.

The recipe is `vanilla_gpt_pretrain_config`, which has the defaults of Megatron-LM. The overrides
are for scripts/training/run_recipe.py; they leave out what is an object, and models with latent
attention need a recipe of such a model. Source: Megatron-Bridge 067f987 (2026-08-22),
src/megatron/bridge/recipes/gpt/h100/vanilla_gpt.py, models/mla_provider.py and training/.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence

from planner.frameworks.megatron.bridge.adapters import adapters_lost, assigned, imported
from planner.frameworks.megatron.bridge.derived import defaults, implied
from planner.frameworks.megatron.bridge.keys import Setting, Value, settings_of
from planner.frameworks.megatron.write import all_groups, steps
from planner.frameworks.megatron.writing.environment import environment
from planner.frameworks.megatron.writing.flags import flag
from planner.frameworks.megatron.writing.lost import lost_of
from planner.frameworks.megatron.writing.model import flags_of_weights, model_lost
from planner.frameworks.megatron.writing.parallel import gathers_in_8_bits
from planner.frameworks.megatron.writing.script import (
    host_start,
    launch_command,
    script_text,
    title,
)
from planner.frameworks.writing.export import Export, Lost, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import left_to_weights

SOURCES = {
    "main": "067f987 (2026-08-22)",
    "0.6": "v0.6.0, 51885cf132 (2026-08-19)",
    "0.5": "v0.5.1, 5cb3444c43 (2026-07-20)",
}
"""Version to what its fields were read from."""
RECIPE = "vanilla_gpt_pretrain_config"
PROGRAM = "pretrain.py"
RESULTS = "nemo_experiments"
"""The folder of the recipe, beside the program, that checkpoints are saved below."""
_WEIGHTS = (
    "a checkpoint of Megatron-Bridge, which AutoBridge.import_ckpt makes of published weights"
)
_PREFIX = "a prefix of .bin and .idx; random tokens without it"
_RECIPES = {
    "delayed": "bf16_with_fp8_delayed_scaling_mixed",
    "current": "bf16_with_fp8_current_scaling_mixed",
    "blockwise": "bf16_with_fp8_subchannel_scaling_mixed",
}
_PRECISIONS = {
    "bf16": "bf16_mixed",
    "fp16": "fp16_mixed",
    "mxfp8": "bf16_with_mxfp8_mixed",
    "fp4": "bf16_with_nvfp4_mixed",
}


def export(launch: Launch) -> Export:
    """The plan as `pretrain.py`, `run.sh` and `overrides.txt`; see `planner.frameworks.writing`."""
    settings, variables = all_settings(launch), environment(launch)
    source, weights = launch.read_from(SOURCES), _weights(launch)
    script = script_text(
        launch,
        framework=f"Megatron-Bridge, {source}",
        home="PLAN_HOME",
        program=PROGRAM,
        groups=(),
        variables=variables,
    )
    return Export(
        target="megatron-bridge",
        version=launch.version,
        framework_version=source,
        files=(
            TextFile(name=PROGRAM, text=program_text(launch, settings)),
            TextFile(name="run.sh", text=script),
            *_overrides(launch, settings),
        ),
        command=launch_command(launch),
        environment=(*([(weights[0], "WEIGHTS")] if weights[0] else []), *variables),
        lossy=(
            *lost_of(launch),
            *model_lost(launch),
            *_table(launch),
            *adapters_lost(launch),
            left_to_weights("Megatron-Bridge", _keys_of_weights(launch)),
        ),
        start=host_start(
            *weights,
            results=RESULTS if weights[0] else "",
            wants=(("DATA", _PREFIX),) if weights[0] else (),
            ends=f"{steps(launch)} steps: cfg.train.train_iters in {PROGRAM}",
            restarts=f"its recipe saves a checkpoint in {RESULTS} every 500 steps; a lower "
            "cfg.checkpoint.save_interval goes on from the last",
        ),
    )


def _overrides(launch: Launch, settings: Sequence[Setting]) -> tuple[TextFile, ...]:
    """Overrides of the recipe, which has no adapters: these are an object."""
    if not launch.cost.job.trains_all:
        return ()
    return (TextFile(name="overrides.txt", text=overrides_text(launch, settings)),)


def _weights(launch: Launch) -> tuple[str, str]:
    """The variable that names the weights beside which adapters stand, and what it is."""
    return ("", "") if launch.cost.job.trains_all else ("MODEL", _WEIGHTS)


def all_settings(launch: Launch) -> list[Setting]:
    """Every field that differs from the recipe, or that the prediction depends on."""
    flags = [one for group in all_groups(launch) for one in group.flags]
    found = {
        setting.key: setting
        for setting in (
            *defaults(launch),
            *(setting for one in flags for setting in settings_of(one)),
            *implied(launch, {one.name for one in flags}),
        )
    }
    return list(found.values())


def _table(launch: Launch) -> list[Lost]:
    """Learned positions have as many rows as a sequence has tokens."""
    rows = launch.model.positions.max_positions
    if rows is None or rows == launch.seq_len:
        return []
    reason = f"the table of positions has {launch.seq_len} rows here, {rows} in the model"
    return [Lost("model", reason)]


def _keys_of_weights(launch: Launch) -> list[str]:
    """Fields of the model that a record does not hold."""
    return [one.key for name in flags_of_weights(launch) for one in settings_of(flag(name))]


def overrides_text(launch: Launch, settings: Sequence[Setting]) -> str:
    """`key=value`, one on a line, as a shell takes it."""
    named = _named(launch) or "null"
    lines = [f"mixed_precision={named}"]
    lines += [f"{one.key}={_hydra(one)}" for one in settings if not one.code.startswith("torch.")]
    return "".join(f"{_quoted(line)}\n" for line in lines)


def _quoted(line: str) -> str:
    """A word of a shell; Hydra's own quotes stay readable."""
    plain = "'" in line and not set(line) & set('"$`\\\n!')
    return f'"{line}"' if plain else shlex.quote(line)


def _hydra(one: Setting) -> str:
    """A value in the grammar of Hydra's overrides."""
    if one.value is None:
        return "null"
    if isinstance(one.value, bool):
        return str(one.value).lower()
    if isinstance(one.value, list):
        return f"[{','.join(map(str, one.value))}]"
    plain = not isinstance(one.value, str) or one.value.replace("_", "").isalnum()
    return str(one.value) if plain else f"'{one.value}'"


def program_text(launch: Launch, settings: Sequence[Setting]) -> str:
    """The Python program: the recipe, its fields, the training loop."""
    latent = launch.model.attention.kind == "mla"
    model = ["cfg.model = MLAModelProvider()"] if latent else []
    source = f"For Megatron-Bridge, {launch.read_from(SOURCES)}."
    head = "\n".join(f"# {line}" for line in (*title(launch), source))
    body = [f"cfg = {RECIPE}()", *model, *_precision(launch), _data(launch)]
    fields = [
        f"cfg.{one.key} = {one.code or _python(one.value)}"
        for one in settings
        if not one.key.startswith("dataset.")
    ]
    parts = [head, "\n".join(_imports(launch, settings)), "\n".join(body), "\n".join(fields)]
    if launch.cost.job.trains_all:
        parts.append("pretrain(config=cfg, forward_step_func=forward_step)")
    else:
        parts += [assigned(launch.cost), "finetune(config=cfg, forward_step_func=forward_step)"]
    return "\n\n".join(parts) + "\n"


def _python(value: Value) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)


_DATA = """cfg.dataset = {}(
    seq_length={},
    random_seed=1234,
    split="9999,8,2",
    reset_position_ids=False,
    reset_attention_mask=False,
    eod_mask_loss=False,
{})"""
_OWN_DATA = """\
    data_path=os.environ.get("DATA"),  # a prefix of .bin and .idx; without it random tokens
"""


def _data(launch: Launch) -> str:
    """Random tokens, or where weights are tuned the tokens that the variable DATA names."""
    own = "" if launch.cost.job.trains_all else _OWN_DATA
    return _DATA.format(_data_class(launch), launch.seq_len, own)


def _data_class(launch: Launch) -> str:
    """The class of the data; that of own data makes random tokens where it has no path."""
    return "MockGPTDatasetConfig" if launch.cost.job.trains_all else "GPTDatasetConfig"


def _imports(launch: Launch, settings: Sequence[Setting]) -> list[str]:
    """What the program names, and no more."""
    code = {one.code for one in settings}
    named, adapts = _named(launch), not launch.cost.job.trains_all
    wanted = {
        "import os": adapts,
        **dict.fromkeys(imported(launch.cost) if adapts else (), True),
        "import torch": any(text.startswith("torch.") for text in code),
        "from megatron.bridge.models.mla_provider import MLAModelProvider": (
            launch.model.attention.kind == "mla"
        ),
        "from megatron.core.fusions.fused_bias_geglu import quick_gelu": "quick_gelu" in code,
        f"from megatron.bridge.recipes.gpt.vanilla_gpt import {RECIPE}": True,
        f"from megatron.bridge.training.config import {_data_class(launch)}": True,
        "from megatron.bridge.training.gpt_step import forward_step": True,
        f"from megatron.bridge.training.mixed_precision import {named}": named is not None,
        "from megatron.bridge.training.pretrain import pretrain": not adapts,
        "from megatron.core.transformer.enums import AttnBackend": any(
            text.startswith("AttnBackend.") for text in code
        ),
        "from torch.nn.functional import silu": "silu" in code,
    }
    return [line for line, needed in wanted.items() if needed]


def _named(launch: Launch) -> str | None:
    """The function of training/mixed_precision.py that sets the formats."""
    job = launch.cost.job
    return _RECIPES[job.recipe] if job.precision == "fp8" else _PRECISIONS.get(job.precision)


def _precision(launch: Launch) -> list[str]:
    """Number formats of products, of kept weights, and of gradients as predicted."""
    named = _named(launch)
    if named is None:
        return ["cfg.mixed_precision = None"]
    long = launch.cost.assumptions.gradient_wire_bytes > 2.0
    lines = [
        f"cfg.mixed_precision = {named}()",
        f"cfg.mixed_precision.grad_reduce_in_fp32 = {long}",
    ]
    if launch.cost.job.precision in {"fp8", "mxfp8"}:
        lines.append(f"cfg.mixed_precision.fp8_param_gather = {gathers_in_8_bits(launch)}")
        lines.append("cfg.mixed_precision.reuse_grad_buf_for_mxfp8_param_ag = False")
    if named == _RECIPES["current"]:  # else the first and the last layer keep 16 bits
        lines.append("cfg.mixed_precision.first_last_layers_bf16 = False")
    if launch.cost.job.precision == "fp4":
        lines.append("cfg.mixed_precision.fp4_param_gather = False")
    return lines
