"""What the chips of a rack load from and store to the main memory of their hosts.

Every chip loads the weights that it holds and its part of the input once, and stores its part of
the output once:

    read  = (dp or, under ZeRO, 1) l W + I      written = O

with W bytes of weights, I of input and O of output of the whole batch; tensor ranks exchange their
parts of the input over the network. Each byte also passes the memory of its chip. l is 1, or for
pipelines what the assumptions say (`RackAssumptions.weight_loads`). Where main memory feeds at most
g chips at once (`RackAssumptions.shared_memory_chips`), reading takes

    read / (bandwidth of a chip's link x min(chips, g))
"""

from __future__ import annotations

import numpy as np

from frozen_records import dataclass
from planner.base.arrays import FloatArray, IntArray
from planner.base.errors import InputError
from planner.studies.rack.model.assumptions import RackAssumptions
from planner.studies.rack.model.machine import Machine
from planner.studies.rack.model.plans import RackPlans
from planner.studies.rack.model.workloads import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Loading:
    """Bytes and joules of all chips, (n,) each.

    Attributes:
        read_bytes, written_bytes: Of main memory.
        latency_s: Seconds of reading; 0 where it takes no time.
        read_j, write_j: Joules in main memory, link to the chip included.
        chip_write_j, chip_read_j: Joules in the chips' own memory of the same bytes.
    """

    read_bytes: FloatArray
    written_bytes: FloatArray
    latency_s: FloatArray
    read_j: FloatArray
    write_j: FloatArray
    chip_write_j: FloatArray
    chip_read_j: FloatArray


def loading(
    workload: Workload, plans: RackPlans, machine: Machine, assumptions: RackAssumptions
) -> Loading | None:
    """The traffic of main memory; None where the chip's record has no energy for it.

    Raises:
        InputError: Its time is asked for, and the chip's record has no bandwidth for it.
    """
    per_byte = machine.chip.host_memory_j_per_byte
    if per_byte is None:
        return None
    items = plans.dp if workload.batch is None else np.full(len(plans), workload.batch)
    copies = np.where(plans.zero, 1, plans.dp) * _loads(workload, plans, items, assumptions)
    last = workload.einsums[-1].output_elements
    read = copies * workload.weight_bytes + items * workload.input_elements * workload.word_bytes
    written = np.asarray(items * last * workload.word_bytes, dtype=np.float64)
    return Loading(
        read_bytes=read,
        written_bytes=written,
        latency_s=_read_s(read, plans, machine, assumptions.shared_memory_chips),
        read_j=read * per_byte,
        write_j=written * per_byte,
        chip_write_j=read * machine.chip.memory_j_per_byte,
        chip_read_j=written * machine.chip.memory_j_per_byte,
    )


def _loads(
    workload: Workload, plans: RackPlans, items: IntArray, assumptions: RackAssumptions
) -> FloatArray:
    """(n,) how often the weights of a replica come from main memory."""
    rows = items / plans.dp * max(einsum.rows for einsum in workload.einsums)
    times = {"per_micro_batch": plans.micro_batches, "per_row": rows}
    anew = times.get(assumptions.weight_loads, np.ones(len(plans)))
    return np.where(plans.pp > 1, anew, 1.0)


def _read_s(read: FloatArray, plans: RackPlans, machine: Machine, fed: int) -> FloatArray:
    """(n,) seconds in which chips, at most `fed` of them at their own rate, read so many bytes."""
    if not fed:
        return np.zeros(len(plans))
    rate = machine.chip.host_memory_bandwidth_bytes_per_s
    if not rate:
        raise InputError(
            f"memory-chips: {machine.chip.name} has no bandwidth of main memory in its record"
        )
    return np.asarray(read / (rate * np.minimum(plans.chips, fed)))
