"""The settings that an installed DeepSpeed has, as it lists or looks them up itself."""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any, ClassVar

SECTIONS = {"zero_optimization": {"stage": 3}, "torch_autocast": {}, "data_types": {},
            "pipeline": {}, "expert_parallel": {}, "activation_checkpointing": {},
            "optimizer": {"type": "AdamW", "params": {}}}  # fmt: skip


class _Recording(dict[str, Any]):
    """A dict that notes which keys are asked for."""

    asked: ClassVar[set[str]] = set()

    def __contains__(self, key: object) -> bool:
        self.asked.add(str(key))
        return super().__contains__(key)

    def __getitem__(self, key: str) -> Any:
        self.asked.add(key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        self.asked.add(key)
        return super().get(key, default)

    def keys(self) -> Any:
        return self


def own_settings() -> set[str]:
    """Every setting of the installed DeepSpeed by its dotted name."""
    config, constants, zero, offload, precision = map(
        _module,
        ("runtime.config", "runtime.constants", "runtime.zero.config",
         "runtime.zero.offload_config", "runtime.precision_config"),
    )  # fmt: skip
    settings = _Recording(train_batch_size=1, train_micro_batch_size_per_gpu=1, **SECTIONS)
    config.DeepSpeedConfig(settings)
    found = {*settings.asked, *config._REMOVED_TOP_LEVEL_CONFIG_KEYS}
    models = {
        "zero_optimization": zero.DeepSpeedZeroConfig,
        "zero_optimization.offload_param": offload.DeepSpeedZeroOffloadParamConfig,
        "zero_optimization.offload_optimizer": offload.DeepSpeedZeroOffloadOptimizerConfig,
        "bf16": precision.DeepSpeedBF16Config,
        "fp16": precision.DeepSpeedFP16Config,
        "tensor_parallel": _module("runtime.tensor_parallel.config").TPTrainingConfig,
        "compile": _module("compile.config").CompileConfig,
    }
    for section, model in models.items():
        for name, field in model.model_fields.items():
            found |= {f"{section}.{one}" for one in (name, field.alias) if one}
    checkpointing = _module("runtime.activation_checkpointing.config")
    experts = _module("module_inject.auto_ep_config").AutoEPConfig
    fields = (field.name for field in dataclasses.fields(experts))
    words = {
        "expert_parallel": [name for name in fields if not name.startswith("_")],
        "pipeline": config.get_pipeline_config({}),
        "activation_checkpointing": checkpointing.ACT_CHKPT_DEFAULT,
        "zero_optimization": config._REMOVED_ZERO_CONFIG_KEYS,
        "torch_autocast": _constants(constants, "TORCH_AUTOCAST_"),
        "data_types": ("grad_accum_dtype", "param_dtype", "buffer_dtype", "keep_in_fp32_modules"),
    }
    return found | {f"{section}.{name}" for section, names in words.items() for name in names}


def _module(name: str) -> Any:
    return importlib.import_module(f"deepspeed.{name}")


def _constants(module: Any, start: str) -> list[str]:
    """Values of the constants that name a setting."""
    names = [name for name in vars(module) if name.startswith(start)]
    return [
        getattr(module, name)
        for name in names
        if not name.endswith(("_DEFAULT", "_FORMAT")) and isinstance(getattr(module, name), str)
    ]
