"""Mixers that carry a state from token to token in place of attention, and their parameters."""

from __future__ import annotations

from frozen_records import dataclass

MAMBA2 = "mamba2"
GATED_DELTA = "gated-delta"
KIMI_DELTA = "kimi-delta"
LIGHTNING = "lightning"
MAMBA = "mamba"
SHORT_CONVOLUTION = "short-convolution"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A mixer whose cost grows with the sequence, not with its square.

    Keys and queries of linear attention are B and C of a state-space model, its values are the
    inputs x (Dao and Gu 2024, arXiv:2405.21060, section 4).

    Attributes:
        kind: "mamba2" (arXiv:2405.21060), "gated-delta" (gated delta rule, arXiv:2412.06464),
            "kimi-delta" (the same with a decay per channel, arXiv:2510.26692), "lightning" (linear
            attention with fixed decays, arXiv:2501.08313), "mamba" (arXiv:2312.00752) or
            "short-convolution" (gated, arXiv:2511.23404).
        heads: heads of the values; the channels of "mamba" and "short-convolution" are heads of
            width 1.
        head_dim: width of one of them.
        key_heads: heads, or groups, of keys and queries; each serves heads / key_heads heads.
        key_dim: width of a key, which is the size of the state per channel of the values; 0 without
            a state.
        kernel: taps of the convolution over tokens; 0 without one.
        rank: rank of the projection to the step width ("mamba") or to the two gates ("kimi-delta");
            0: projected at full rank.
        bias: which parts have a bias: some of "input", "convolution", "output".
        norm: "none"; "full-width" (one weight per channel of the values); "per-head" (one weight
            per channel of a head, the same for all); "inputs" (of step, keys and queries: "mamba").
        chunk: tokens that are worked through as one matrix product.
    """

    kind: str
    heads: int
    head_dim: int
    key_heads: int
    key_dim: int
    kernel: int
    rank: int
    bias: tuple[str, ...]
    norm: str
    chunk: int

    @property
    def inner(self) -> int:
        """Channels of the values."""
        return self.heads * self.head_dim

    @property
    def keys(self) -> int:
        """Channels of the keys; the queries have as many."""
        return self.key_heads * self.key_dim

    @property
    def convolved(self) -> int:
        """Channels that the convolution runs over."""
        if self.kernel == 0:
            return 0
        return self.inner + (2 * self.keys if self.kind in _CONVOLVES_KEYS else 0)

    def projections(self, hidden: int) -> tuple[tuple[int, int], ...]:
        """Inputs and outputs of every matrix that multiplies a token.

        Args:
            hidden: width of the residual stream.

        Sources: modeling_mamba, _mamba2, _qwen3_next, _kimi_linear, _minimax and _lfm2 of
        transformers 5.23.0, the classes of their mixers.
        """
        inner, keys, heads = self.inner, self.keys, self.heads
        if self.kind == MAMBA2:  # gate, values, keys, queries, step widths
            into = [(hidden, 2 * inner + 2 * keys + heads)]
        elif self.kind == GATED_DELTA:  # queries, keys, values, gate; step widths and decays
            into = [(hidden, 2 * keys + 2 * inner), (hidden, 2 * heads)]
        elif self.kind == KIMI_DELTA:  # queries, keys, values; step widths; decays and gate
            into = [(hidden, 2 * keys + inner), (hidden, heads)]
            for gate in (keys, inner):
                into += [(hidden, self.rank), (self.rank, gate)] if self.rank else [(hidden, gate)]
        elif self.kind == LIGHTNING:  # queries, keys, values, gate
            into = [(hidden, 2 * keys + 2 * inner)]
        elif self.kind == MAMBA:  # gate and values; step, keys and queries; step widths
            step = [(inner, self.rank + 2 * self.key_dim), (self.rank, inner)]
            into = [(hidden, 2 * inner), *step]
        else:  # two gates and values
            into = [(hidden, 3 * inner)]
        return (*into, (inner, hidden))

    def vectors(self, hidden: int) -> int:
        """Parameters that are no matrix: convolution, decays, steps, skips, norm and biases.

        Args:
            hidden: width of the residual stream.
        """
        own = {
            MAMBA2: 3 * self.heads,  # decay, skip and step bias of each head
            GATED_DELTA: 2 * self.heads,  # decay and step bias
            KIMI_DELTA: self.heads + self.keys,  # decay of a head, step bias of each key channel
            MAMBA: self.inner * (self.key_dim + 2),  # decays, skips and step biases
        }.get(self.kind, 0)
        norms = {
            "full-width": self.inner,
            "per-head": self.head_dim,
            "inputs": self.rank + 2 * self.key_dim,
        }.get(self.norm, 0)
        width = {
            "input": self.projections(hidden)[0][1],
            "convolution": self.convolved,
            "output": hidden,
        }
        return own + norms + self.convolved * self.kernel + sum(width[part] for part in self.bias)

    def parameters(self, hidden: int) -> int:
        """All parameters of one mixer.

        Args:
            hidden: width of the residual stream.
        """
        matrices = sum(inputs * outputs for inputs, outputs in self.projections(hidden))
        return matrices + self.vectors(hidden)


_CONVOLVES_KEYS = (MAMBA2, GATED_DELTA, KIMI_DELTA)
