"""Short outputs in the formats of the tools, made of a few numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

H100 = "NVIDIA H100 80GB HBM3"


def write_node(folder: Path) -> None:
    """What the tools print on a node of 8 H100, each in a file."""
    folder.mkdir()
    texts = {
        "gpus.csv": table(H100, 81559, 8),
        "topo.txt": matrix(linked(8, 18), near=range(8), far=1),
        "ibstat.txt": ports([400] * 8 + [100]),
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def linked(chips: int, links: int, group: int | None = None) -> list[list[str]]:
    """Cells of GPUs that NVLink joins within groups, by default all of them."""
    size = group or chips
    return _cells(chips, lambda one, other: links if one // size == other // size else 0)


def cube_mesh() -> list[list[str]]:
    """Cells of a DGX-1: two quads of double and single links, and an edge between them each."""
    double = {(0, 3), (0, 4), (1, 2), (1, 5), (2, 3), (4, 7), (5, 6), (6, 7)}
    single = {(0, 1), (0, 2), (1, 3), (2, 6), (3, 7), (4, 5), (4, 6), (5, 7)}

    def links(one: int, other: int) -> int:
        pair = (min(one, other), max(one, other))
        return 2 * (pair in double) + (pair in single)

    return _cells(8, links)


def _cells(chips: int, links: Callable[[int, int], int]) -> list[list[str]]:
    return [
        ["X" if one == other else f"NV{count}" if (count := links(one, other)) else "SYS"
         for other in range(chips)]
        for one in range(chips)
    ]  # fmt: skip


def matrix(cells: list[list[str]], near: Sequence[int] = (), far: int = 0) -> str:
    """`nvidia-smi topo -m`.

    Args:
        cells: Between GPUs.
        near: The GPU that each of the first network devices shares a switch with.
        far: Further network devices, near no GPU.
    """
    nics = [f"NIC{at}" for at in range(len(near) + far)]
    heads = [*(f"GPU{at}" for at in range(len(cells))), *nics]
    lines = ["\t" + "\t".join(f"\x1b[4m{head}" for head in [*heads, "CPU Affinity\x1b[0m"])]
    for gpu, row in enumerate(cells):
        beside = ["PIX" if gpu == other else "SYS" for other in near] + ["NODE"] * far
        lines.append("\t".join([f"GPU{gpu}", *(f"{cell:^5}" for cell in [*row, *beside]), "0-55"]))
    legend = [f"  {nic}: mlx5_{at}" for at, nic in enumerate(nics)]
    return "\n".join(
        [*lines, "", "Legend:", "", "  X    = Self", "", "NIC Legend:", "", *legend, ""]
    )


def table(name: str, mebibytes: int, chips: int, pcie: int = 5) -> str:
    """`nvidia-smi --query-gpu=... --format=csv`."""
    head = "index, name, memory.total [MiB], pcie.link.gen.max, pcie.link.width.max\n"
    return head + "".join(f"{at}, {name}, {mebibytes} MiB, {pcie}, 16\n" for at in range(chips))


def query(name: str, mebibytes: int, chips: int) -> str:
    """`nvidia-smi -q`, a few of its lines."""
    gpu = f"""GPU 00000000:0A:00.0
    Product Name                          : {name}
    Product Brand                         : NVIDIA
    PCI
        Bus                               : 0x0A
        GPU Link Info
            PCIe Generation
                Max                       : 5
                Current                   : 1
                Device Max                : 6
            Link Width
                Max                       : 16x
                Current                   : 8x
    FB Memory Usage
        Total                             : {mebibytes} MiB
        Used                              : 0 MiB
    BAR1 Memory Usage
        Total                             : 131072 MiB
"""
    return f"==============NVSMI LOG==============\n\nAttached GPUs : {chips}\n{gpu * chips}"


def ports(rates: Sequence[int], layer: str = "InfiniBand", down: int = 0) -> str:
    """`ibstat`."""
    states = [("Active", rate) for rate in rates] + [("Down", 10)] * down
    return "".join(
        f"CA 'mlx5_{at}'\n\tCA type: MT4129\n\tNumber of ports: 1\n\tPort 1:\n\t\tState: {state}\n"
        f"\t\tPhysical state: LinkUp\n\t\tRate: {rate}\n\t\tLink layer: {layer}\n"
        for at, (state, rate) in enumerate(states)
    )


def nodes(kinds: Sequence[tuple[str, str]], drained: int = 0, one_line: bool = False) -> str:
    """`scontrol show nodes` of (Gres, Partitions)."""
    states = ["IDLE+DRAIN"] * drained + ["MIXED"] * len(kinds)
    texts = [
        f"NodeName=n{at} Arch=x86_64 CoresPerSocket=56\n   CPUTot=224 CPULoad=0.1\n   Gres={gres}\n"
        f"   NodeAddr=n{at} OS=Linux 5.15.0 #1 SMP\n   State={states[at]} Weight=1\n"
        f"   Partitions={partitions} \n   CfgTRES=cpu=224,gres/gpu=8\n"
        for at, (gres, partitions) in enumerate(kinds)
    ]
    return "\n".join(text.replace("\n", "") if one_line else text for text in texts)


def rocm(name: str, total: int, cells: list[list[str]]) -> str:
    """`rocm-smi --showproductname --showmeminfo vram --showtopo`."""
    gpus = range(len(cells))
    heads = "".join(f"         GPU{at}" for at in gpus)
    rows = "".join(
        f"GPU{at}   " + "".join(f"{'0' if cell == 'X' else cell:<13}" for cell in row) + "\n"
        for at, row in enumerate(cells)
    )
    said = "".join(f"GPU[{at}]\t\t: Card Series: \t\t{name}\n" for at in gpus)
    said += "".join(f"GPU[{at}]\t\t: VRAM Total Memory (B): {total}\n" for at in gpus)
    return (
        "====== ROCm System Management Interface ======\n===== Product Info =====\n" + said
        + f"===== Hops between two GPUs =====\n    {heads}\n"
        + f"\n===== Link Type between two GPUs =====\n    {heads}\n{rows}\n===== Numa Nodes =====\n"
    )  # fmt: skip


def nccl(
    chips: int, links: int, speeds: Sequence[int], hosts: int = 1, *, own: bool = False
) -> str:
    """NCCL's topology: GPUs at NVSwitches, or linked to themselves, and networks in Mb/s."""
    text = '<!--\n - a comment\n-->\n<system version="1">\n'
    for host in range(hosts):
        text += f'  <cpu host_hash="0x{host}" numaid="0" arch="x86_64">\n'
        for at in range(chips):
            text += f'    <pci busid="000{host}:{at}a:00.0" class="0x030200" '
            text += 'link_speed="16.0 GT/s PCIe" link_width="16">\n'
            text += f'      <gpu dev="{at}" sm="90" rank="{at}" gdr="1">\n'
            for switch in ("0000:07:00.0", "0000:06:00.0"):
                target = f"000{host}:{at}A:00.0" if own else switch
                wire = f'<nvlink target="{target}" count="{links // 2}" tclass="0x068000"/>\n'
                text += f"        {wire}" * bool(links)
            text += "      </gpu>\n    </pci>\n"
        text += "    <nic>\n"
        text += '      <net name="eth0" dev="9" speed="10000" port="0" gdr="0"/>\n'
        for at, speed in enumerate(speeds):
            text += f'      <net name="mlx5_{at}" dev="{at}" speed="{speed}" port="1" gdr="1"/>\n'
        text += "    </nic>\n  </cpu>\n"
    return text + "</system>\n"
