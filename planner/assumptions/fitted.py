"""The fitted constants behind `calibrated`: what each is called in a calibration file."""

from __future__ import annotations

import re
from typing import Any

from hardware_db import Calibration, Chip, load_calibration
from planner.assumptions.experts import is_blackwell
from planner.assumptions.recipes import check_architecture, recipe_of
from planner.assumptions.software import FAMILIES, Era

SHARED = {
    "sink_attention": "attention_efficiency.sinks",
    "half_k": "gemm.half_k",
    "half_mn": "gemm.half_mn",
    "matmul_overhead_s": "gemm.overhead_s",
    "wave_exponent": "gemm.wave_exponent",
    "exchange_efficiency": "moe.link_efficiency",
    "ep_cover": "moe.overlap_cover",
    "host_s_per_tp_rank": "host_s_per_tp_rank",
    "adapter_bytes": "elementwise_bytes.adapters",
    "widening_bytes": "elementwise_bytes.widening",
    "micro_batch_s": "micro_batch_overhead_s",
    "step_s": "step_overhead_s",
    "scale_up_efficiency": "network.scale_up_efficiency",
    "scale_out_efficiency": "network.scale_out_efficiency",
    "scale_up_latency_s": "network.scale_up_latency_s",
    "scale_out_latency_s": "network.scale_out_latency_s",
    "ring_hop_s": "network.per_node_latency_s",
    "bucket_hop_s": "network.bucket_hop_latency_s",
    "p2p_exposed": "pipeline.p2p_exposed",
    "dualpipe_overlap": "pipeline.dualpipe_overlap",
    "dualpipe_kernels": "pipeline.dualpipe_kernels",
    "optimizer_traffic_bytes": "optimizer_bytes_per_param",
    "accumulation_bytes": "gradient_accumulation_bytes",
    "jitter": "jitter",
}
"""Field of `Assumptions` to the constant that all chips and eras share."""
_HIDDEN = re.compile(r"overlap|cover$|exposed")
_OF_SOME_ERAS = (
    "host_s_per_tp_rank", "far_host_s_per_tp_rank", "far_tp_wait_s", "slice_s", "jitter",
)  # fmt: skip
"""Constants that some eras have of their own; elsewhere they are shared, or 0."""

PROTOCOLS = ("ll", "ll128", "simple")
"""Of NCCL; what each takes is `planner.network.protocols`."""
NCCL_VENDORS = ("NVIDIA", "AMD")
"""Whose chips NCCL, or RCCL, serves."""
UNFUSED = "unfused"
"""`Chip.calibration_attention` of chips that no fused kernel is made for."""
UNMASKED = "unmasked"
"""The same where a compiler keeps the scores on the chip, and computes the masked half too."""


def is_hidden_share(path: str) -> bool:
    """Whether a constant is a share of communication that computing hides or not: at most 1."""
    return _HIDDEN.search(path) is not None


def of_era(era: Era, constants: Calibration) -> dict[str, float]:
    """What all software shares, and what differs between generations: kernels, host, overlaps."""
    names = ("elementwise", "host_s_per_layer", "fixed_s_per_layer", "zero3_overlap", "dp_overlap")
    found = {name: constants.value(path) for name, path in SHARED.items()}
    found |= {name: constants.value(f"era.{era.key}.{name}") for name in names}
    found |= {
        name: constants.values[path]
        for name in _OF_SOME_ERAS
        if (path := f"era.{era.key}.{name}") in constants.values
    }
    found["dp_overlap"] *= era.hides_reduction
    found["tp_overlap"] = constants.value("overlap.tensor_parallel") * era.overlaps_tp
    felt = constants.value("pipeline.interleaved_p2p")
    return found | {"interleaved_p2p": felt if era.overlaps_p2p else 1.0}


def of_nccl(chip: Chip) -> dict[str, Any]:
    """What NCCL's measured constants say of a chip that it serves; nothing of others.

    Steps are those of the protocol Simple on NVLink in a node and between nodes. Source:
    docs/collectives/nccl.md; reductions in switches have a latency of their own there.
    """
    if chip.vendor not in NCCL_VENDORS:
        return {}
    numbers = load_calibration("nccl")
    simple = numbers.group("protocols.simple")
    inside_s, outside_s = (
        (simple[f"{kind}_ring_step_s"] + simple[f"{kind}_tree_step_s"]) / 2
        for kind in ("nvlink", "net")
    )
    return {
        "protocols": PROTOCOLS,
        "in_switch_latency_s": numbers.value("latency.in_switch_s"),
        "scale_up_hop_s": inside_s * numbers.value("step_factor.scale_up"),
        "ring_hop_s": outside_s * numbers.value("step_factor.scale_out"),
    }


def quantized_bytes(chip: Chip, precision: str, named: str, constants: Calibration) -> float:
    """Bytes per element of casting operands: what a recipe reads and writes.

    Chips whose 8-bit products take operands in one layout only need a transposed copy beside it. 0
    where operands have 16 bits and more.

    Args:
        chip, precision: Of the job.
        named: The recipe at fp8.
        constants: The calibration.

    Raises:
        InputError: The chip does not run the recipe.
    """
    recipe = recipe_of(precision, named)
    if recipe is None:
        return 0.0
    check_architecture(recipe, chip)
    moved = constants.value(f"quantization.{recipe.name}")
    one_layout = chip.architecture.lower().startswith(("hopper", "ada", "cdna3"))
    copied = one_layout and recipe.transposed_apart
    return moved + copied * constants.value("quantization.transposed_copy")


def fp8_kind(chip: Chip) -> str:
    """Key of `precision`: by how much 8-bit products fall short of twice the 16-bit ones."""
    if chip.vendor == "AMD":
        return "fp8_cdna"
    return "fp8_blackwell" if is_blackwell(chip) else "fp8_hopper"


def byte_counts(constants: Calibration, *, fused: bool) -> dict[str, float]:
    """Bytes that element-wise work moves, with and without fused attention."""
    group = f"elementwise_bytes.{'fused' if fused else 'unfused'}"
    found = {f"{n}_bytes": constants.value(f"{group}.{n}") for n in ("row", "tp", "ffn")}
    return found | {"score_bytes": constants.value("elementwise_bytes.unfused.attention")}


def attention_efficiency(chip: Chip, era: Era, constants: Calibration) -> float:
    """Share of the peak at 16 bits; chips without a fused kernel run batched products."""
    key = chip.calibration_attention
    if key in (UNFUSED, UNMASKED):
        return constants.value("unfused_bmm_efficiency")
    if key in FAMILIES:
        key = era.attention_on(key)
    elif key == "cdna3" and era.hopper_attention == "cudnn":
        key = "a100"  # the vendor's own kernels: nothing was measured
    return constants.value(f"attention_efficiency.{key}")
