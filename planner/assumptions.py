"""Every constant and simplification of the cost model, as data.

There is one cost model. What the textbook, the student reports and the calibrated prediction
disagree about (efficiencies, latencies, overlaps, what is left out) is a field of `Assumptions`,
and each of them is a preset of the same code. `calibrated` resolves the constants fitted to
published runs (`hardware_db/data/calibration`) for one chip, precision and software era.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

from hardware_db import Calibration, Chip, load_calibration
from planner.errors import InputError
from planner.frameworks import ERAS, Era

PRECISIONS = ("bf16", "fp16", "fp32", "fp8", "mxfp8", "fp4", "int8")
_OPERAND_BYTES = {"fp32": 4.0}  # 8- and 4-bit formats keep 16-bit activations and weights in memory
_ALL_ALGORITHMS = ("ring", "hierarchical", "tree", "in-switch")


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The constants of one evaluation; SI units in the names, shares as fractions.

    Matrix multiplication (m x k by k x n, `planner.cost.compute`):
        matmul_flop_per_s: Peak at the job's precision times the achieved share.
        bf16_flop_per_s: The same at 16 bits (logits are always computed there).
        half_k, half_mn: Sizes at which a dimension halves the rate.
        matmul_overhead_s: Per GEMM. wave_exponent: Exponent of the wave-quantization factor.
        tile_m, tile_n, pe_count: Tile and PEs of that factor; tile_m = 0 switches it off.
        operand_bytes: Bytes per element of the byte floor.

    Attention:
        attention_flop_per_s (fused) or bmm_flop_per_s (unfused); attention_half_head_dim: head
        dimension at which the rate halves; causal_share of the S x S scores that is computed.
    Memory-bound work:
        memory_bytes_per_s: Achieved. elementwise: Multiplier of the byte counts row_bytes (per
        hidden element, divided by tp under sequence parallelism), tp_bytes (always divided),
        ffn_bytes (per MLP element), score_bytes (per attention score, unfused only).
    Mixture of experts: expert_efficiency, routing_bytes, exchange_efficiency, full_copy_share
        (share of the tokens sent once per expert, not once per node), ep_overlap, moe_host_s.
    Host: host_s_per_layer, host_s_per_tp_rank, fixed_s_per_layer, micro_batch_s, step_s.
    Network: scale_up_efficiency, ..., see `planner.network`. ring_hop_s replaces the wire latency
        of scale-out hops; wire_latency takes the levels' own latencies instead.
    Overlap: the share of each communication that computing hides.
    State: optimizer_traffic_bytes and accumulation_bytes, memory traffic per parameter.
    Energy: see `planner.cost.energy`.
    """

    name: str
    matmul_flop_per_s: float
    bf16_flop_per_s: float
    half_k: float
    half_mn: float
    matmul_overhead_s: float
    wave_exponent: float
    tile_m: int
    tile_n: int
    pe_count: int
    operand_bytes: float = 2.0

    fused_attention: bool
    attention_flop_per_s: float
    bmm_flop_per_s: float
    attention_half_head_dim: float = 16.0
    causal_share: float = 0.5

    memory_bytes_per_s: float
    elementwise: float
    row_bytes: float
    tp_bytes: float
    ffn_bytes: float
    score_bytes: float
    elementwise_backward: float = 1.6

    expert_efficiency: float
    routing_bytes: float
    exchange_efficiency: float
    full_copy_share: float
    ep_overlap: float
    moe_host_s: float

    host_s_per_layer: float
    host_s_per_tp_rank: float
    fixed_s_per_layer: float
    host_forward_share: float = 0.35
    micro_batch_s: float
    step_s: float

    scale_up_efficiency: float
    scale_out_efficiency: float
    scale_up_latency_s: float
    scale_out_latency_s: float
    ring_hop_s: float
    wire_latency: bool = False
    bucket_hop_s: float
    bucket_bytes: float
    gradient_wire_bytes: float
    splits_p2p: bool
    collective_algorithms: tuple[str, ...] = _ALL_ALGORITHMS
    asymptotic_volume: bool = False
    tree_efficiency: float = 0.92
    in_switch_latency_s: float = 25e-6

    tp_overlap: float
    cp_overlap: float = 0.8
    cp_least_exposed: float = 0.1
    zero3_overlap: float
    dp_overlap: float
    dp_window: float = 0.9
    p2p_exposed: float
    host_link_overlap: float = 0.8

    optimizer_traffic_bytes: float
    accumulation_bytes: float
    accumulation_zero3_share: float = 0.25
    jitter_per_doubling: float = 0.0
    site_factor: float = 1.0
    moe_imbalance: float = 1.0

    def hop_latency_s(self, *, scale_out: bool, wire_s: float) -> float:
        """Latency that a ring adds per member it passes on a level."""
        if self.wire_latency:
            return wire_s
        return self.ring_hop_s if scale_out else 0.0


