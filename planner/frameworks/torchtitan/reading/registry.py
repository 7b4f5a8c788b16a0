"""The complete configurations that `--config` of torchtitan names, by what a plan depends on.

Source: torchtitan models/*/config_registry.py of 0.3.0 (PyPI); those of main b5bcd76 (2026-08-21)
say the same, with batches in tokens. Models for images and configurations that train adapters are
left out.
"""

from __future__ import annotations

from typing import Any

from frozen_records import dataclass

PARTLY_NVFP4 = "nvfp4 of the first 85 % of the layers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Registered:
    """A configuration that torchtitan ships.

    Attributes:
        module: Package under `torchtitan.models`.
        name: Function of its registry.
        flavor: Its model, a key of the module's table.
        batch: Sequences of a data rank per step.
        length: Tokens per sequence.
        recompute: Word of `activation-checkpoint:`.
        compiles: Compiled components, none where nothing is compiled.
        converter: Number format of products where it is not that of `training`.
        parallelism: Settings that differ from the defaults.
    """

    module: str
    name: str
    flavor: str
    batch: int = 8
    length: int = 2048
    recompute: str = "selective"
    compiles: tuple[str, ...] = ()
    converter: str = ""
    parallelism: tuple[tuple[str, str], ...] = ()

    def settings(self) -> dict[str, tuple[str, ...]]:
        """`section.name` with its values as text."""
        found: dict[str, tuple[str, ...]] = {
            "training.local_batch_size": (str(self.batch),),
            "training.seq_len": (str(self.length),),
            "activation_checkpoint.mode": (self.recompute,),
            "compile.enable": ("true" if self.compiles else "false",),
        }
        if self.compiles:
            found["compile.components"] = self.compiles
        if self.converter:
            found["model.converters"] = (self.converter,)
        return found | {f"parallelism.{name}": (value,) for name, value in self.parallelism}


_LOSS = ("loss",)
_MODEL = ("model",)
_TP8 = (("tensor_parallel_degree", "8"),)
_INTERLEAVED = (("pipeline_parallel_schedule", "Interleaved1F1B"),)
_UNSHARDED = (("data_parallel_shard_degree", "1"), ("enable_sequence_parallel", "false"))


def _experts(degree: int) -> tuple[tuple[str, str], ...]:
    return (("expert_parallel_degree", str(degree)),)


def _deepseek(name: str, flavor: str, **more: Any) -> Registered:
    settings: dict[str, Any] = {"batch": 4, "length": 4096, "compiles": _LOSS, **more}
    return Registered(module="deepseek_v3", name=name, flavor=flavor, **settings)


def _qwen3(name: str, flavor: str, batch: int, **more: Any) -> Registered:
    settings: dict[str, Any] = {"length": 4096, **more}
    return Registered(module="qwen3", name=name, flavor=flavor, batch=batch, **settings)


def _llama3(name: str, flavor: str, batch: int, **more: Any) -> Registered:
    settings: dict[str, Any] = {"length": 8192, **more}
    return Registered(module="llama3", name=name, flavor=flavor, batch=batch, **settings)


def _small(module: str, names: str, **more: Any) -> tuple[Registered, ...]:
    """Configurations of a model for tests."""
    settings: dict[str, Any] = {"flavor": "debugmodel", **more}
    return tuple(Registered(module=module, name=name, **settings) for name in names.split())


