"""What arguments of Megatron-LM say of the model, and what the prediction does not count."""

from __future__ import annotations

from typing import Any

from models_db import Model
from planner.assumptions.software import ERAS
from planner.frameworks.megatron.reading.dimensions import STATED_BY, stated
from planner.frameworks.megatron.words import HIDDEN, LATENT_EXPOSES_TP
from planner.frameworks.profiles import FRAMEWORKS
from planner.frameworks.reading.settings import LaunchSettings

_OTHER_MODELS = (
    "--hybrid-layer-pattern", "--hybrid-override-pattern", "--decoder-num-layers",
    "--heterogeneous-layers-config-path", "--heterogeneous-layers-config-encoded-json",
    "--experimental-attention-variant", "--linear-attention-freq", "--spec",
    "--enable-mhc-connections", "--moe-latent-size",
)  # fmt: skip
_UNCOUNTED = {
    "--overlap-moe-expert-parallel-comm": "exchanges of experts hide behind another micro-batch",
    "--moe-shared-expert-overlap": "shared experts hide the exchange of the others (assumptions "
    "with shared_beside: true count it)",
    "--reset-attention-mask": "attention ends with documents (--lengths says how long they are)",
    "--delay-wgrad-compute": "gradients of weights are computed later",
    "--distribute-saved-activations": "saved inputs of layers are shared out over tp",
    "--fp8-param-gather": "weights are gathered in 8 bits",
    "--fp4-param-gather": "weights are kept and gathered in 4 bits",
    "--mtp-num-layers": "modules of multi-token prediction (m in a layout)",
    "--fp32-residual-connection": "what layers hand on has 32 bits",
    "--attention-output-gate": "a gate on the output of attention is one more matrix",
    "--moe-expert-capacity-factor": "tokens beyond an expert's capacity are dropped",
}
SETTINGS = {
    "layers": "--num-layers",
    "hidden": "--hidden-size",
    "heads": "--num-attention-heads",
    "kv_heads": "--group-query-attention, --num-query-groups",
    "head_dim": "--kv-channels",
    "tied_embeddings": "--untie-embeddings-and-output-weights",
    "mlp.gated": "--swiglu",
    "mlp.hidden": "--ffn-hidden-size",
    "moe.experts": "--num-experts",
    "moe.experts_per_token": "--moe-router-topk",
    "moe.expert_hidden": "--moe-ffn-hidden-size",
    **STATED_BY,
}
"""Which flags say a dimension; without them it has Megatron-LM's default."""


def model_dimensions(launch: LaunchSettings) -> dict[str, Any]:
    """Dimensions by the dotted names of `models_db.Model`, defaults of Megatron-LM filled in.

    `vocab_size` is that of the launch, which may be a padded one.
    """
    for name in _OTHER_MODELS:
        if launch.on(name):
            launch.wrong(name, "is a model that no plan describes")
    found = stated(launch)
    for name, flag in (
        ("layers", "--num-layers"),
        ("hidden", "--hidden-size"),
        ("heads", "--num-attention-heads"),
    ):
        if value := launch.whole(flag):
            found[name] = value
    if "heads" in found:
        grouped = launch.on("--group-query-attention")
        groups = launch.whole("--num-query-groups") if grouped else found["heads"]
        latent = launch.on("--multi-latent-attention")
        if groups and not latent:
            found["kv_heads"] = groups
        width = launch.whole("--kv-channels")
        if "hidden" in found and not latent:
            found["head_dim"] = width or found["hidden"] // found["heads"]
    if "hidden" in found:
        found |= _widths(launch, found["hidden"])
        found["tied_embeddings"] = not launch.on("--untie-embeddings-and-output-weights")
    if rows := launch.whole("--vocab-size"):
        found["vocab_size"] = rows
    return found


def _widths(launch: LaunchSettings, hidden: int) -> dict[str, Any]:
    """The MLP, and the experts where there are any."""
    swiglu = launch.on("--swiglu")
    gated = swiglu or launch.on("--quick-geglu")
    # Megatron-LM: 8/3 of the hidden width in multiples of 64 with SwiGLU, else 4 times.
    width = int(hidden * 4 * 2 / 3 / 64) * 64 if swiglu else 4 * hidden
    width = launch.whole("--ffn-hidden-size", width)
    experts = launch.whole("--num-experts")
    if not experts:
        return {"mlp.gated": gated, "mlp.hidden": width, "moe.experts": 0}
    inner = launch.whole("--moe-ffn-hidden-size", width)
    dense = {"mlp.hidden": width} if launch.on("--moe-layer-freq") else {}
    return {
        "mlp.gated": gated,
        **dense,
        "moe.experts": experts,
        "moe.experts_per_token": launch.whole("--moe-router-topk", 2),
        "moe.expert_hidden": inner,
    }


def model_warnings(launch: LaunchSettings, model: Model) -> list[str]:
    """What the launch does that the prediction does not count, one line each."""
    found = [
        f"{name}: {what}, which the prediction does not count"
        for name, what in _UNCOUNTED.items()
        if launch.on(name) and launch.look(name) != "0"
    ]
    if launch.on("--fp8-format") and not launch.on("--fp8-param-gather"):
        found.append(
            "--fp8-format: Transformer Engine keeps quantized weights beside those of 16 bits, "
            "which the prediction does not count; --fp8-param-gather keeps them alone"
        )
    rows = launch.whole("--vocab-size")
    if rows and rows != model.vocab_size:
        found.append(f"--vocab-size: {rows:,} where {model.name} has {model.vocab_size:,}")
    return found


def overlap_warnings(launch: LaunchSettings, *, tp: int, data: int, shares: bool) -> list[str]:
    """Collectives that the prediction hides and the launch does not, one line each."""
    era = ERAS[FRAMEWORKS["megatron"].era]
    needed = {
        "--overlap-grad-reduce": era.hides_reduction and data > 1,
        "--overlap-param-gather": era.hides_gather and data > 1 and shares,
        "--tp-comm-overlap": era.overlaps_tp and tp > 1,
    }
    exposed = {name: "is not given" for name in needed if not launch.on(name)}
    if launch.on("--multi-latent-attention"):
        exposed.setdefault("--tp-comm-overlap", LATENT_EXPOSES_TP)
    return [
        f"{name}: {exposed[name]}; {HIDDEN}"
        for name, wanted in needed.items()
        if wanted and name in exposed
    ]
