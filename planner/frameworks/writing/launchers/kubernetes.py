"""Kubernetes: a JobSet with a pod a host, and a ConfigMap with the files of the plan.

Pods are numbered by their index, and find the first by the name that the headless service of the
JobSet gives it. Sources: JobSet v0.12.0 (f22e565ac3), api/jobset/v1alpha2/jobset_types.go, and
Kubernetes batch/v1. Slices of TPUs are asked for by the labels of GKE's node pools ("Deploy TPU
Multislices in GKE").
"""

from __future__ import annotations

from typing import Any

from planner.frameworks.framework import Target
from planner.frameworks.writing.export import Lost, TextFile
from planner.frameworks.writing.hosts import racks_of
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.launchers.devices import TPU, Device
from planner.frameworks.writing.launchers.launcher import Job, Launched, Launcher
from planner.frameworks.writing.launchers.names import own_name
from planner.frameworks.writing.launchers.slices import Slices, slices_of
from planner.frameworks.writing.launchers.start import ALONE, levels_text, start_text
from planner.frameworks.writing.texts import made_by
from strict_yaml.writing import dump

FILE = "job.yaml"
START = "start.sh"
IMAGE = "YOUR_IMAGE"
CLAIM = "YOUR_CLAIM"
HOSTS = "hosts"
RESTARTS = 3
_PLAN, _SCRATCH = "/plan", "/scratch"
_MOST_BYTES = 1024 * 1024
"""Of a ConfigMap (Kubernetes, "ConfigMaps": 1 MiB)."""


def refuses(target: Target, device: Device) -> str:
    """Pods ask for chips by the name of a resource."""
    if not device.resource:
        return "no resource of Kubernetes is known for these chips"
    return ""


def write(job: Job) -> Launched:
    """`job.yaml`."""
    launch = job.launch
    slices = slices_of(launch) if job.device == TPU else None
    texts = {file.name: file.text for file in job.export.files} | {START: _start(job)}
    documents = (config_map(job, texts), job_set(job, slices))
    head = "".join(f"# {line}\n" for line in _comments(job))
    text = head + "---\n".join(dump(one, width=96, blocks=True) for one in documents)
    lossy = list(_lossy(launch))
    if sum(len(text.encode()) for text in texts.values()) > _MOST_BYTES:
        reason = "the files exceed the 1 MiB of a ConfigMap: put them into the image"
        lossy.append(Lost("launcher", reason))
    return Launched(
        files=(TextFile(name=FILE, text=text),),
        command=f"kubectl apply --server-side -f {FILE}",
        lossy=tuple(lossy),
    )


def _comments(job: Job) -> list[str]:
    """Who wrote it, and what is to be filled in."""
    needs = [f"YOUR_{name} is {what}." for name, what in job.start.needs]
    cards = "Network cards are resources of your cluster (rdma/...): add them to the limits."
    return [
        made_by(job.launch),
        levels_text(job.launch),
        " ".join((f"{IMAGE} has the framework and its packages.", *needs)),
        *(f"{name}, empty below, may name {what}." for name, what in job.start.wants),
        *_claimed(job),
        *([cards] if job.device.collectives and job.launch.nodes > 1 else []),
    ]


def _claimed(job: Job) -> list[str]:
    """Where what was trained outlives its pods."""
    if not job.start.results:
        return []
    several = ", which all hosts mount (ReadWriteMany)" if job.launch.nodes > 1 else ""
    return [f"{CLAIM} is a PersistentVolumeClaim{several}: {job.start.results}/ is written to it."]


def _start(job: Job) -> str:
    """What a pod runs."""
    which = ('NODE_RANK="${JOB_COMPLETION_INDEX:?is set by Kubernetes}"', _first(job))
    usage = (f"What every host runs: {FILE} starts it.",)
    return start_text(job, which if job.launch.nodes > 1 else ALONE, usage)


def _first(job: Job) -> str:
    """Where the first pod is reached."""
    name = own_name(job.launch, job.export)
    return f"MASTER_ADDR={name}-{HOSTS}-0-0.{name}"


