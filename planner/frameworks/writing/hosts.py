"""Which hosts a launch takes, where scale-up domains (racks) hold several of them."""

from __future__ import annotations

from frozen_records import dataclass
from planner.frameworks.writing.launch import Launch


@dataclass(frozen=True, slots=True, kw_only=True)
class Racks:
    """Scale-up domains of several hosts, a part of which a launch takes.

    Attributes:
        level: Name of the level.
        used: Hosts that it takes of each.
        whole: Hosts of each.
        count: How many there are of them.
    """

    level: str
    used: int
    whole: int
    count: int


def racks_of(launch: Launch) -> Racks | None:
    """The racks of a launch; None where a domain is one host, or a torus.

    Raises:
        InputError: The cluster cannot give that many chips.
    """
    built = [
        level
        for level in launch.cost.cluster.levels
        if level.kind == "scale-up" and level.topology != "torus" and level.domain_chips
    ]
    if not built or launch.nodes == 1:
        return None
    level, node = built[-1], launch.node_chips
    whole = (level.domain_chips or node) // node
    if whole <= 1:
        return None
    used = _share(launch, level.name) // node
    return Racks(level=level.name, used=used, whole=whole, count=launch.nodes // used)


def hosts_of(launch: Launch) -> tuple[str, ...]:
    """Lines that say how many hosts of each domain take part, and in which order.

    Empty where a domain is one host, or a torus, whose slice is what is asked for. Slurm's block
    topology (sbatch --segment) gives hosts of one domain together.

    Raises:
        InputError: The cluster cannot give that many chips.
    """
    racks = racks_of(launch)
    if racks is None:
        return ()
    used, whole = racks.used, racks.whole
    if racks.count == 1:
        return (f"{used} of the {whole} hosts of one {racks.level} domain.",)
    return (
        f"{used} of the {whole} hosts of each of {racks.count} {racks.level} domains, those of one "
        "domain in a row:",
        f"hosts 0 to {used - 1} in the first, and so on (Slurm, block topology: --segment={used}).",
    )


def _share(launch: Launch, name: str) -> int:
    """Chips of the job in each domain of a level."""
    chips = launch.plan.chips
    cut = [one for one in launch.cost.allocation(chips).levels if one.name == name]
    return min(cut[0].domain_chips or chips, chips) if cut else launch.node_chips
