"""The topologies by name, the sizes that each is made of, and how many chips those give.

A topology with several sizes is written `name:sizes`, e.g. `torus:4x4x4`, `fat-tree:k=4`,
`dragonfly:a=4,h=2,p=2` or `leaf-spine:chips=16,leaf=4,spines=4`. In all formulas of this package N
is the number of chips and k_i the chips along dimension i.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import IntArray
from planner.base.errors import InputError
from planner.base.messages import not_one_of

LINES = ("linear", "ring", "fully-connected", "star", "switch")
"""Topologies whose only size is the number of chips."""
GRIDS = ("mesh", "torus", "hyperx")
"""Topologies with a size per dimension."""
PARAMETERS: dict[str, tuple[str, ...]] = {
    **{name: ("chips",) for name in LINES},
    "hypercube": ("dimensions",),
    "leaf-spine": ("chips", "leaf", "spines"),
    "fat-tree": ("k",),
    "dragonfly": ("a", "h", "p"),
}
"""What the sizes of a topology that is no grid mean, in order."""
NAMES = (
    "linear", "ring", "fully-connected", "mesh", "torus", "hypercube", "hyperx", "star", "switch",
    "leaf-spine", "fat-tree", "dragonfly",
)  # fmt: skip
"""The topologies with closed forms."""
DGX1 = ("dgx-1", "dgx1")
"""How the hybrid cube mesh of DGX-1 is written."""
MEASURED = {
    **dict.fromkeys(DGX1, "takes no sizes: write dgx-1"),
    "custom": "give the graph by a file: --graph FILE",
}
"""Graphs that are measured instead, the hybrid cube mesh of DGX-1 and a user's own, with a hint."""
MOST_CHIPS = 1_000_000
"""Up to here sums of hops fit in 64 bits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A topology with its sizes.

    Attributes:
        name: One of `NAMES`.
        sizes: What `PARAMETERS` names, or the chips along each dimension of a grid.
    """

    name: str
    sizes: tuple[int, ...]

    @property
    def chips(self) -> int:
        """The number of chips N."""
        return int(chips_of(self.name, self.sizes))

    @property
    def spec(self) -> str:
        """How it is written, e.g. `torus:4x4x4`."""
        if self.name in GRIDS:
            sizes = self.sizes if len(self.sizes) > 1 else (*self.sizes, 1)
            return f"{self.name}:{'x'.join(map(str, sizes))}"
        if self.name in (*LINES, "hypercube"):
            return f"{self.name}:{self.chips}"
        names = PARAMETERS[self.name]
        if self.name == "leaf-spine" and self.sizes[1] == self.sizes[2]:
            names = names[:2]
        return f"{self.name}:" + ",".join(
            f"{name}={size}" for name, size in zip(names, self.sizes, strict=False)
        )


def check_name(name: str) -> None:
    """Refuses a topology without closed forms.

    Raises:
        InputError: The name is unknown, or one whose graph has to be measured.
    """
    if name in MEASURED:
        raise InputError(f"topology: {name} has no closed form; measure its graph")
    if name not in NAMES:
        raise InputError(f"topology: {not_one_of(name, NAMES)}")


def chips_of(name: str, sizes: Sequence[IntArray | int]) -> IntArray:
    """The number of chips N of sizes, each an integer or an array of a common shape.

    Source: definitions; fat tree of k-port switches N = k^3/4 (Al-Fares et al., SIGCOMM 2008);
    dragonfly with all global links used, groups G = a h + 1 and N = p a G (Kim et al., ISCA 2008).
    p = 0 stands for chips that are their own routers: N = a G.
    """
    given = [np.asarray(size, dtype=np.int64) for size in sizes]
    if name in GRIDS:
        return np.asarray(np.prod(np.broadcast_arrays(*given), axis=0), dtype=np.int64)
    if name == "hypercube":
        return np.asarray(1 << given[0], dtype=np.int64)
    if name == "fat-tree":
        return np.asarray(given[0] ** 3 // 4, dtype=np.int64)
    if name == "dragonfly":
        a, h, p = given
        return np.asarray(np.maximum(p, 1) * a * (a * h + 1), dtype=np.int64)
    return np.asarray(given[0], dtype=np.int64)
