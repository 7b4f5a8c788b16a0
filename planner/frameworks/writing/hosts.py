"""Which hosts a launch takes, where scale-up domains (racks) hold several of them."""

from __future__ import annotations

from planner.frameworks.writing.launch import Launch


def hosts_of(launch: Launch) -> tuple[str, ...]:
    """Lines that say how many hosts of each domain take part, and in which order.

    Empty where a domain is one host, or a torus, whose slice is what is asked for. Slurm's block
    topology (sbatch --segment) gives hosts of one domain together.

    Raises:
        InputError: The cluster cannot give that many chips.
    """
    built = [
        level
        for level in launch.cost.cluster.levels
        if level.kind == "scale-up" and level.topology != "torus" and level.domain_chips
    ]
    if not built or launch.nodes == 1:
        return ()
    level, node = built[-1], launch.node_chips
    whole = (level.domain_chips or node) // node
    if whole <= 1:
        return ()
    used = _share(launch, level.name) // node
    domains = launch.nodes // used
    if domains == 1:
        return (f"{used} of the {whole} hosts of one {level.name} domain.",)
    return (
        f"{used} of the {whole} hosts of each of {domains} {level.name} domains, those of one "
        "domain in a row:",
        f"hosts 0 to {used - 1} in the first, and so on (Slurm, block topology: --segment={used}).",
    )


def _share(launch: Launch, name: str) -> int:
    """Chips of the job in each domain of a level."""
    chips = launch.plan.chips
    cut = [one for one in launch.cost.allocation(chips).levels if one.name == name]
    return min(cut[0].domain_chips or chips, chips) if cut else launch.node_chips
