"""Every constant and simplification of the cost model, as data.

There is one cost model. What the textbook, the student reports and the calibrated prediction
disagree about (efficiencies, latencies, overlaps, what is left out) is a field of `Assumptions`,
and each of them is a preset of the same code. `calibrated` resolves the constants fitted to
published runs (`hardware_db/data/calibration`) for one chip, precision and software era.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from frozen_records import dataclass
from hardware_db import Calibration, Chip, load_calibration
from planner.assumptions.experts import ExpertSoftware, expert_constants
from planner.assumptions.fitted import (
    PROTOCOLS,
    UNFUSED,
    UNMASKED,
    attention_efficiency,
    byte_counts,
    fp8_kind,
    of_era,
    of_nccl,
    quantized_bytes,
)
from planner.assumptions.number_formats import operand_bytes
from planner.assumptions.recipes import FP8
from planner.assumptions.software import era_on
from planner.assumptions.textbook import ALONE, SWITCHED_OFF, WHOLE
from planner.base.errors import InputError
from planner.base.fields import Percent, choice, choices, share_schema

PRESETS = ("calibrated", "roofline", "rack-zero", "rack-energy")
ORIGIN = ("name", "are_fitted")
"""Fields that say where the others come from, and are no constants."""
PRECISIONS = ("bf16", "fp16", "fp32", "fp8", "mxfp8", "fp4", "int8")
COLLECTIVES = ("nccl", "synthesized", "best")
CAUSAL_SHARE = 0.5
"""Share of the scores that kernels for causal attention compute."""
_ALL_ALGORITHMS = ("ring", "hierarchical", "tree", "in-switch")
_EVERY_ALGORITHM = (*_ALL_ALGORITHMS, "in-switch-tree")


def _between(least: float, most: float) -> Any:
    return Field(ge=least, le=most, allow_inf_nan=False)


# What a user's file may set: the ends are far beyond any machine, and keep all results finite.
Share = Annotated[float, _between(0, 1), Percent, share_schema(0)]
Efficiency = Annotated[float, _between(1e-6, 1), Percent, share_schema(1e-6)]
Rate = Annotated[float, _between(1, 1e24)]
Seconds = Annotated[float, _between(0, 1e3)]
PerElement = Annotated[float, _between(0, 1e6)]
Bytes = Annotated[float, _between(1, 1e15)]
OnChip = Annotated[float, _between(0, 1e15)]
Size = Annotated[float, _between(0, 1e9)]
Factor = Annotated[float, _between(0, 1e3)]
Slowdown = Annotated[float, _between(1e-3, 1e3)]
Multiple = Annotated[float, _between(1, 1e3)]
Exponent = Annotated[float, _between(0, 10)]
Tile = Annotated[int, Field(ge=0, le=10**6)]
Count = Annotated[int, Field(ge=1, le=10**6)]
Algorithms = Annotated[tuple[str, ...], choices(_EVERY_ALGORITHM)]
Protocols = Annotated[tuple[str, ...], choices(PROTOCOLS, empty=True)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """The constants of one evaluation; SI units in the names, shares as fractions.

    What each means stands beside it, and in `planner schema assumptions`. They are used in
    `planner.cost` (compute, elementwise, experts, host, state, energy) and `planner.network`.
    """

    name: str
    are_fitted: Annotated[bool, "They are those of runs, none changed by hand."] = False
    matmul_flop_per_s: Annotated[
        Rate, "Matrix multiplication: peak at the job's precision times the achieved share."
    ]
    bf16_flop_per_s: Annotated[Rate, "The same at 16 bits; logits are always computed there."]
    half_k: Annotated[Size, "Inner size of a product at which its rate is halved."]
    half_mn: Annotated[Size, "Outer size of a product at which its rate is halved."]
    matmul_overhead_s: Annotated[Seconds, "Seconds per matrix multiplication."]
    wave_exponent: Annotated[Exponent, "Exponent of the wave-quantization factor."]
    tile_m: Annotated[Tile, "Rows of the tile of that factor; 0 switches it off."]
    tile_n: Annotated[Tile, "Columns of that tile."]
    pe_count: Annotated[Count, "Processing elements of that factor."]
    operand_bytes: Annotated[PerElement, "Bytes per element of the byte floor."] = 2.0
    on_chip_bytes: Annotated[
        OnChip, "Memory on the chip that blocks products' traffic; 0: operands move once."
    ] = 0.0

    fused_attention: Annotated[bool, "Attention in one kernel, or as batched products."]
    attention_flop_per_s: Annotated[Rate, "Rate of fused attention."]
    sink_attention: Annotated[Efficiency, "Rate of attention with sinks, over that without."] = 1.0
    bmm_flop_per_s: Annotated[Rate, "Rate of the batched products of unfused attention."]
    attention_half_head_dim: Annotated[Size, "Head size that halves the rate."] = 16.0
    causal_share: Annotated[Share, "Share of the scores that is computed."] = CAUSAL_SHARE

    memory_bytes_per_s: Annotated[Rate, "Achieved bandwidth of the chip's memory."]
    elementwise: Annotated[Factor, "Multiplier of row_bytes, tp_bytes and ffn_bytes."]
    row_bytes: Annotated[
        PerElement, "Per hidden element; divided by tp under sequence parallelism."
    ]
    tp_bytes: Annotated[PerElement, "Bytes per hidden element that tp always divides."]
    ffn_bytes: Annotated[PerElement, "Bytes per element of the MLP's inner width."]
    score_bytes: Annotated[PerElement, "Bytes per attention score, unfused only."]
    elementwise_backward: Annotated[Factor, "Elementwise time backward over forward."] = 1.6
    adapter_bytes: Annotated[
        PerElement, "Bytes per input and output of a matrix with a LoRA adapter beside it."
    ] = 0.0
    quantized_bytes: Annotated[PerElement, "Bytes of casting an operand below 16 bits."] = 0.0
    widening_bytes: Annotated[PerElement, "Bytes of widening a frozen weight, each pass."] = 0.0
    adapts_mlp: Annotated[bool, "Adapters stand beside the MLP's matrices too."] = False

    expert_efficiency: Annotated[Efficiency, "Rate of expert products over that of dense ones."]
    routing_bytes: Annotated[
        PerElement, "Bytes of routing per hidden element of each expert visited."
    ]
    expert_bias_bytes: Annotated[PerElement, "Bytes of adding biases to experts' results."] = 0.0
    exchange_efficiency: Annotated[
        Efficiency, "Share of the bandwidth that the all-to-all reaches."
    ]
    sends_copies: Annotated[bool, "Tokens travel once per expert, not per rank and node."] = True
    gathers_tokens: Annotated[bool, "Every rank of a group gets all its tokens."] = False
    dispatch_bytes: Annotated[PerElement, "Bytes per element on the way to experts."] = 2.0
    ep_overlap: Annotated[Share, "Share of the all-to-all that computing hides."]
    ep_cover: Annotated[Share, "Share of the kernels of a pass behind which it can hide."] = 1.0
    shared_beside: Annotated[bool, "Shared experts run beside the all-to-all, and hide it."] = False
    moe_host_s: Annotated[Seconds, "Seconds of the host per layer with experts."]
    expert_host_s: Annotated[Seconds, "Seconds of the host per layer and expert on the chip."] = 0.0
    launched_share: Annotated[Share, "Share of a layer's host time left if it has experts."] = 1.0

    host_s_per_layer: Annotated[Seconds, "Seconds that the host needs to launch a layer."]
    host_s_per_tp_rank: Annotated[Seconds, "Host seconds per layer and rank of tp after one."]
    far_host_s_per_tp_rank: Annotated[Seconds, "Added where pipelines cross nodes."] = 0.0
    far_tp_wait_s: Annotated[Seconds, "Wait per layer and rank of tp across nodes."] = 0.0
    slice_s: Annotated[Seconds, "Host seconds per tensor and data rank that zero1 slices."] = 0.0
    fixed_s_per_layer: Annotated[Seconds, "Seconds per layer of small kernels and waiting."]
    host_forward_share: Annotated[Share, "Share of the host's time in forward passes."] = 0.35
    micro_batch_s: Annotated[Seconds, "Seconds per micro-batch."]
    step_s: Annotated[Seconds, "Seconds per step."]

    scale_up_efficiency: Annotated[Efficiency, "Share of the bandwidth that scale-up links reach."]
    scale_out_efficiency: Annotated[Efficiency, "Share of the rate that scale-out links reach."]
    scale_up_latency_s: Annotated[Seconds, "Seconds per collective on scale-up links."]
    scale_out_latency_s: Annotated[Seconds, "Seconds per collective on scale-out links."]
    ring_hop_s: Annotated[Seconds, "Least seconds per hop of a ring on scale-out links."]
    scale_up_hop_s: Annotated[Seconds, "Seconds per hop of a ring on scale-up links."] = 0.0
    wire_latency: Annotated[bool, "Hops take the levels' own latencies instead."] = False
    latencies: Annotated[bool, "Messages take time before their first byte."] = True
    bucket_hop_s: Annotated[Seconds, "Seconds per hop and bucket of gradients."]
    bucket_bytes: Annotated[Bytes, "Bytes of a bucket of gradients."]
    gradient_wire_bytes: Annotated[PerElement, "Bytes per gradient element on the wire."]
    weight_wire_bytes: Annotated[
        PerElement, "Bytes per weight that zero1 gathers once it is updated."
    ] = 2.0
    splits_p2p: Annotated[bool, "Tensor ranks send parts of what goes to the next stage."]
    collective_algorithms: Annotated[Algorithms, "Those to choose from."] = _ALL_ALGORITHMS
    protocols: Annotated[Protocols, "Those of NCCL to choose from; empty: one line of time."] = ()
    asymptotic_volume: Annotated[bool, "A ring of n moves all, not (n - 1) / n."] = False
    tree_efficiency: Annotated[Efficiency, "Share of the rate that a tree reaches."] = 0.92
    in_switch_latency_s: Annotated[Seconds, "Seconds of a reduction in switches."] = 25e-6
    collectives: Annotated[
        str,
        choice(COLLECTIVES),
        "Those of the library, schedules made for the wiring, or the faster of both.",
    ] = "nccl"
    # A ring of the protocol LL in src/graph/tuning.cc of NCCL; hardware_db's nccl-tuner has both.
    synthesized_step_s: Annotated[Seconds, "Seconds per step of a synthesized schedule."] = 6e-7
    synthesized_start_s: Annotated[Seconds, "Least seconds of starting one."] = 6.6e-6

    slowest_link: Annotated[
        bool, "A ring goes at the rate of one chip on the slowest level that it crosses."
    ] = False
    uniform_traffic: Annotated[
        bool, "A byte takes the average hops of its group and the rate of a chip on each."
    ] = False
    component_energy: Annotated[
        bool, "Energy is operations and bytes times joules of each, with no standing power."
    ] = False

    perfect_overlap: Annotated[
        bool, "A pass lasts as long as the longest of computing and each axis's communication."
    ] = False
    tp_overlap: Annotated[Share, "Share of tensor-parallel communication that computing hides."]
    tp_backward: Annotated[Factor, "Tensor-parallel exchanges backward over those forward."] = 1.0
    cp_overlap: Annotated[Share, "Share of context-parallel communication hidden."] = 0.8
    cp_least_exposed: Annotated[Share, "Share of it that is never hidden."] = 0.1
    zero3_overlap: Annotated[
        Share,
        "Share of the collectives of layers (zero3's, and the gradients that zero2 scatters after "
        "each micro-batch) that computing hides.",
    ]
    dp_overlap: Annotated[Share, "Share of the reduction of gradients that computing hides."]
    hides_gather: Annotated[
        bool, "Weights that zero1 and zero2 gather travel behind the next forward pass."
    ] = True
    dp_window: Annotated[Share, "Share of the backward pass that can hide it."] = 0.9
    p2p_exposed: Annotated[Share, "Share of the messages between stages that is not hidden."]
    interleaved_p2p: Annotated[
        Share, "Share of that which interleaved schedules leave once the pipeline is full."
    ] = 1.0
    dualpipe_overlap: Annotated[
        Share, "Share of all-to-alls and messages between stages that passes side by side hide."
    ] = 0.0
    dualpipe_kernels: Annotated[
        Efficiency, "Rate of products beside such communication, over that without."
    ] = 1.0
    host_link_overlap: Annotated[Share, "Share of offloading that computing hides."] = 0.8

    optimizer_traffic_bytes: Annotated[PerElement, "Traffic of the optimizer, per parameter."]
    accumulation_bytes: Annotated[PerElement, "Memory traffic of adding gradients, per parameter."]
    accumulation_zero3_share: Annotated[Share, "Share of it left under zero3."] = 0.25
    bubbles: Annotated[bool, "Pipelines wait while they fill and drain."] = True
    mlp_blocks: Annotated[
        bool, "The model is a stack of two-matrix MLPs that hold all its parameters."
    ] = False
    token_granularity: Annotated[bool, "Chips share a step's tokens evenly, not sequences."] = False
    jitter: Annotated[Exponent, "Noise of a chip's step: deviation of its logarithm."] = 0.0
    site_factor: Annotated[Slowdown, "Multiplier of the whole step, for one site."] = 1.0
    local_runs: Annotated[Tile, "One's own runs behind the constants; 3 narrow intervals."] = 0
    moe_imbalance: Annotated[Multiple, "Busiest rank over the expected busiest."] = 1.0
    even_loads: Annotated[bool, "All experts get as many tokens."] = False
    load_spread: Annotated[Share, "Spread of experts' loads over their mean, beyond chance."] = 0.0
    biased_load_spread: Annotated[Share, "The same where biases of the router balance."] = 0.0

    @property
    def beside_overlap(self) -> float:
        """Share of communication that a pass hides beside one of the opposite direction."""
        return self.dualpipe_overlap

    @property
    def beside_kernels(self) -> float:
        """Rate of products beside such communication, over that without."""
        return self.dualpipe_kernels

    @staticmethod
    def roofline(
        chip: Chip, precision: str = "bf16", *, mfu: float = 1.0, gathers_again: bool = False
    ) -> Assumptions:
        """The simplifications of a textbook: How to Scale Your Model, part 5.

        The model is a stack of two-matrix MLPs that hold all its parameters, so a step takes
        6 x parameters x tokens FLOP; attention, gate and vocabulary are in those parameters only.
        Chips compute at their peak times `mfu`; links carry their full rate, an all-gather its
        whole buffer instead of (g-1)/g, messages have no latency. A pass of a layer lasts as long
        as the longest of computing and the communication of each axis; pipelines have no bubble;
        the tokens of a step divide among chips without regard to sequences. The 10 bytes of state
        per parameter are those of the framework `textbook`.

        Args:
            chip: The chip.
            precision: One of `PRECISIONS`. Messages stay at 16 bits.
            mfu: Share of the peak at which chips compute.
            gathers_again: Whether tensor parallelism gathers a layer's input in the backward pass
                once more (6 B D / X bytes) instead of keeping it (4 B D / X).

        Raises:
            InputError: The chip has no peak rate at that precision.

        Source: Austin et al., How to Scale Your Model, 2025, part 5,
        https://jax-ml.github.io/scaling-book/training.
        """
        rate = peak_flop_per_s(chip, precision) * mfu
        return Assumptions(
            name="roofline",
            matmul_flop_per_s=rate,
            bf16_flop_per_s=rate,
            fused_attention=True,
            attention_flop_per_s=rate,
            bmm_flop_per_s=rate,
            memory_bytes_per_s=chip.memory_bandwidth_bytes_per_s,
            collective_algorithms=("ring",),
            tp_backward=1.5 if gathers_again else 1.0,
            **ALONE,
            **dict.fromkeys(SWITCHED_OFF, 0.0),  # type: ignore[arg-type]
            **dict.fromkeys(WHOLE, 1.0),  # type: ignore[arg-type]
        )

    def base_latency_s(self, *, scale_out: bool, wire_s: float) -> float:
        """Latency of starting a collective on a level: a slow wire counts with its own."""
        if not self.latencies:
            return 0.0
        software_s = self.scale_out_latency_s if scale_out else self.scale_up_latency_s
        return software_s if self.wire_latency else max(software_s, wire_s)

    def hop_latency_s(self, *, scale_out: bool, wire_s: float) -> float:
        """Latency that a ring adds per hop on a level: the wire's, where it is more than fitted."""
        if not self.latencies:
            return 0.0
        if self.wire_latency:
            return wire_s
        return max(self.ring_hop_s, wire_s) if scale_out else self.scale_up_hop_s


