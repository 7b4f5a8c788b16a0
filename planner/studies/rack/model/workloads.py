"""What a rack computes: einsums, the tensors between them, and how many inputs there are.

The workloads of the two student reports stand here with the dimensions that the reports state or
that their figures imply; where a dimension is inferred, the note of the workload says so.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.base.numerals import is_digits


@dataclass(frozen=True, slots=True, kw_only=True)
class Einsum:
    """A multiplication per input item: `copies` times (rows x inner) @ (inner x outputs).

    Attributes:
        name: Label, unique in its workload.
        rows, inner, outputs: Dimensions for one item of the batch.
        copies: Independent multiplications per item (attention heads).
        has_weights: Whether the second operand holds parameters. Items then share it and stack
            along the rows; else every item has its own multiplications.
        splits_inner: Whether Megatron's tensor parallelism splits the inner dimension instead of
            the outputs.
        input_elements: Distinct elements of the first operand per item; 0: rows x inner x copies.
        inputs: Names of the einsums whose outputs it reads; empty: the input of the workload.
    """

    name: str
    rows: int
    inner: int
    outputs: int
    copies: int = 1
    has_weights: bool = True
    splits_inner: bool = False
    input_elements: int = 0
    inputs: tuple[str, ...] = ()

    @property
    def macs(self) -> int:
        """Multiply-accumulates per item."""
        return self.rows * self.inner * self.outputs * self.copies

    @property
    def weight_elements(self) -> int:
        """Parameters."""
        return self.inner * self.outputs * self.copies if self.has_weights else 0

    @property
    def output_elements(self) -> int:
        """Elements of the result per item."""
        return self.rows * self.outputs * self.copies


@dataclass(frozen=True, kw_only=True)
class Workload:
    """A list of einsums in the order of their execution.

    Attributes:
        name, title, note: Labels; the note says what is stated and what is inferred.
        einsums: What is computed.
        input_elements: Elements of the input per item.
        batch: Items in all; None: one item per data-parallel rank, however many there are.
        word_bytes: Bytes of an activation or weight.
        gradient_bytes: Bytes of a gradient on the wire.
    """

    name: str
    title: str
    einsums: tuple[Einsum, ...]
    input_elements: int
    batch: int | None
    word_bytes: float
    gradient_bytes: float
    note: str = ""

    @cached_property
    def weight_bytes(self) -> float:
        """Bytes of all parameters."""
        return self.word_bytes * sum(einsum.weight_elements for einsum in self.einsums)

    @cached_property
    def macs_per_item(self) -> int:
        """Multiply-accumulates of one item."""
        return sum(einsum.macs for einsum in self.einsums)

    @cached_property
    def producers(self) -> tuple[tuple[int, ...], ...]:
        """For every einsum, the indices of the einsums that it reads from."""
        index = {einsum.name: at for at, einsum in enumerate(self.einsums)}
        return tuple(tuple(index[name] for name in einsum.inputs) for einsum in self.einsums)


def fully_connected(inputs: int = 96, outputs: int = 80) -> Workload:
    """One fully connected layer, one input per chip, 8 bits (report on ZeRO, section IV).

    The report gives no dimensions; 96 x 80 is the size for which its thresholds, its plateau and
    its ratios hold at once (L / T = 240 cycles and 480 cycles on 16 PEs).
    """
    layer = Einsum(name="fc", rows=1, inner=inputs, outputs=outputs)
    return Workload(
        name="fc",
        title=f"fully connected {inputs} -> {outputs}",
        einsums=(layer,),
        input_elements=inputs,
        batch=None,
        word_bytes=1.0,
        gradient_bytes=4.0,
        note="dimensions inferred from the thresholds and the plateau of the report",
    )


def convolution(
    channels_in: int = 16, channels_out: int = 16, kernel: int = 3, size: int = 56
) -> Workload:
    """One convolution of stride 1 with padding, one input per chip, 8 bits.

    As a matrix multiplication: rows = size^2, inner = channels_in x kernel^2, outputs =
    channels_out. The report gives no dimensions; with 16 channels the energy at twelve chips stays
    "just above 100 %".
    """
    layer = Einsum(
        name="conv",
        rows=size * size,
        inner=channels_in * kernel * kernel,
        outputs=channels_out,
        input_elements=channels_in * (size + kernel - 1) ** 2,
    )
    return Workload(
        name="conv",
        title=f"convolution {channels_in} x {channels_out}, {kernel} x {kernel}, {size} x {size}",
        einsums=(layer,),
        input_elements=layer.input_elements,
        batch=None,
        word_bytes=1.0,
        gradient_bytes=4.0,
        note="dimensions chosen: the report gives none",
    )


def feed_forward(tokens: int = 32_768, hidden: int = 4096, width: int = 14_336) -> Workload:
    """The two-layer feed-forward network of Llama-3-8B (report on energy, section III).

    Data parallelism splits token rows. Stated: hidden 4096, sequences of 2048; 16 sequences and
    the width are those of the report's batch limit and of Llama-3-8B.
    """
    up = Einsum(name="up", rows=1, inner=hidden, outputs=width)
    down = Einsum(
        name="down", rows=1, inner=width, outputs=hidden, splits_inner=True, inputs=("up",)
    )
    return Workload(
        name="ffn",
        title=f"feed-forward {hidden} -> {width} -> {hidden}, {tokens:,} tokens",
        einsums=(up, down),
        input_elements=hidden,
        batch=tokens,
        word_bytes=2.0,
        gradient_bytes=4.0,
        note="batch of 16 sequences of 2,048 tokens; width of Llama-3-8B",
    )


def attention(
    batch: int = 16,
    seq_len: int = 2048,
    hidden: int = 4096,
    heads: int = 32,
    kv_heads: int = 8,
) -> Workload:
    """The attention block of Llama-3-8B without softmax (report on energy, section III).

    Six einsums: three projections, scores, weighted values, output. Data parallelism splits
    sequences.
    """
    kind = "attention" if kv_heads < heads else "attention-mha"
    return Workload(
        name=kind,
        title=f"attention, {heads} heads, {kv_heads} of keys and values, "
        f"{batch} x {seq_len:,} tokens",
        einsums=_attention_einsums(seq_len, hidden, heads, kv_heads),
        input_elements=seq_len * hidden,
        batch=batch,
        word_bytes=2.0,
        gradient_bytes=4.0,
        note="softmax left out, as in the report; batch of 16 sequences",
    )


def _attention_einsums(seq_len: int, hidden: int, heads: int, kv_heads: int) -> tuple[Einsum, ...]:
    """The six einsums of one sequence."""
    head = hidden // heads

    def projection(name: str, outputs: int) -> Einsum:
        return Einsum(name=name, rows=seq_len, inner=hidden, outputs=outputs)

    def by_head(name: str, inner: int, outputs: int, inputs: tuple[str, ...]) -> Einsum:
        return Einsum(
            name=name, rows=seq_len, inner=inner, outputs=outputs, copies=heads,
            has_weights=False, inputs=inputs,
        )  # fmt: skip

    return (
        projection("query", hidden),
        projection("key", kv_heads * head),
        projection("value", kv_heads * head),
        by_head("scores", head, seq_len, ("query", "key")),
        by_head("values", seq_len, head, ("scores", "value")),
        replace(projection("output", hidden), splits_inner=True, inputs=("values",)),
    )


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "fc": fully_connected,
    "conv": convolution,
    "ffn": feed_forward,
    "attention": attention,
    "attention-mha": lambda: attention(kv_heads=32),
}
"""Makers of the named workloads."""
SIZES: dict[str, tuple[Callable[..., Workload], str]] = {
    "fc": (fully_connected, "INPUTSxOUTPUTS"),
    "conv": (convolution, "INxOUTxKERNELxSIZE"),
    "ffn": (feed_forward, "TOKENSxHIDDENxWIDTH"),
    "attention": (attention, "SEQUENCESxTOKENSxHIDDEN"),
}
"""Those whose sizes may follow their name, `fc:96x80`: their makers, and which sizes."""
_HEADS = 32


def workload_named(name: str) -> Workload:
    """A workload of `WORKLOADS`, or one of `SIZES` with its sizes.

    Raises:
        InputError: There is none of that name, or its sizes are no sizes.
    """
    kind, colon, text = name.partition(":")
    if not colon:
        if name not in WORKLOADS:
            raise InputError(f"workload: {not_one_of(name, sorted(WORKLOADS))}")
        return WORKLOADS[name]()
    if kind not in SIZES:
        raise InputError(f"workload: with sizes, {not_one_of(kind, sorted(SIZES))}")
    make, form = SIZES[kind]
    sizes = [int(part) for part in text.split("x") if is_digits(part) and len(part) < 10]
    if len(sizes) != form.count("x") + 1 or text.count("x") != form.count("x") or min(sizes) < 1:
        raise InputError(f"workload: {shown(name)}: write {kind}:{form} in whole numbers from 1")
    if kind == "attention" and sizes[-1] % _HEADS:
        near = max(round(sizes[-1] / _HEADS), 1) * _HEADS
        raise InputError(
            f"workload: {shown(name)}: {sizes[-1]:,} is no multiple of the {_HEADS} heads; "
            f"nearest: {near:,}"
        )
    return replace(make(*sizes), name=name, note="sizes as asked")
