"""Metis from a checkout on its documented example, and ours on the same profiles.

The example of its README: a GPT of 10 layers, a batch of 128, groups of at least an even share,
profiles up to tensor parallelism 4 and 4 samples. Profiles are published for an A100 only; a slower
type is made of them with twice the layer times and half the memory. All plans that Metis lists are
costed again by its own estimator with their number of stages: for every order of the types but the
first, its generator starts with two groups and a number of stages of one, so that the estimator
leaves out the second.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

from engines import metis
from engines.compared import Cell, Outcome, row, timed
from engines.programs import answered

# Runs Metis's own generators and estimator, as its main program does, without what they print.
_DRIVER = """
import contextlib, json, os, sys, time
asked = json.loads(sys.argv.pop())
sys.path.insert(0, asked["checkout"])
from arguments import parse_args
from data_loader import ProfileDataLoader
from cost_het_cluster import cost_het_cluster
from gpu_cluster import GPUCluster
from model.activation_parameter import GPTActivationAndParam
from model.cost_estimator import HeteroCostEstimator
from model.device_group import StagePerformance
from model.load_balancer import LayerLoadBalancer
from search_space.plan import InterStagePlan
from utils import DeviceType, ModelConfig
args = parse_args()
cluster = GPUCluster(hostfile_path=args.hostfile_path, clusterfile_path=args.clusterfile_path)
profile, _ = ProfileDataLoader(args.profile_data_path).load_profile_data_all()
config = ModelConfig(model_name=args.model_name, num_layers=args.num_layers,
                     sequence_length=args.sequence_length, vocab_size=args.vocab_size,
                     hidden_size=args.hidden_size, attention_head_size=args.attention_head_size)
volume = GPTActivationAndParam(config, profile["model"]["parameters"])
estimator = HeteroCostEstimator(profile, config, volume, cluster)
balancer = LayerLoadBalancer(cluster, profile, config, args.gbs)
def cost(types, groups, strategies, batches, bounds):
    plan = InterStagePlan(ns_idx=0, node_sequence=types, dg_idx=0, device_groups=groups,
                          num_stage=len(groups), batches=batches, gbs=args.gbs)
    placement = StagePerformance(config, profile, cluster, plan).get_device_placement()
    return estimator.get_cost(plan, [tuple(pair) for pair in strategies], bounds, placement)
answer = {"profile": profile}
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    if "plan" in asked:
        plan = asked["plan"]
        types = [DeviceType.from_string(kind) for kind in plan["types"]]
        bounds = [0, *plan["ends"]]
        answer["cost"] = cost(types, plan["groups"], plan["strategies"], plan["batches"], bounds)
    else:
        started = time.process_time()
        found = cost_het_cluster(args, cluster, profile, config, estimator, balancer)
        answer["seconds"] = time.process_time() - started
        answer["cost"] = min(cost(*row[:5]) for row in found)
print(json.dumps(answer))
"""
_MODEL = metis.Model(
    layers=10,
    hidden=4096,
    sequence=1024,
    vocabulary=51200,
    batch=128,
    most_tensor=4,
    most_samples=4,
)
_BANDWIDTH, _MEMORY_GB, _SLOWER = 5312500000.0, 80, 2.0
_CASES = (("A100", "A100"), ("A100", "V100"), ("A100", "A100", "V100", "V100"))
"""Types of nodes of 8 devices."""
_QUICK = _CASES[:1]


def _profiles(checkout: Path, folder: Path, types: Sequence[str]) -> Path:
    """Profiles of all types in a folder."""
    made = folder / "profiles"
    made.mkdir(parents=True)
    for path in sorted((checkout / "profile_data_samples").glob("*.json")):
        record = json.loads(path.read_text(encoding="utf-8"))
        (made / path.name).write_text(json.dumps(record), encoding="utf-8")
        if "V100" in types:
            times = record["execution_time"]
            for key in ("layer_compute_total_ms", "forward_backward_time_ms"):
                times[key] = (
                    [_SLOWER * ms for ms in times[key]]
                    if isinstance(times[key], list)
                    else _SLOWER * times[key]
                )
            text = json.dumps(record)
            (made / path.name.replace("A100", "V100")).write_text(text, encoding="utf-8")
    return made


def _arguments(checkout: Path, folder: Path, types: Sequence[str]) -> list[str]:
    """What Metis is called with; writes its files."""
    profiles = _profiles(checkout, folder, types)
    hosts = "".join(f"IP{i} slots=8\n" for i in range(len(types)))
    nodes = {
        f"IP{i}": {"instance_type": kind, "memory": _memory_gb(kind)}
        | dict.fromkeys(("inter_bandwidth", "intra_bandwidth"), _BANDWIDTH)
        for i, kind in enumerate(types)
    }
    (folder / "hosts").write_text(hosts, encoding="utf-8")
    (folder / "nodes.json").write_text(json.dumps(nodes), encoding="utf-8")
    given = {
        "model_name": "GPT",
        "num_layers": _MODEL.layers,
        "gbs": _MODEL.batch,
        "hidden_size": _MODEL.hidden,
        "sequence_length": _MODEL.sequence,
        "vocab_size": _MODEL.vocabulary,
        "attention_head_size": 32,
        "hostfile_path": folder / "hosts",
        "clusterfile_path": folder / "nodes.json",
        "profile_data_path": profiles,
        "max_profiled_tp_degree": _MODEL.most_tensor,
        "max_profiled_batch_size": _MODEL.most_samples,
        "min_group_scale_variance": 1,
        "max_permute_len": 4,
    }
    return [f"--{name}={value}" for name, value in given.items()]


def _memory_gb(kind: str) -> int:
    return _MEMORY_GB if kind == "A100" else _MEMORY_GB // 2


def rows(checkout: Path, folder: Path, *, quick: bool, repeats: int) -> list[dict[str, Cell]]:
    """A row per case."""
    found = []
    for i, types in enumerate(_QUICK if quick else _CASES):
        arguments = _arguments(checkout, folder / f"metis{i}", types)
        ask = partial(answered, "Metis", _DRIVER, arguments)
        theirs = ask({"checkout": str(checkout)})
        kinds = sorted(set(types))
        cluster = metis.Cluster(
            devices={kind: 8 * types.count(kind) for kind in kinds},
            memory_mb={kind: 1024.0 * _memory_gb(kind) for kind in kinds},
            bandwidth=_BANDWIDTH,
        )
        work = partial(metis.solve, theirs["profile"], cluster, _MODEL)
        (plan, bound, _), seconds = timed(work, repeats)
        again = ask({"checkout": str(checkout), "plan": asdict(plan)})
        own = Outcome(
            objective=again["cost"], seconds=seconds, bound=bound if len(kinds) == 1 else None
        )
        other = Outcome(objective=theirs["cost"], seconds=theirs["seconds"])
        found.append(row(f"GPT, 10 layers, nodes {' '.join(types)}", other, own))
    return found
