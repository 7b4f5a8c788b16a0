"""Published prices that a question takes by name: of chips per hour, of electricity per kWh.

They fill `price_per_chip_hour` and `electricity_price`; nothing has a price by itself. Figures,
dates and sources: `hardware_db/data/reference/prices.yaml`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

from frozen_records import dataclass
from hardware_db import load_reference
from planner.base.units import plain

FILLS = {"chip-hour": "price_per_chip_hour", "kWh": "electricity_price"}
"""What a price is per, to the field of the question that it fills."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """A published price.

    Attributes:
        name: As it is asked for.
        what: Is sold, where and to whom.
        chip: Of whose hours, as records name it; empty: of electricity.
        per: `chip-hour` or `kWh`.
        amount: In US dollars.
        date: When it held.
        source: Address of the document.
    """

    name: str
    what: str
    chip: str
    per: str
    amount: float
    date: str
    source: str

    @property
    def words(self) -> str:
        """`4.916 USD a chip-hour: EC2 Capacity Blocks, p5.48xlarge, US East, 2024-12 (...)`."""
        return f"{self.amount:g} USD a {self.per}: {self.what}, {self.date} ({self.source})"


@lru_cache(maxsize=1)
def prices() -> dict[str, Price]:
    """All published prices, by name."""
    table = load_reference("prices")
    names = [path.removesuffix(".price") for path in table.quantities]
    found = {}
    for name in names:
        quantity = table.quantities[f"{name}.price"]
        source = table.sources[quantity.sources[0]]
        found[name] = Price(
            name=name,
            what=table.labels[f"{name}.what"],
            chip=table.labels.get(f"{name}.chip", ""),
            per=table.labels[f"{name}.per"],
            amount=quantity.number,
            date=table.labels[f"{name}.date"],
            source=source.reference,
        )
    return found


def filled_prices(names: Any) -> dict[str, float]:
    """The fields of the question that some prices fill; names that are none are left out."""
    if not isinstance(names, Sequence) or not names:
        return {}
    known = [prices()[name] for name in names if isinstance(name, str) and name in prices()]
    return {FILLS[one.per]: one.amount for one in known}


def price_problems(values: Mapping[str, Any], names: Any) -> Iterator[str]:
    """Prices that are given twice, one line each."""
    if not isinstance(names, Sequence):
        return
    known = [prices()[name] for name in names if isinstance(name, str) and name in prices()]
    for per, field in FILLS.items():
        same = [one.name for one in known if one.per == per]
        if len(same) > 1:
            yield f"prices: {' and '.join(same)} are both per {per}; leave one of them out"
        flag, given = field.replace("_", "-"), values.get(field)
        if same and given is not None and given != prices()[same[0]].amount:
            yield (
                f"{flag}: prices {same[0]} means {prices()[same[0]].amount:g}, not {plain(given)}; "
                "leave one of the two out"
            )


def chip_problems(names: tuple[str, ...], chip: str) -> Iterator[str]:
    """Prices of chips of another kind than those of the question."""
    for name in names:
        if prices()[name].chip not in ("", chip):
            yield (
                f"prices: {name} is the price of {prices()[name].chip}, not of {chip}; give "
                "price-per-chip-hour"
            )
