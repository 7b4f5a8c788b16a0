"""Fields of assumptions that a textbook's limits leave out or take as whole."""

from __future__ import annotations

from typing import Any

SWITCHED_OFF = (
    "half_k", "half_mn", "matmul_overhead_s", "wave_exponent", "operand_bytes", "elementwise",
    "row_bytes", "tp_bytes", "ffn_bytes", "score_bytes", "routing_bytes",
    "ep_overlap", "moe_host_s", "expert_host_s", "host_s_per_layer", "host_s_per_tp_rank",
    "fixed_s_per_layer",
    "micro_batch_s", "step_s", "scale_up_latency_s", "scale_out_latency_s", "ring_hop_s",
    "bucket_hop_s", "tp_overlap", "cp_overlap", "p2p_exposed", "optimizer_traffic_bytes",
    "accumulation_bytes",
)  # fmt: skip
WHOLE = (
    "expert_efficiency", "exchange_efficiency", "scale_up_efficiency", "scale_out_efficiency",
    "cp_least_exposed", "zero3_overlap", "dp_overlap", "dp_window",
)  # fmt: skip
ALONE: dict[str, Any] = {
    "tile_m": 0,
    "tile_n": 0,
    "pe_count": 1,
    "bucket_bytes": 1.0,
    "gradient_wire_bytes": 2.0,
    "splits_p2p": True,
    "latencies": False,
    "asymptotic_volume": True,
    "perfect_overlap": True,
    "bubbles": False,
    "mlp_blocks": True,
    "token_granularity": True,
}