REGISTRY = {
    (one.module, one.name): one
    for one in (
        _llama3("llama3_8b", "8B", 1),
        _llama3("llama3_8b_mxfp8", "8B", 1, compiles=_MODEL, converter="mxfp8"),
        _llama3(
            "llama3_8b_first_85_pct_layers_nvfp4", "8B", 1, compiles=_MODEL, converter=PARTLY_NVFP4
        ),
        _llama3("llama3_70b", "70B", 8, recompute="full", parallelism=_TP8),
        _llama3(
            "llama3_405b", "405B", 2, recompute="full", compiles=("model", "loss"),
            converter="float8",
            parallelism=_TP8,
        ),
        *_small("llama3", "sft_debugmodel"),
        *_small(
            "llama3",
            "llama3_debugmodel llama3_debugmodel_ce_loss llama3_debugmodel_dist_gemm "
            "llama3_debugmodel_varlen_attn",
            parallelism=_INTERLEAVED,
        ),
        *_small(
            "llama3",
            "llama3_debugmodel_float8",
            converter="float8",
            parallelism=_INTERLEAVED,
        ),
        *_small(
            "llama3", "llama3_debugmodel_nvfp4", converter="nvfp4", parallelism=_INTERLEAVED
        ),
        *_small(
            "llama3",
            "llama3_debugmodel_first_85_pct_layers_nvfp4",
            converter=PARTLY_NVFP4,
            parallelism=_INTERLEAVED,
        ),
        _qwen3("qwen3_0_6b", "0.6B", 4),
        _qwen3("qwen3_1_7b", "1.7B", 4),
        _qwen3("qwen3_14b", "14B", 4, recompute="full"),
        _qwen3("qwen3_32b", "32B", 2, recompute="full"),
        _qwen3("qwen3_30b_a3b", "30B-A3B", 2, recompute="full"),
        _qwen3("sft_qwen3_8b_math", "8B", 1, length=2048),
        _qwen3(
            "qwen3_8b_first_85_pct_layers_nvfp4", "8B", 1, length=2048, compiles=_MODEL,
            converter=PARTLY_NVFP4,
        ),
        _qwen3("qwen3_moe_debug", "debugmodel_moe", 4),
        _qwen3("qwen3_debugmodel_moe_param_groups", "debugmodel_moe", 4),
        _qwen3("qwen3_moe_deepep", "debugmodel_moe", 2, length=512, parallelism=_experts(4)),
        *_small("qwen3", "qwen3_debugmodel qwen3_debugmodel_flex_flash"),
        *_small("qwen3", "qwen3_debugmodel_non_fused_qkv", flavor="debugmodel_non_fused_qkv"),
        *_small("qwen3", "qwen3_debugmodel_nvfp4", converter="nvfp4"),
        *_small(
            "qwen3", "qwen3_debugmodel_first_85_pct_layers_nvfp4", converter=PARTLY_NVFP4
        ),
        _deepseek("deepseek_v3_16b", "16B", parallelism=_INTERLEAVED + _experts(8)),
        _deepseek("deepseek_v3_16b_hybridep", "16B", parallelism=_INTERLEAVED + _experts(8)),
        _deepseek("deepseek_v3_16b_minimal_async_ep", "16B", parallelism=_UNSHARDED),
        _deepseek("deepseek_v3_671b", "671B", parallelism=_INTERLEAVED + _experts(2)),
        _deepseek(
            "deepseek_v3_671b_float8", "671B", converter="float8",
            parallelism=_INTERLEAVED + _experts(2),
        ),
        *_small(
            "deepseek_v3",
            "deepseek_v3_debugmodel deepseek_v3_debugmodel_hybridep deepseek_v3_debugmodel_mtp",
        ),
        *_small("deepseek_v3", "deepseek_v3_debugmodel_mxfp8", converter="mxfp8"),
        *_small(
            "deepseek_v3", "deepseek_v3_debugmodel_minimal_async_ep", parallelism=_UNSHARDED
        ),
        *(
            Registered(
                module="gpt_oss", name=f"gpt_oss_{size}", flavor=size, batch=1, length=8192,
                recompute="full",
            )
            for size in ("20b", "120b")
        ),
        *_small("gpt_oss", "gpt_oss_debugmodel gpt_oss_debugmodel_flex", recompute="none"),
        Registered(
            module="muse_glimmer", name="muse_glimmer_30b", flavor="30B", batch=1, length=8192,
            recompute="full",
        ),
        *_small("muse_glimmer", "muse_glimmer_debugmodel"),
    )
}  # fmt: skip
"""Every one by its module and name."""
