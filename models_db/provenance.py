"""A number with its unit, kind and source; a source; a row of a listing."""

from __future__ import annotations

from typing import NamedTuple

from frozen_records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A document: a public one, or a file of the user's own.

    Attributes:
        title: what it is called, with the table or file that holds the figure.
        url: where it is (https), or None for a file of the user's own.
        sha256: SHA-256 of a file, in hexadecimal, or None.
        accessed: ISO date of the look-up, or None.
    """

    title: str
    url: str | None = None
    sha256: str | None = None
    accessed: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A whole number with its provenance.

    Attributes:
        value: the number, in `unit`.
        unit: "1" (a count or a width), "tokens" or "parameters".
        kind: "datasheet" (the publisher states it), "measured", "derived" (computed from other
            figures; the note says how) or "assumed" (unconfirmed; the note says why).
        sources: keys of the sources of the same file.
        note: what a reader should know, or "".
        uncertainty: half of the interval that a rounded figure stands for, in `unit`;
            0 where the figure is exact.
    """

    value: int
    unit: str
    kind: str
    sources: tuple[str, ...]
    note: str = ""
    uncertainty: int = 0


class Fact(NamedTuple):
    """One row of `describe`: a number of a model and where it comes from.

    Attributes:
        path: dotted path in the model's file, such as "attention.kv_lora_rank"; paths that begin
            with "counted." are computed from the others.
        value: the number, in `unit`.
        unit: "1", "tokens" or "parameters".
        kind: "datasheet", "measured", "derived" or "assumed".
        sources: titles of the sources.
        note: what a reader should know, or "".
    """

    path: str
    value: int
    unit: str
    kind: str
    sources: tuple[str, ...]
    note: str
