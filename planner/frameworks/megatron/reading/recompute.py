"""Recomputation in arguments of Megatron-LM.

Sources: megatron/core/recompute.py (`uniform`: units of N layers, all recomputed; `block`: the
first N layers of every chunk), core/transformer/transformer_config.py (selective recomputation:
core attention unless modules are named; moe_layer.py, experts.py), d98e8a64dd (2026-08-22).
"""

from __future__ import annotations

from dataclasses import replace

from models_db import Model
from planner.base.vocabulary import MODULES
from planner.cost.stages.layout import stage_layers
from planner.frameworks.megatron.reading.stages import Stages
from planner.frameworks.reading.settings import RECOMPUTES_ALLOWED, LaunchSettings
from planner.plan import Stage, code_of
from planner.plan.recomputations import modules_words

_KINDS = ("dense", "moe")


def recomputation_of(
    launch: LaunchSettings, model: Model, pp: int, interleave: int, stages: Stages, split: str
) -> tuple[str, Stages]:
    """The plan's recomputation and its stages, which count the layers of `block`."""
    granularity = launch.text("--recompute-granularity")
    method = launch.text("--recompute-method")
    number = launch.whole("--recompute-num-layers")
    legacy = launch.on("--recompute-activations")
    modules = set(launch.values.get("--recompute-modules", ("core_attn",)))
    launch.taken.add("--recompute-modules")
    if launch.on("--moe-layer-recompute"):
        modules.add("moe")
        granularity = granularity or "selective"
    granularity = granularity or ("selective" if legacy else "")
    if granularity == "full":
        return _full(launch, model, pp, interleave, stages, split)
    if granularity == "selective":
        if method or number:
            launch.wrong("--recompute-method", "goes with --recompute-granularity full only")
        return _of_modules(launch, model, modules), stages
    if granularity:
        launch.wrong("--recompute-granularity", f"{granularity!r} is not full or selective")
    return "none", stages


def _of_modules(launch: LaunchSettings, model: Model, modules: set[str]) -> str:
    """Modules of all layers; those that no layer has recompute nothing."""
    name = "--recompute-modules"
    if other := sorted(modules - {*MODULES}):
        what = f"of {', '.join(other)} is neither that of a module that plans name nor of layers"
        launch.unsupported("recompute", name, what, RECOMPUTES_ALLOWED)
        modules &= {*MODULES}
    apart = modules_apart(model)
    if "mla_up_proj" in modules - apart:
        launch.wrong(name, "mla_up_proj needs latent attention")
    if "moe_act" in modules & apart and not launch.on("--moe-grouped-gemm"):
        launch.wrong(name, "moe_act needs --moe-grouped-gemm")
    if idle := sorted(modules - apart):
        launch.warnings.append(f"{name}: no layer of {model.name} has {', '.join(idle)} apart")
    return modules_words(modules & apart)


def modules_apart(model: Model) -> frozenset[str]:
    """The modules that some layer of a model has as one of its own."""
    latent, kinds = model.attention.kv_lora_rank is not None, {*model.layer_kinds}
    has = {
        "core_attn": True,
        "layernorm": latent or "moe" in kinds,
        "mla_up_proj": latent,
        "mlp": "dense" in kinds,
        "moe": "moe" in kinds,
        "moe_act": "moe" in kinds,
        "shared_experts": model.moe is not None and model.moe.shared_experts > 0,
    }
    return frozenset(name for name, there in has.items() if there)


def _full(
    launch: LaunchSettings, model: Model, pp: int, interleave: int, stages: Stages, split: str
) -> tuple[str, Stages]:
    """Whole layers: all of them, or the first ones of every chunk."""
    method = launch.text("--recompute-method")
    number = launch.whole("--recompute-num-layers")
    if method not in ("uniform", "block") or not number:
        launch.wrong(
            "--recompute-granularity", "full needs --recompute-method and --recompute-num-layers"
        )
        return "full", stages
    if method == "uniform":
        if number > 1:
            line = f"--recompute-num-layers: one input is kept for every {number} layers; the "
            launch.warnings.append(f"{line}prediction keeps one for each")
        return "full", stages
    if "recompute" in launch.asked.fix:
        return "none", stages
    return _block(model, pp, interleave, stages, split, number)


def _block(
    model: Model, pp: int, interleave: int, stages: Stages, split: str, number: int
) -> tuple[str, Stages]:
    """The first layers of every chunk recompute; all where no chunk has more."""
    sizes = (
        tuple(stage.layers for stage in stages)
        if stages is not None
        else stage_layers(model, pp, interleave, code_of("split", split))
    )
    if sizes is None or number >= max(sizes):
        return "full", stages
    found, start = [], 0
    for size in sizes:
        kinds = model.layer_kinds[start : start + min(number, size)]
        dense, moe = (kinds.count(kind) for kind in _KINDS)
        found.append(replace(Stage(layers=size), full=(dense, moe)))
        start += size
    return "none", tuple(found)
