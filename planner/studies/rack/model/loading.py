"""What the chips of a rack load from and store to the main memory of their hosts.

Every chip loads the weights that it holds and its part of the input once, and stores its part of
the output once:

    read  = (dp or, under ZeRO, 1) W + I      written = O

with W bytes of weights, I of input and O of output of the whole batch; tensor ranks exchange their
parts of the input over the network. Each byte also passes the memory of its chip.
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans
from planner.studies.rack.model.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Bytes and joules of all chips, (n,) each.

    Attributes:
        read_bytes, written_bytes: Of main memory.
        read_j, write_j: Joules in main memory, link to the chip included.
        chip_write_j, chip_read_j: Joules in the chips' own memory of the same bytes.
    """

    read_bytes: FloatArray
    written_bytes: FloatArray
    read_j: FloatArray
    write_j: FloatArray
    chip_write_j: FloatArray
    chip_read_j: FloatArray


def loading(workload: Workload, plans: RackPlans, machine: Machine) -> Loading | None:
    """The traffic of main memory; None where the chip's record has no energy for it."""
    per_byte = machine.chip.host_memory_j_per_byte
    if per_byte is None:
        return None
    items = plans.dp if workload.batch is None else np.full(len(plans), workload.batch)
    copies = np.where(plans.zero, 1, plans.dp)
    last = workload.einsums[-1].output_elements
    read = copies * workload.weight_bytes + items * workload.input_elements * workload.word_bytes
    written = np.asarray(items * last * workload.word_bytes, dtype=np.float64)
    return Loading(
        read_bytes=read,
        written_bytes=written,
        read_j=read * per_byte,
        write_j=written * per_byte,
        chip_write_j=read * machine.chip.memory_j_per_byte,
        chip_read_j=written * machine.chip.memory_j_per_byte,
    )
