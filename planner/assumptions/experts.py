"""How software runs layers with experts, as data, and the fitted constants that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from frozen_records import dataclass

if TYPE_CHECKING:
    from hardware_db import Calibration, Chip

KERNELS = ("permuted", "grouped", "fused")
DISPATCHERS = ("all-to-all", "all-gather", "deepep", "hybridep")
GRAPHS = ("attention", "router", "experts")
BALANCES = ("learned", "forced", "capacity")
_REPLAYED = 0.1
"""Share of the host's time that replaying a CUDA graph takes of launching its kernels."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpertSoftware:
    """How layers with experts run.

    Attributes:
        kernels: Key of the calibration's `moe` group: how their products and permutations are
            fused. Fused kernels exist for 8 and 4 bits on Blackwell; elsewhere they are grouped.
        dispatcher: What carries tokens to experts. `deepep` and `hybridep` send a token once to
            each rank and once to each node, `all-to-all` once per expert, `all-gather` to all.
        graphs: Parts of a layer that CUDA graphs launch, of `GRAPHS`.
        overlaps: Whether the exchange of one micro-batch travels while another computes.
        shared_beside: Whether shared experts run beside the exchange of the routed ones.
        balance: `learned` by the router, `forced` as benchmarks do, or held by a `capacity` to
            which experts are padded.
        capacity: Of those, over the mean load; empty places are computed and sent as well.
        dispatch_bytes: Per element on the way to experts; back it is 2.
        launches_each: Whether the host launches the kernels of every expert.
    """

    kernels: str = "grouped"
    dispatcher: str = "all-to-all"
    graphs: tuple[str, ...] = ()
    overlaps: bool = False
    shared_beside: bool = False
    balance: str = "learned"
    capacity: float = 1.0
    dispatch_bytes: float = 2.0
    launches_each: bool = True


def is_blackwell(chip: Chip) -> bool:
    """Whether a chip is of the Blackwell family."""
    return chip.architecture.lower().startswith("blackwell")


def expert_constants(
    software: ExpertSoftware, chip: Chip, precision: str, constants: Calibration
) -> dict[str, float | bool]:
    """Fields of `Assumptions` that say how fast layers with experts run.

    What the host takes per expert was fitted to runs of 8 bits and holds for 16 too: it is spent on
    lists of weights and inputs, not on quantizing. Transformer Engine, issue 2939: 0.97 ms in the
    forward pass alone for 4 experts in bf16 on B300, where the host is what a step waits for.
    """
    narrow = precision not in ("bf16", "fp16", "fp32")
    fused = software.kernels == "fused" and narrow and is_blackwell(chip)
    kernels = "grouped" if software.kernels == "fused" and not fused else software.kernels
    # CANN has one launch for a group of products: MindSpeed, docs/ops/gmm.md (`npu_gmm`).
    launches_each = software.launches_each and chip.vendor != "Huawei"
    plain = not narrow and chip.vendor == "NVIDIA"  # products of 8 bits are quantized by expert
    rate = "moe.plain_gemm_efficiency" if plain else f"moe.{kernels}.gemm_efficiency"
    overlap = "moe.batch_overlap" if software.overlaps else "moe.overlap"
    found: dict[str, float | bool] = {
        "sends_copies": software.dispatcher == "all-to-all",
        "gathers_tokens": software.dispatcher == "all-gather",
        "shared_beside": software.shared_beside,
        "even_loads": software.balance == "capacity",
        "moe_imbalance": max(software.capacity, 1.0) if software.balance == "capacity" else 1.0,
        "expert_efficiency": constants.value(rate),
        "routing_bytes": constants.value(f"moe.{kernels}.routing_bytes"),
        "expert_bias_bytes": constants.value("moe.bias_bytes") if software.launches_each else 0.0,
        "moe_host_s": constants.value(f"moe.{kernels}.host_s_per_layer"),
        "expert_host_s": constants.value(f"moe.{kernels}.host_s_per_expert") * launches_each,
        "ep_overlap": constants.value(overlap),
        "dispatch_bytes": software.dispatch_bytes,
        "launched_share": _REPLAYED if "attention" in software.graphs else 1.0,
    }
    for name, rule in (("load_spread", "auxiliary_loss"), ("biased_load_spread", "bias")):
        learned = software.balance == "learned"
        found[name] = constants.value(f"moe.load_spread.{rule}") if learned else 0.0
    if "experts" in software.graphs:
        found["moe_host_s"] *= _REPLAYED
        found["expert_host_s"] *= _REPLAYED
    elif "router" in software.graphs:
        found["moe_host_s"] *= (1 + _REPLAYED) / 2
    return found
