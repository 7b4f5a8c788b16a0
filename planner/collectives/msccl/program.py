"""An algorithm for the MSCCL runtime: its parts, its XML, and the limits of the runtime.

A GPU runs thread blocks at once, each its instructions in order. A thread block may send to one
peer and receive from one, on one channel; what is sent over a connection (sender, receiver,
channel) arrives in order. An instruction may wait until another thread block of its GPU has done
one that signals. Chunks lie in the buffers i (input), o (output) and s (scratch).

Source: github.com/microsoft/msccl, src/graph/topo.cc (attributes and checks), src/graph/xml.h and
src/include/msccl.h (limits), src/collectives/device/msccl_interpreter.h (what instructions do).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from xml.etree import ElementTree
from xml.sax.saxutils import quoteattr

from frozen_records import dataclass
from planner.base.errors import InputError
from planner.base.messages import not_one_of, shown
from planner.base.numerals import is_digits

NAME_CHARACTERS = 63
PROTOCOLS = ("Simple", "LL", "LL128")
COLLECTIVES = {
    "allgather": "allgather", "reduce-scatter": "reduce_scatter", "allreduce": "allreduce",
    "broadcast": "broadcast", "reduce": "reduce", "alltoall": "alltoall", "gather": "custom",
    "scatter": "custom",
}  # fmt: skip
"""The name of each collective in the XML."""
RECEIVES = ("r", "rcs", "rrs", "rrc", "rrcs")
SENDS = ("s", "rcs", "rrs", "rrcs")
REDUCES = ("rrs", "rrc", "rrcs", "re")
KINDS = ("s", "r", "rcs", "rrs", "rrc", "rrcs", "cpy", "re", "nop")
NOTES = ("collective", "topology", "root", "rounds", "local_reduce")
"""Attributes of `algo` that the runtime does not know and leaves alone."""
MOST_NOTE = 250
"""Characters of an attribute; from 255 the runtime reads no further."""

Place = tuple[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruction:
    """One `step` of a thread block.

    Attributes:
        kind: One of `KINDS`.
        src, dst: Buffer and offset of the first chunk; an offset of -1 is none.
        count: Chunks that lie behind one another.
        waits_for: Thread block and instruction that must be done before; None: it waits for none.
        signals: Others may wait for it.
    """

    kind: str
    src: Place = ("i", -1)
    dst: Place = ("o", -1)
    count: int = 1
    waits_for: tuple[int, int] | None = None
    signals: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ThreadBlock:
    """One `tb`: its peers (-1: none), its channel, its instructions in order."""

    send: int
    recv: int
    channel: int
    steps: tuple[Instruction, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gpu:
    """One `gpu`: the chunks of its three buffers and its thread blocks by number."""

    input_chunks: int
    output_chunks: int
    scratch_chunks: int
    blocks: tuple[ThreadBlock, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One `algo`.

    Attributes:
        name: At most `NAME_CHARACTERS` characters.
        collective: As the XML names it, see `COLLECTIVES`.
        protocol: One of `PROTOCOLS`.
        channels: Channels in all.
        chunks_per_loop: Chunks of the larger of input and output.
        in_place: Input and output are one memory.
        min_bytes, max_bytes: Sizes that it is used for: min <= size < max.
        gpus: By rank.
        notes: Further attributes, see `NOTES`.
    """

    name: str
    collective: str
    protocol: str
    channels: int
    chunks_per_loop: int
    in_place: bool
    min_bytes: int
    max_bytes: int
    gpus: tuple[Gpu, ...]
    notes: dict[str, str] = field(default_factory=dict)

    @property
    def members(self) -> int:
        """Number of GPUs."""
        return len(self.gpus)


def to_xml(program: Program) -> str:
    """The XML of a program, without a header, which the runtime does not read."""
    head = {
        "name": program.name, "proto": program.protocol, "nchannels": program.channels,
        "nchunksperloop": program.chunks_per_loop, "ngpus": program.members,
        "coll": program.collective, "inplace": int(program.in_place),
        "minBytes": program.min_bytes, "maxBytes": program.max_bytes, **program.notes,
    }  # fmt: skip
    lines = [f"<algo{_attributes(head)}>"]
    for rank, gpu in enumerate(program.gpus):
        buffers = {
            "id": rank, "i_chunks": gpu.input_chunks, "o_chunks": gpu.output_chunks,
            "s_chunks": gpu.scratch_chunks,
        }  # fmt: skip
        lines.append(f"  <gpu{_attributes(buffers)}>")
        for number, block in enumerate(gpu.blocks):
            ends = {"id": number, "send": block.send, "recv": block.recv, "chan": block.channel}
            lines.append(f"    <tb{_attributes(ends)}>")
            lines += [f"      <step{_step(s, step)}/>" for s, step in enumerate(block.steps)]
            lines.append("    </tb>")
        lines.append("  </gpu>")
    return "\n".join([*lines, "</algo>", ""])


def _attributes(values: Mapping[str, object]) -> str:
    return "".join(f" {name}={quoteattr(str(value))}" for name, value in values.items())


def _step(number: int, step: Instruction) -> str:
    block, awaited = step.waits_for or (-1, -1)
    return _attributes(
        {
            "s": number,
            "type": step.kind,
            "srcbuf": step.src[0],
            "srcoff": step.src[1],
            "dstbuf": step.dst[0],
            "dstoff": step.dst[1],
            "cnt": step.count,
            "depid": block,
            "deps": awaited,
            "hasdep": int(step.signals),
        }
    )


