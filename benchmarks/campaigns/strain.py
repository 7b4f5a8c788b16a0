"""Damage that strains what reads a file: much of the same or of the like, nesting, odd archives.

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
_NUMBERED = (
    b"A#=#\n", b"A#=$A#\n", b"A+=(--x# #)\n", b"A[#]=#\n", b"if [ $X# = 1 ]; then A#=1; fi\n",
    b"case $X in #) A#=1;; *) A#=2;; esac\n", b"elif [ $X = # ]; then A=#\n", b"#) A#=1;;\n",
    b"f#() { A#=1; }\n", b"for i in $X#; do A#=1; done\n", b"[ -f x# ] && A#=1\n", b"--x# #\n",
    b"k#: #\n", b"k# = #\n", b"k#,", b'"k#": #, ', b"- {k#: #}\n", b"<g# a#=\"#\"/>", b"# #\n",
)  # fmt: skip
"""Pieces with a counter in the place of each `#`."""
_PAIRS = (
    (b"[", b"]"), (b'{"a": ', b"}"), (b"(", b")"), (b"<g>", b"</g>"), (b"{a: ", b"}"), (b"- ", b""),
    (b"$(", b")"), (b"[[", b"]]"), (b"&a [", b"]"),
)  # fmt: skip
_CENTRAL = b"PK\x01\x02"


def strained(content: bytes, random: Random) -> bytes:
    """A file with one place that strains its reader; of an archive, half the time a member."""
    if content[:2] == b"PK" and random.random() < 0.5:
        return members(content, random)
    return random.choice((numbered, repeated, repeated, nested))(content, random)


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


def numbered(content: bytes, random: Random) -> bytes:
    """A line or a short piece, many times, each with another number in it: names that differ."""
    piece = random.choice(_NUMBERED)
    lines = [line for line in content.splitlines(keepends=True) if re.search(rb"\w", line)]
    if lines and random.random() < 0.5:
        line = random.choice(lines)[:2000].replace(b"#", b"")
        at = random.choice([found.end() for found in re.finditer(rb"\w+", line)] or [0])
        piece = line[:at] + b"#" + line[at:]
    times = max(1, min(random.choice(TIMES), _LONGEST // (len(piece) + 5 * piece.count(b"#"))))
    many = b"".join(piece.replace(b"#", b"%d" % number) for number in range(times))
    at = random.choice((0, len(content), max(0, content.find(b"\n") + 1)))
    return content[:at] + many + content[at:]


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