def config_map(job: Job, texts: dict[str, str]) -> dict[str, Any]:
    """The files of a plan, which do not change below pods that are started again."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{own_name(job.launch, job.export)}-plan"},
        "immutable": True,
        "data": dict(texts),
    }


def job_set(job: Job, slices: Slices | None) -> dict[str, Any]:
    """The job: one job of as many pods as there are hosts, or one for each slice."""
    launch = job.launch
    exclusive = "alpha.jobset.sigs.k8s.io/exclusive-topology"
    metadata: dict[str, Any] = {"name": own_name(launch, job.export)}
    if slices is not None:
        metadata["annotations"] = {exclusive: "cloud.google.com/gke-nodepool"}
    hosts = launch.nodes if slices is None else slices.hosts
    pods = {
        "parallelism": hosts,
        "completions": hosts,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": pod(job, slices),
    }
    replicated = {
        "name": HOSTS,
        "replicas": 1 if slices is None else slices.count,
        "template": {"spec": pods},
    }
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": metadata,
        "spec": {
            "failurePolicy": {"maxRestarts": RESTARTS},
            "network": {"enableDNSHostnames": True, "publishNotReadyAddresses": True},
            "replicatedJobs": [replicated],
        },
    }


def pod(job: Job, slices: Slices | None) -> dict[str, Any]:
    """A host."""
    chips = job.launch.node_chips if slices is None else slices.host_chips
    volumes: dict[str, tuple[dict[str, Any], str]] = {
        "plan": ({"configMap": {"name": f"{own_name(job.launch, job.export)}-plan"}}, _PLAN),
        "memory": ({"emptyDir": {"medium": "Memory"}}, "/dev/shm"),  # noqa: S108  (in the container)
        "scratch": ({"emptyDir": {}}, _SCRATCH),
    }
    if job.start.results:
        claim = {"persistentVolumeClaim": {"claimName": CLAIM}}
        volumes["results"] = (claim, f"{_SCRATCH}/{job.start.results}")
    empty = ((name, "") for name, _ in job.start.wants)
    container: dict[str, Any] = {
        "name": "training",
        "image": IMAGE,
        "workingDir": _SCRATCH,
        "command": ["bash", "-c", f"cp {_PLAN}/* . && exec bash {START}"],
        "env": [{"name": name, "value": value} for name, value in (*job.placeholders, *empty)],
        "resources": {"limits": {job.device.resource: chips}},
        "volumeMounts": [{"name": name, "mountPath": path} for name, (_, path) in volumes.items()],
    }
    if job.device.collectives:  # memory that network cards read must not move
        container["securityContext"] = {"capabilities": {"add": ["IPC_LOCK"]}}
    if not container["env"]:
        del container["env"]
    spec: dict[str, Any] = {
        "restartPolicy": "Never",
        "containers": [container],
        "volumes": [{"name": name, **source} for name, (source, _) in volumes.items()],
    }
    if slices is not None:
        spec["nodeSelector"] = slices.labels
    return {"spec": spec}


def _lossy(launch: Launch) -> list[Lost]:
    """What the scheduler of the cluster has to know."""
    if launch.nodes == 1 or launch.cost.chip.vendor == "Google":
        return []
    racks, kueue = racks_of(launch), "kueue.x-k8s.io/podset-"
    asked = f"{kueue}preferred-topology"
    if racks is not None:
        asked = f"{kueue}slice-required-topology and {kueue}slice-size: {racks.used}"
    reason = (
        "Kubernetes puts pods on any hosts; a scheduler that knows the network places them by "
        f"their index: Kueue, with {asked}"
    )
    return [Lost("placement", reason)]


KUBERNETES = Launcher(
    name="kubernetes",
    title="Kubernetes",
    refuses=refuses,
    write=write,
    again=f"Kubernetes starts the job again up to {RESTARTS} times (maxRestarts),",
)