def from_xml(text: str, name: str) -> Program:
    """Read a program.

    Args:
        text: The XML.
        name: What messages call the file.

    Raises:
        InputError: It is no XML, or an element lacks what the runtime needs; the first mistake.
    """
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise InputError(f"{name}: declares a document type, which an MSCCL file has none of")
    try:
        root = ElementTree.fromstring(text)  # noqa: S314  (no entities, see above)
    except ElementTree.ParseError as error:
        line, _ = error.position
        reason = str(error).partition(":")[0]
        raise InputError(f"{name}: line {line}: not valid XML: {reason}") from error
    if root.tag != "algo":
        raise InputError(f"{name}: starts with <{root.tag[:60]}>, an MSCCL file with <algo>")
    try:
        return _program(root)
    except _MistakeError as error:
        raise InputError(f"{name}: {error}") from error


class _MistakeError(ValueError):
    """A value that cannot stand where it is."""


def _program(root: ElementTree.Element) -> Program:
    where = "algo"
    gpus = [element for element in root if element.tag == "gpu"]
    members = _number(root, "ngpus", where, least=1)
    ranks = [_number(gpu, "id", f"gpu {at}") for at, gpu in enumerate(gpus)]
    if members != len(ranks) or ranks != list(range(len(ranks))):
        raise _MistakeError(f"ngpus is {members}, so the gpu elements are 0 to {members - 1}")
    return Program(
        name=_text(root, "name", where),
        collective=_word(root, "coll", where, sorted(set(COLLECTIVES.values()))),
        protocol=_word(root, "proto", where, PROTOCOLS),
        channels=_number(root, "nchannels", where, least=1),
        chunks_per_loop=_number(root, "nchunksperloop", where, least=1),
        in_place=bool(_number(root, "inplace", where)),
        min_bytes=_number(root, "minBytes", where, default=0),
        max_bytes=_number(root, "maxBytes", where, default=2**27),
        gpus=tuple(_gpu(element, f"gpu {rank}", members) for rank, element in enumerate(gpus)),
        notes={note: root.attrib[note] for note in NOTES if note in root.attrib},
    )


def _gpu(element: ElementTree.Element, where: str, members: int) -> Gpu:
    blocks = {}
    for at, tb in enumerate(one for one in element if one.tag == "tb"):
        number = _number(tb, "id", f"{where}: tb {at}")
        if number in blocks:
            raise _MistakeError(f"{where}: tb {number} stands twice")
        blocks[number] = _block(tb, f"{where}: tb {number}", members)
    if sorted(blocks) != list(range(len(blocks))):
        raise _MistakeError(f"{where}: its {len(blocks)} tb elements are not numbered from 0")
    return Gpu(
        input_chunks=_number(element, "i_chunks", where, least=0),
        output_chunks=_number(element, "o_chunks", where, least=0),
        scratch_chunks=_number(element, "s_chunks", where, least=0),
        blocks=tuple(blocks[number] for number in range(len(blocks))),
    )


def _block(tb: ElementTree.Element, where: str, members: int) -> ThreadBlock:
    send, recv = (_number(tb, word, where) for word in ("send", "recv"))
    if not -1 <= min(send, recv) <= max(send, recv) < members:
        raise _MistakeError(f"{where}: send and recv are -1 or GPUs 0 to {members - 1}")
    steps = []
    for at, element in enumerate(one for one in tb if one.tag == "step"):
        step = _instruction(element, f"{where}: step {at}")
        if _number(element, "s", f"{where}: step {at}") != at:
            raise _MistakeError(f"{where}: its steps are not numbered from 0 in order")
        for kinds, peer, word in ((SENDS, send, "send"), (RECEIVES, recv, "recv")):
            if step.kind in kinds and peer < 0:
                raise _MistakeError(f"{where}: step {at} is {step.kind}, but {word} is -1")
        steps.append(step)
    channel = _number(tb, "chan", where)
    return ThreadBlock(send=send, recv=recv, channel=channel, steps=tuple(steps))


def _instruction(element: ElementTree.Element, where: str) -> Instruction:
    places = [
        (_word(element, f"{end}buf", where, "ios"), _number(element, f"{end}off", where))
        for end in ("src", "dst")
    ]
    block, step = (_number(element, word, where) for word in ("depid", "deps"))
    return Instruction(
        kind=_word(element, "type", where, KINDS),
        src=places[0],
        dst=places[1],
        count=_number(element, "cnt", where, least=0),
        waits_for=(block, step) if block >= 0 else None,
        signals=bool(_number(element, "hasdep", where)),
    )


def _text(element: ElementTree.Element, name: str, where: str) -> str:
    if name not in element.attrib:
        raise _MistakeError(f"{where}: {name} is missing")
    return element.attrib[name]


def _word(element: ElementTree.Element, name: str, where: str, allowed: object) -> str:
    value = _text(element, name, where)
    words = list(allowed)  # type: ignore[call-overload]
    if value not in words:
        raise _MistakeError(f"{where}: {name}: {not_one_of(value, words)}")
    return value


def _number(
    element: ElementTree.Element,
    name: str,
    where: str,
    *,
    least: int = -1,
    default: int | None = None,
) -> int:
    if default is not None and name not in element.attrib:
        return default
    text = _text(element, name, where).strip()
    if len(text) > 18 or not is_digits(text.removeprefix("-")):
        raise _MistakeError(f"{where}: {name}: {shown(text)} is not a whole number")
    if int(text) < least:
        raise _MistakeError(f"{where}: {name}: {text} must be at least {least}")
    return int(text)