def calibrated(
    chip: Chip, era: str, precision: str = "bf16", calibration: Calibration | None = None
) -> Assumptions:
    """The constants fitted to published runs, for one chip, software era and precision.

    Args:
        chip: The chip; its record names the calibration keys it uses.
        era: Key of `planner.frameworks.ERAS`.
        precision: One of `PRECISIONS`.
        calibration: Another set of constants; default the shipped one.

    Raises:
        InputError: The chip has no peak rate at that precision, or a name is unknown.
    """
    constants = calibration or load_calibration()
    software = _era_named(era)
    efficiency = constants.value(f"gemm_efficiency.{chip.calibration_gemm}")
    peak16 = _widest_matrix_peak(chip)
    return Assumptions(
        name="calibrated",
        matmul_flop_per_s=_matmul_peak(chip, precision, constants) * efficiency,
        bf16_flop_per_s=peak16 * efficiency,
        tile_m=chip.gemm_tile[0] if chip.gemm_tile else 0,
        tile_n=chip.gemm_tile[1] if chip.gemm_tile else 0,
        pe_count=chip.pe_count,
        operand_bytes=_OPERAND_BYTES.get(precision, 2.0),
        fused_attention=software.fused_attention,
        attention_flop_per_s=peak16 * _attention_efficiency(chip, software, constants),
        bmm_flop_per_s=peak16 * constants.value("unfused_bmm_efficiency"),
        memory_bytes_per_s=chip.memory_bandwidth_bytes_per_s * constants.value("memory_efficiency"),
        elementwise=constants.value(f"era.{era}.elementwise"),
        host_s_per_layer=constants.value(f"era.{era}.host_s_per_layer"),
        fixed_s_per_layer=constants.value(f"era.{era}.fixed_s_per_layer"),
        bucket_bytes=software.bucket_bytes,
        gradient_wire_bytes=software.gradient_wire_bytes,
        splits_p2p=software.splits_p2p,
        tp_overlap=constants.value("overlap.tensor_parallel") if software.overlaps_tp else 0.0,
        **_byte_counts(software, constants),  # type: ignore[arg-type]
        **{name: constants.value(path) for name, path in _SHARED.items()},  # type: ignore[arg-type]
    )


