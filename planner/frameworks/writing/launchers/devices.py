"""What chips are to a scheduler: how a job asks for them."""

from __future__ import annotations

from frozen_records import dataclass
from hardware_db import Chip


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """A kind of chip as schedulers hand it out.

    Attributes:
        kind: What people call several of it.
        resource: Its name in Kubernetes; empty: none is known.
        generic: Whether Slurm counts it as a GPU (`--gpus-per-node`).
        collectives: The library of its collectives, whose environment a job sets; empty: none.
    """

    kind: str
    resource: str = ""
    generic: bool = False
    collectives: str = ""


# Resources: the device plugins NVIDIA/k8s-device-plugin, ROCm/k8s-device-plugin, Intel's Gaudi Base
# Operator (habana.ai/gaudi), GKE ("About TPUs in GKE"), AWS Neuron (k8s-neuron-device-plugin).
NVIDIA = Device(kind="GPUs", resource="nvidia.com/gpu", generic=True, collectives="NCCL")
AMD = Device(kind="GPUs", resource="amd.com/gpu", generic=True, collectives="RCCL")
GAUDI = Device(kind="Gaudi", resource="habana.ai/gaudi", generic=True)
TPU = Device(kind="TPUs", resource="google.com/tpu")
TRAINIUM = Device(kind="Trainium", resource="aws.amazon.com/neuron")
OTHER = Device(kind="other chips")

_BY_VENDOR = {"NVIDIA": NVIDIA, "AMD": AMD, "Google": TPU, "AWS": TRAINIUM}


def device_of(chip: Chip) -> Device:
    """What a chip is to a scheduler.

    >>> from hardware_db import load_chip
    >>> device_of(load_chip("h100-sxm5-80")).resource, device_of(load_chip("gaudi2")).kind
    ('nvidia.com/gpu', 'Gaudi')
    """
    if chip.vendor == "Intel" and chip.architecture.startswith("Gaudi"):
        return GAUDI
    return _BY_VENDOR.get(chip.vendor, OTHER)
