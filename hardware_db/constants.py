"""Named sets of numbers that belong to no single machine: calibrations and reference tables."""

from __future__ import annotations

from functools import lru_cache

from frozen_records import dataclass
from hardware_db.errors import HardwareError, nearest
from hardware_db.frozen_map import FrozenMap
from hardware_db.quantity import Quantity, Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Constants of the cost model that were fitted to published training runs, or assumed.

    Attributes:
        name, title: Labels.
        values: Dotted path, such as `network.scale_up_efficiency`, to the number (SI units).
        quantities: The same paths to the quantities with their provenance.
        sources: Source key to source.
    """

    name: str
    title: str
    values: FrozenMap[float]
    quantities: FrozenMap[Quantity]
    sources: FrozenMap[Source]

    def value(self, path: str) -> float:
        """The constant at a dotted path.

        Raises:
            HardwareError: There is no such constant; names the nearest.
        """
        if path not in self.values:
            hint = nearest(path, self.values)
            raise HardwareError(f"calibration {self.name}: no constant {path!r}{hint}")
        return self.values[path]

    def group(self, prefix: str) -> FrozenMap[float]:
        """The constants directly or indirectly below a dotted prefix, by the rest of their path.

        Raises:
            HardwareError: Nothing has that prefix.
        """
        found = _below(self.values, prefix + ".")
        if not found:
            groups = {key.rsplit(".", 1)[0] for key in self.values}
            hint = nearest(prefix, groups)
            raise HardwareError(f"calibration {self.name}: no group {prefix!r}{hint}")
        return found


@lru_cache(maxsize=64)
def _below(values: FrozenMap[float], start: str) -> FrozenMap[float]:
    """The numbers whose paths have a beginning, by the rest of their path."""
    return FrozenMap({key[len(start) :]: v for key, v in values.items() if key.startswith(start)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """A table of published numbers that no cluster record uses directly.

    Attributes:
        name, title: Labels.
        labels: Dotted path to the strings of the table.
        quantities: Dotted path to the quantities with their provenance.
        sources: Source key to source.
    """

    name: str
    title: str
    labels: FrozenMap[str]
    quantities: FrozenMap[Quantity]
    sources: FrozenMap[Source]
