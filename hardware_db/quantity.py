"""A number together with its unit, how it is known and where it comes from."""

from __future__ import annotations

from frozen_records import dataclass

KINDS = ("datasheet", "measured", "derived", "assumed")
"""How a number is known: printed by the vendor; measured by someone; arithmetic on other numbers
or a fit to measurements; estimated or recalled (then a note says how)."""

UNITS = (
    "1", "chip", "FLOP/s", "FLOP/cycle", "Hz", "B", "B/s", "bit/s", "s", "W", "J", "J/B", "J/FLOP",
    "J/MAC", "J/op", "B/element", "B/parameter", "B/FLOP", "m2", "USD/h",
    "USD/kWh",
)  # fmt: skip
"""Units that data files may use: SI base units without prefixes; "1" is a pure number. Prices have
those of price lists."""

Value = float | int | tuple[float | int, ...] | tuple[tuple[float | int, ...], ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A public document that a number comes from.

    Attributes:
        key: Name used by the quantities of the same file.
        title: Title of the document.
        reference: URL, DOI, arXiv id, or the place in this project that explains the number.
        accessed: Date (ISO) at which it was read, or empty.
    """

    key: str
    title: str
    reference: str
    accessed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Quantity:
    """A number with its provenance.

    Attributes:
        value: A number, a vector, a table of numbers, or None where nothing is published.
        unit: One of `UNITS`.
        kind: One of `KINDS`.
        sources: Keys of the sources, in the `sources` of the record that holds the quantity.
        note: Caveats; how an assumed number was obtained.
        uncertainty: Standard deviation of a fitted number over the number; None: not stated.
        rows: Measurements that a fitted number rests on; None: not stated.
    """

    value: Value
    unit: str
    kind: str
    sources: tuple[str, ...] = ()
    note: str = ""
    uncertainty: float | None = None
    rows: int | None = None

    @property
    def number(self) -> float:
        """The value of a scalar quantity as a float; NaN where it is not published.

        Raises:
            TypeError: The quantity is a vector or a table.
        """
        if self.value is None:
            return float("nan")
        if isinstance(self.value, tuple):
            raise TypeError("a vector has no single number")
        return float(self.value)