def calibrated(
    chip: Chip,
    era: str,
    precision: str = "bf16",
    calibration: Calibration | None = None,
    experts: ExpertSoftware | None = None,
    recipe: str = "",
) -> Assumptions:
    """The constants fitted to published runs, for one chip, software era and precision.

    Args:
        chip: The chip; its record names the calibration keys it uses.
        era: Key of `planner.assumptions.software.ERAS`.
        precision: One of `PRECISIONS`.
        calibration: Another set of constants; default the shipped one.
        experts: How layers with experts run; default as the era has it.
        recipe: How operands are scaled at fp8; default as the era has it.

    Raises:
        InputError: The chip has no peak rate at that precision, or does not run the recipe, or a
            name is unknown.
    """
    constants = calibration or load_calibration()
    software = era_on(era, chip)
    routed = experts or software.experts
    efficiency = constants.value(f"gemm_efficiency.{chip.calibration_gemm}")
    peak16 = _widest_matrix_peak(chip)
    scores = _peak(chip, precision) if precision == "fp32" else peak16
    fused = software.fused_attention and chip.calibration_attention != UNFUSED
    return Assumptions(
        name="calibrated",
        are_fitted=True,
        matmul_flop_per_s=_matmul_peak(chip, precision, constants) * efficiency,
        bf16_flop_per_s=peak16 * efficiency,
        tile_m=chip.gemm_tile[0] if chip.gemm_tile else 0,
        tile_n=chip.gemm_tile[1] if chip.gemm_tile else 0,
        pe_count=chip.pe_count,
        operand_bytes=operand_bytes(precision),
        on_chip_bytes=last_level_bytes(chip),
        fused_attention=fused,
        attention_flop_per_s=scores * attention_efficiency(chip, software, constants),
        bmm_flop_per_s=scores * constants.value("unfused_bmm_efficiency"),
        causal_share=1.0 if chip.calibration_attention == UNMASKED else CAUSAL_SHARE,
        memory_bytes_per_s=chip.memory_bandwidth_bytes_per_s * constants.value("memory_efficiency"),
        adapts_mlp=software.adapts_mlp,
        quantized_bytes=quantized_bytes(chip, precision, recipe or software.fp8_recipe, constants),
        weight_wire_bytes=1.0 if precision == FP8 and software.gathers_quantized else 2.0,
        bucket_bytes=software.bucket_bytes,
        gradient_wire_bytes=software.gradient_wire_bytes,
        splits_p2p=software.splits_p2p,
        hides_gather=software.hides_gather,
        **byte_counts(constants, fused=fused),  # type: ignore[arg-type]
        **expert_constants(routed, chip, precision, constants),  # type: ignore[arg-type]
        **(of_era(software, constants) | of_nccl(chip)),
    )


def last_level_bytes(chip: Chip) -> float:
    """The last memory on a chip that all its PEs share: SRAM, else L2; 0 where unknown."""
    return chip.sram_bytes or chip.l2_bytes or 0.0


def peak_flop_per_s(chip: Chip, precision: str) -> float:
    """Peak of a chip's matrix multiplications at a precision.

    Raises:
        InputError: The chip has no rate at that precision, or it is unknown.
    """
    if precision not in PRECISIONS:
        raise InputError(f"precision: {precision!r} is not one of {', '.join(PRECISIONS)}")
    return _peak(chip, {"mxfp8": "fp8"}.get(precision, precision))


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
    ratio = constants.value(f"precision.{fp8_kind(chip)}")
    if precision == "mxfp8":
        ratio *= constants.value("precision.mxfp8")
    return _peak(chip, "fp8") * ratio
