"""Damage that strains what reads a file: much of the same, deep nesting, archives with odd members.

Each function takes a `random.Random`, so that a seed says what it does.
"""

from __future__ import annotations

import io
import re
import zipfile
from random import Random

TIMES = (28, 300, 5000, 20_000)
_LONGEST = 400_000
"""Bytes that are put into a file at most: files of a megabyte have the limits of inputs."""
_SHORT = (b"<!---->", b"\n", b" ", b"1", b"srun ", b"(", b"|", b"\\", b"a,", b"0 1\n", b"# \n")
_PAIRS = (
    (b"[", b"]"), (b'{"a": ', b"}"), (b"(", b")"), (b"<g>", b"</g>"), (b"{a: ", b"}"), (b"- ", b""),
    (b"$(", b")"), (b"[[", b"]]"), (b"&a [", b"]"),
)  # fmt: skip
_CENTRAL = b"PK\x01\x02"


def strained(content: bytes, random: Random) -> bytes:
    """A file with one place that strains its reader; of an archive, half the time a member."""
    if content[:2] == b"PK" and random.random() < 0.5:
        return members(content, random)
    return random.choice((repeated, repeated, nested))(content, random)


def repeated(content: bytes, random: Random) -> bytes:
    """A line, a word or a short piece, many times; half the time another character behind it."""
    pieces = random.choice(
        (content.splitlines(keepends=True), re.findall(rb"\S+\s*", content), [*_SHORT])
    )
    piece = (random.choice(pieces) if pieces else b" ")[:2000]
    times = max(1, min(random.choice(TIMES), _LONGEST // len(piece)))
    at = random.choice((0, max(0, content.find(piece)), random.randint(0, len(content))))
    after = random.choice((content[at:], b" x", b"!\n" + content[at:], b""))
    return content[:at] + piece * times + after


def nested(content: bytes, random: Random) -> bytes:
    """Something in brackets within brackets, closed or not."""
    opening, closing = random.choice(_PAIRS)
    times = min(random.choice(TIMES), _LONGEST // len(opening + closing))
    at = random.randint(0, len(content))
    end = random.choice((at, random.randint(at, len(content))))
    middle = content[at:end] + closing * times * random.randint(0, 1)
    return content[:at] + opening * times + middle + content[end:]


def members(content: bytes, random: Random) -> bytes:
    """An archive whose directory lies of a member, or that has others."""
    if random.random() < 0.5:
        return _lying(content, random)
    made, method = io.BytesIO(), random.choice((0, 8, 12, 14))  # stored, deflate, bzip2, LZMA
    with zipfile.ZipFile(io.BytesIO(content)) as old, zipfile.ZipFile(made, "w", method) as new:
        for name in old.namelist():
            text = old.read(name)
            action = random.choice(("keep", "keep", "drop", "empty", "zeros", "twice", "outside"))
            if action == "drop":
                continue
            if action in ("empty", "zeros"):
                text = bytes((action == "zeros") * 10**6)
            if action == "twice" and text:
                text = text * min(20, _LONGEST // len(text) + 1)
            new.writestr(f"../{name}" if action == "outside" else name, text)
    content = made.getvalue()
    return _lying(content, random) if random.random() < 0.3 else content


_FIELDS = {8: 2, 10: 2, 16: 4, 20: 4, 24: 4, 28: 2, 30: 2, 42: 4}
"""Offsets in an entry of the directory with their lengths: flags (of which one is encryption),
method, sum, sizes, lengths of name and extra, place of the member."""


def _lying(content: bytes, random: Random) -> bytes:
    """Another value in a field of an entry of the directory, or in the data before it."""
    entries = [found.start() for found in re.finditer(re.escape(_CENTRAL), content)]
    if not entries or random.random() < 0.3:
        at = random.randrange(len(content))
        return content[:at] + bytes([random.randrange(256)]) + content[at + 1 :]
    offset = random.choice([*_FIELDS])
    at, length = random.choice(entries) + offset, _FIELDS[offset]
    value = random.choice((0, 1, 9, 12, 14, 98, 99, 0xFFFF, random.getrandbits(8 * length)))
    return content[:at] + value.to_bytes(4, "little")[:length] + content[at + length :]