_SHARED = {
    "half_k": "gemm.half_k",
    "half_mn": "gemm.half_mn",
    "matmul_overhead_s": "gemm.overhead_s",
    "wave_exponent": "gemm.wave_exponent",
    "expert_efficiency": "moe.gemm_efficiency",
    "routing_bytes": "moe.routing_bytes",
    "exchange_efficiency": "moe.link_efficiency",
    "full_copy_share": "moe.full_copy_share",
    "ep_overlap": "moe.overlap",
    "moe_host_s": "moe.host_s_per_layer",
    "host_s_per_tp_rank": "host_s_per_tp_rank",
    "micro_batch_s": "micro_batch_overhead_s",
    "step_s": "step_overhead_s",
    "scale_up_efficiency": "network.scale_up_efficiency",
    "scale_out_efficiency": "network.scale_out_efficiency",
    "scale_up_latency_s": "network.scale_up_latency_s",
    "scale_out_latency_s": "network.scale_out_latency_s",
    "ring_hop_s": "network.per_node_latency_s",
    "bucket_hop_s": "network.bucket_hop_latency_s",
    "zero3_overlap": "overlap.zero3",
    "dp_overlap": "overlap.data_parallel",
    "p2p_exposed": "pipeline.p2p_exposed",
    "optimizer_traffic_bytes": "optimizer_bytes_per_param",
    "accumulation_bytes": "gradient_accumulation_bytes",
    "jitter_per_doubling": "jitter_per_doubling",
}


def _era_named(name: str) -> Era:
    if name not in ERAS:
        raise InputError(f"era: {name!r} is not one of {', '.join(sorted(ERAS))}")
    return ERAS[name]


def _peak(chip: Chip, dtype: str) -> float:
    if dtype not in chip.peak_flop_per_s:
        known = ", ".join(sorted(chip.peak_flop_per_s))
        raise InputError(f"precision: {chip.name} has no {dtype} rate; it has {known}")
    return chip.peak_flop_per_s[dtype]


def _widest_matrix_peak(chip: Chip) -> float:
    """Peak of the 16-bit format, or of the nearest one that the chip has."""
    for dtype in ("bf16", "fp16", "fp32", "int8"):
        if dtype in chip.peak_flop_per_s:
            return chip.peak_flop_per_s[dtype]
    return max(chip.peak_flop_per_s.values())


def _matmul_peak(chip: Chip, precision: str, constants: Calibration) -> float:
    """Peak at the job's precision times the fitted ratio of that precision."""
    if precision not in PRECISIONS:
        raise InputError(f"precision: {precision!r} is not one of {', '.join(PRECISIONS)}")
    if precision in ("bf16", "fp16", "fp32", "int8"):
        return _peak(chip, precision)
    if precision == "fp4":
        return _peak(chip, "fp4") * constants.value("precision.nvfp4")
    blackwell = chip.architecture.lower().startswith("blackwell")
    ratio = constants.value("precision.fp8_blackwell" if blackwell else "precision.fp8_hopper")
    if precision == "mxfp8":
        ratio *= constants.value("precision.mxfp8")
    return _peak(chip, "fp8") * ratio


def _attention_efficiency(chip: Chip, era: Era, constants: Calibration) -> float:
    key = chip.calibration_attention
    return constants.value(
        f"attention_efficiency.{era.hopper_attention if key == 'hopper' else key}"
    )


def _byte_counts(era: Era, constants: Calibration) -> dict[str, float]:
    kind = "fused" if era.fused_attention else "unfused"
    group = f"elementwise_bytes.{kind}"
    return {
        "row_bytes": constants.value(f"{group}.row"),
        "tp_bytes": constants.value(f"{group}.tp"),
        "ffn_bytes": constants.value(f"{group}.ffn"),
        "score_bytes": constants.value("elementwise_bytes.unfused.attention"),
    }


def overridden(base: Assumptions, changes: dict[str, Any]) -> Assumptions:
    """A copy with some fields changed; unknown names and wrong types are refused.

    Raises:
        InputError: A field is unknown or its value has the wrong type.
    """
    kinds = {f.name: type(getattr(base, f.name)) for f in fields(base)}
    for name, value in changes.items():
        if name not in kinds:
            raise InputError(f"assumptions: unknown field {name!r}; see `planner schema`")
        if kinds[name] is float and isinstance(value, int) and not isinstance(value, bool):
            changes = {**changes, name: float(value)}
        elif not isinstance(value, kinds[name]):
            raise InputError(f"assumptions.{name}: {value!r} is not of type {kinds[name].__name__}")
    return replace(base, **changes)
