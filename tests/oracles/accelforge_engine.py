"""AccelForge on one matrix multiplication: DRAM, SRAM, an array of PEs with registers.

Needs the package `accelforge` (Python 3.12 or newer). Joules per bit, sizes in bits, one
8-bit multiply-accumulate per PE and cycle, no leakage, bandwidths unlimited.
"""

from pathlib import Path
from typing import Any

_MEMORY = """  - !Memory
    name: {name}
    size: {bits}
    leak_power: 0
    area: 0
    tensors: {{keep: All}}
    actions:
    - {{name: read, energy: {j_per_bit!r}, throughput: inf}}
    - {{name: write, energy: {j_per_bit!r}, throughput: inf}}
"""
_ARRAY = """  - !Container
    name: Pe
    spatial:
    - {{name: row, fanout: {rows}}}
    - {{name: column, fanout: {columns}}}
"""
_COMPUTE = """  - !Compute
    name: Mac
    leak_power: 0
    area: 0
    actions:
    - {{name: compute, energy: {mac_j!r}, throughput: 1}}
"""
_WORK = """workload:
  iteration_space_shape:
    m: 0 <= m < {m}
    k: 0 <= k < {k}
    n: 0 <= n < {n}
  bits_per_value: {{All: 8}}
  einsums:
  - name: Product
    tensor_accesses:
    - {{name: T, projection: [m, k]}}
    - {{name: W, projection: [k, n]}}
    - {{name: Y, projection: [m, n], output: True}}
    renames: {{weight: W, input: T, output: Y}}
"""


def architecture(case: dict[str, Any], constants: dict[str, float]) -> str:
    """The engine's YAML of a case of `tests/cost/data/accelforge.json`."""

    def memory(name: str, size_bytes: int | None) -> str:
        joules = constants[f"{name}_j_per_byte"] / 8
        bits = "inf" if size_bytes is None else str(8 * size_bytes)
        return _MEMORY.format(name=name, bits=bits, j_per_bit=joules)

    text = "arch:\n  nodes:\n" + memory("dram", None) + memory("sram", case["sram_bytes"])
    text += _ARRAY.format(rows=case["rows"], columns=case["columns"])
    if case["register_bytes"]:
        text += memory("register", case["register_bytes"])
    return text + _COMPUTE.format(mac_j=constants["mac_j"])


def run(case: dict[str, Any], constants: dict[str, float], folder: Path) -> dict[str, float]:
    """Cycles, joules and bytes per level of the mapping that the engine finds best."""
    import accelforge  # noqa: PLC0415
    from accelforge.mapper.FFM.mappings import Mappings  # noqa: PLC0415

    Mappings.render = lambda self, *_, **__: ""  # it would start Graphviz
    accelforge.set_n_parallel_jobs(1)
    files = (folder / "arch.yaml", folder / "work.yaml")
    files[0].write_text(architecture(case, constants), encoding="utf-8")
    files[1].write_text(_WORK.format(**case), encoding="utf-8")
    spec = accelforge.Spec.from_yaml(*files)
    spec.mapper.metrics = getattr(accelforge.Metrics, case["metric"])
    best = spec.map_workload_to_arch(print_progress=False)
    counts = {" ".join(map(str, key)): float(bits) for key, bits in best.actions().items()}
    moved = {name: bits / 8 for name, bits in counts.items() if not name.startswith("Mac")}
    return {"cycles": float(best.latency()), "energy_j": float(best.energy()), **moved}
