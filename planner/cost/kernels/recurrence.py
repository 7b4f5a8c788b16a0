"""Recurrences in place of attention: FLOP, bytes and seconds of one mixer on one chip.

Projections are matrix products like others (`planner.cost.kernels.linears`); here stand the scan
between them, in chunks of tokens, and the element-wise work around it. Everything is per head, and
heads are divided by tp with their groups of keys (Megatron-LM, core/ssm/mamba_mixer.py).
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from models_db import Recurrence
from models_db.recurrence import GATED_DELTA, KIMI_DELTA, MAMBA
from planner.assumptions.assumptions import Assumptions
from planner.base.arrays import FloatArray, IntArray

WHY_NOT = {
    MAMBA: "the scan of Mamba-1 runs element by element, at a rate that nothing here measures",
}
"""Kinds whose cost is not modelled; others are matrix products in chunks, or have no scan."""

_STATE_BYTES = 4.0  # states between chunks are kept in 32 bits
_READ_AND_WRITTEN = 3.0
"""Times that values cross memory: read for the states and for the output, which is written."""
_READ = 4.0
"""Times that rows as wide as all keys do: keys for the scores and the states, queries for the
scores and the output (B and C: mamba_ssm, ops/triton/ssd_combined.py, `_bmm_chunk_fwd`,
`_chunk_state_fwd`, `_chunk_scan_fwd`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """One mixer, per token and before it is divided by tp.

    Attributes:
        projections: Inputs and outputs of its matrices; the last is the output projection.
        flop: FLOP of the scan forward; `again` those that the backward pass runs again.
        moved: Bytes of the scan forward between chip and memory.
        elementwise: Bytes of convolution, gate and norm, unfused factors not counted.
        kept: Bytes that the backward pass needs.
        working: Bytes of the states that it makes again, of one layer at a time.
        heads, key_heads: What tp must divide.
    """

    projections: tuple[tuple[int, int], ...]
    flop: float
    again: float
    moved: float
    elementwise: float
    kept: float
    working: float
    heads: int
    key_heads: int


def scan_of(mixer: Recurrence, hidden: int) -> Scan:
    """What one mixer takes; see `ssd_flop`, `delta_flop` and `_kept_bytes`."""
    flop, again = 0.0, 0.0
    states = 0.0
    if mixer.key_dim:
        states = _STATE_BYTES * mixer.inner * mixer.key_dim / mixer.chunk
        flop, again = delta_flop(mixer) if _is_delta(mixer) else ssd_flop(mixer)
    values, keys = 2.0 * mixer.inner, 2.0 * mixer.keys
    passed = _READ_AND_WRITTEN * values + _READ * keys if mixer.key_dim else 0.0
    return Scan(
        projections=mixer.projections(hidden),
        flop=flop,
        again=again,
        moved=passed + 4.0 * states,
        elementwise=4.0 * mixer.convolved + 3.0 * values,
        kept=_kept_bytes(mixer, hidden),
        working=states,
        heads=mixer.heads,
        key_heads=mixer.key_heads or mixer.heads,
    )


def _is_delta(mixer: Recurrence) -> bool:
    return mixer.kind in (GATED_DELTA, KIMI_DELTA)


def ssd_flop(mixer: Recurrence) -> tuple[float, float]:
    """Forward FLOP per token of a scan by block decomposition, and what backward runs again.

    With H heads of P values, G groups of keys of N, and chunks of Q tokens:

        within chunks     2 G Q N (keys with queries) + 2 H Q P (with values)
        states            2 H N P into them, 2 H N P / Q from chunk to chunk, 2 H N P out of them

    The causal half is not taken off: a chunk is one tile. Backward makes keys with queries and
    states again. Lightning attention is the same with a group per head. Sources: Dao and Gu 2024,
    arXiv:2405.21060, section 6 and listing 1; mamba_ssm, ops/triton/ssd_combined.py,
    `_mamba_chunk_scan_combined_bwd`; arXiv:2501.08313, section 2.2.
    """
    states = float(mixer.inner * mixer.key_dim)
    scores = 2.0 * mixer.keys * mixer.chunk
    within = scores + 2.0 * mixer.inner * mixer.chunk
    flop = within + 4.0 * states + 2.0 * states / mixer.chunk
    return flop, scores + 2.0 * states


def delta_flop(mixer: Recurrence) -> tuple[float, float]:
    """The same of the gated delta rule.

    In chunks of C tokens, per head with keys of K and values of V:

        within chunks     2 C K three times (keys with keys, T with keys, queries with keys)
                          2 C V twice (T with values, scores with new values)
                          C^2 / 3 (the inverse T of a unit triangular matrix)
        states            2 K V three times (keys and queries with the state, keys with new values)

    Backward makes T's products, the states, and keys with queries and with keys again, and takes
    the gradient of the inverse by two products of 2 C^2 (in place of twice what the inverse took).
    Keys are repeated over the heads that they serve. Sources: Yang et al. 2024, arXiv:2412.06464,
    section 3.3; arXiv:2406.06484, section 3.2; flash-linear-attention bc3b101, fla/ops:
    gated_delta_rule/chunk.py, `chunk_gated_delta_rule_bwd`; its wy_fast.py, `prepare_wy_repr_bwd`;
    common/chunk_o.py, `chunk_bwd_dv_local`.
    """
    heads, chunk = mixer.heads, mixer.chunk
    key, value = mixer.key_dim, mixer.head_dim
    inverse = chunk * chunk / 3
    within = 2.0 * chunk * (3 * key + 2 * value) + inverse
    again = 2.0 * chunk * (3 * key + value) + 4.0 * key * value
    again += 4.0 * chunk * chunk - 2.0 * inverse
    return heads * (within + 6.0 * key * value), heads * again


def _kept_bytes(mixer: Recurrence, hidden: int) -> float:
    """Bytes per token that backward needs, in 16 bits.

    Mamba-2 keeps what its input projection gives and the output of the scan, and makes the rest
    again (mamba_ssm, ops/triton/ssd_combined.py, `MambaSplitConv1dScanCombinedFn`); the delta rule
    also queries, keys and values after the convolution and C elements of T per head (fla,
    `ChunkGatedDeltaRuleFunction`). The gated norm keeps its input, the output projection its own.
    """
    projected = 2.0 * sum(outputs for inputs, outputs in mixer.projections(hidden)[:-1] if inputs)
    kept = projected + 4.0 * mixer.inner
    if _is_delta(mixer):
        kept += 2.0 * (mixer.inner + 2 * mixer.keys) + 2.0 * mixer.heads * mixer.chunk
    return kept


@dataclass(frozen=True, slots=True)
class ScanSeconds:
    """Arithmetic, memory and element-wise seconds of one mixer on one chip."""

    forward: FloatArray
    backward: FloatArray
    forward_memory: FloatArray
    backward_memory: FloatArray


def scan_s(
    a: Assumptions, scan: Scan, tokens: FloatArray, tp: IntArray, *, clock: FloatArray
) -> ScanSeconds:
    """Seconds of the scan and of the element-wise work of one mixer.

    Products of chunks run at the rate of batched products, backward twice as many and those that
    are run again; every tensor crosses memory once forward, and backward twice and once more for
    its gradient. That a scan reaches this rate is assumed: no row of the calibration has one.

    Args:
        a: Rates and byte counts.
        scan: The mixer.
        tokens: Tokens on the chip.
        tp: Degree by which heads are divided.
        clock: Relative clock.
    """
    rate = a.bmm_flop_per_s
    share = tokens / tp
    forward = scan.flop * share / rate / clock
    backward = (2.0 * scan.flop + scan.again) * share / rate / clock
    scanned = scan.moved * share / a.memory_bytes_per_s + np.zeros(forward.shape)
    around = a.elementwise * scan.elementwise * share / a.memory_bytes_per_s
    return ScanSeconds(
        forward=forward,
        backward=backward,
        forward_memory=scanned + around,
        backward_memory=3.0 * scanned + a.elementwise_backward * around,
    )
