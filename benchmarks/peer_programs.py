"""Other estimators of training steps, started as their own pages say: one plan, many, a search.

SimuMax (https://github.com/MooreThreads/SimuMax, Apache-2.0) needs pandas, sympy, graphviz and
tabulate; llm-analysis (https://github.com/cli99/llm-analysis, Apache-2.0) needs fire; the command
of calculon needs psutil. They run in a Python of the user's choice, from checkouts, on the files
for GPT-3 175B and for A100s that they ship: SimuMax has one of A100s on PCIe. Full and selective
recomputation, sequence parallelism, sharded optimizer and interleaving are told in their words; a
plan that one refuses is left out.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from calculon_space import SYSTEM, Execution, commit
from engines.programs import answered
from jobs import BenchmarkJob

from planner.plan import Plan

_LOOP = """
def spent(plan):
    started = time.process_time()
    try:
        with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
            one(plan)
    except Exception:
        return None
    return time.process_time() - started
answer = {"seconds": [spent(plan) for plan in asked["plans"]]}
answer["search"] = search() if asked["search"] else None
print(json.dumps(answer))
"""
_SIMUMAX = (
    """
import contextlib, json, os, sys, time, warnings
asked = json.loads(sys.argv[1])
sys.path.insert(0, asked["checkout"])
os.chdir(asked["folder"])
warnings.simplefilter("ignore")
from simumax.core.config import ModelConfig, StrategyConfig, SystemConfig
from simumax.core.perf_llm import PerfLLM
configs = os.path.join(asked["checkout"], "configs")
with open(os.path.join(configs, "strategy", "tp2_pp1_dp4_mbs1.json")) as shipped:
    base = json.load(shipped) | {"seq_len": asked["seq_len"], "zero_state": 1}
again = {"none": {"enable_recompute": False},
         "selective": {"recompute_granularity": "sdp_only", "recompute_layer_num": asked["layers"]},
         "full": {"recompute_granularity": "full_block", "recompute_layer_num": asked["layers"]}}
def configured(plan):
    perf = PerfLLM()
    perf.configure(
        strategy_config=StrategyConfig.init_from_dict(base | again[plan["recompute"]] | {
            "world_size": plan["chips"], "tp_size": plan["tp"], "pp_size": plan["pp"],
            "micro_batch_size": plan["micro_batch"], "micro_batch_num": plan["micro_batches"],
            "enable_sequence_parallel": plan["sequence_parallel"],
            "zero_state": int(plan["sharded"]), "interleaving_size": plan["interleave"],
            "pp_comm_async": plan["interleave"] == 1}),
        model_config=ModelConfig.init_from_config_file(
            os.path.join(configs, "models", "gpt3-175b.json")),
        system_config=SystemConfig.init_from_config_file(
            os.path.join(configs, "system", "a100_pcie.json")))
    return perf
def one(plan):
    perf = configured(plan)
    perf.run_estimate()
    return perf.analysis_mem(), perf.analysis_cost()
def search():
    plan, kept = asked["plans"][0] | {"recompute": "selective", "interleave": 1}, {}
    started = time.process_time()
    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        configured(plan).search_best_parallel_strategy(
            world_size=plan["chips"], gmi_error=6, micro_batch_size=1,
            global_batch_size=asked["sequences"], all_search_result=kept, verbose=False)
    return {"plans": max(map(len, kept.values())), "seconds": time.process_time() - started}
"""
    + _LOOP
)
_LLM_ANALYSIS = (
    """
import contextlib, json, os, sys, time
asked = json.loads(sys.argv[1])
sys.path.insert(0, asked["checkout"])
from llm_analysis.analysis import train
def one(plan):
    return train(
        model_name="megatron-lm-175b", gpu_name="a100-sxm-80gb", log_level="ERROR",
        batch_size_per_gpu=plan["micro_batch"], global_batch_size=asked["sequences"],
        activation_recomputation={"none": 0, "selective": 1, "full": 4}[plan["recompute"]],
        ds_zero=int(plan["sharded"]), tp_size=plan["tp"], pp_size=plan["pp"],
        sp_size=plan["tp"] if plan["sequence_parallel"] else 1, total_num_gpus=plan["chips"],
        flash_attn=False)
"""
    + _LOOP
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """An estimator and how it is started.

    Attributes:
        name, version: As the table has them.
        covers: What one evaluation gives, in words.
        command: Costs one plan, as a user starts it.
        folder: On the path of its imports.
        driver: Program that costs many plans and may search; empty: it runs in this process.
        searches: What its own search goes through, in words; empty: it has none.
    """

    name: str
    version: str
    covers: str
    command: tuple[str, ...]
    folder: Path
    driver: str = ""
    searches: str = ""


def calculon(path: Path, python: str, x: Execution, folder: Path) -> Peer:
    """Calculon; writes the execution of one plan into a folder."""
    execution = folder / "execution.json"
    execution.write_text(json.dumps(x), encoding="utf-8")
    files = (path / "models" / "gpt3-175B.json", execution, path / "systems" / f"{SYSTEM}.json")
    return Peer(
        name="calculon",
        version=commit(path),
        covers="step time and memory of the first stage; no embedding, no head",
        command=(python, str(path / "bin" / "calculon"), "llm", *map(str, files), "-"),
        folder=path,
    )


def simumax(path: Path, python: str, asked: dict[str, Any]) -> Peer:
    """SimuMax; `asked`: as `asked_of` has it."""
    one = json.dumps(asked | {"checkout": str(path), "plans": asked["plans"][:1]})
    return Peer(
        name="SimuMax",
        version=commit(path),
        covers="step time and memory of every stage, from a graph of operators",
        command=(python, "-c", _SIMUMAX, one),
        folder=path,
        driver=_SIMUMAX,
        searches="tp, pp, recomputation; one micro-batch size, no interleaving",
    )


def llm_analysis(path: Path, python: str, asked: dict[str, Any]) -> Peer:
    """llm-analysis; `asked`: as `asked_of` has it."""
    plan = asked["plans"][0]
    recomputation = {"none": 0, "selective": 1, "full": 4}[plan["recompute"]]
    options = {
        "model_name": "megatron-lm-175b",
        "gpu_name": "a100-sxm-80gb",
        "activation_recomputation": recomputation,
        "batch_size_per_gpu": plan["micro_batch"],
        "global_batch_size": asked["sequences"],
        "ds_zero": int(plan["sharded"]),
        "tp_size": plan["tp"],
        "pp_size": plan["pp"],
        "sp_size": plan["tp"] if plan["sequence_parallel"] else 1,
        "total_num_gpus": plan["chips"],
    }
    told = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    return Peer(
        name="llm-analysis",
        version=commit(path),
        covers="time of a micro-batch, times their number, and memory of a chip; no pipeline",
        command=(python, "-m", "llm_analysis.analysis", "train", *told),
        folder=path,
        driver=_LLM_ANALYSIS,
    )


def asked_of(job: BenchmarkJob, layers: int, plans: Sequence[Plan], folder: Path) -> dict[str, Any]:
    """Plans of a job as the programs read them; nothing is searched."""
    return {
        "folder": str(folder),
        "seq_len": job.seq_len,
        "sequences": job.sequences,
        "layers": layers,
        "search": False,
        "plans": [
            {
                "chips": p.chips,
                "tp": p.tp,
                "pp": p.pp,
                "interleave": p.interleave,
                "micro_batch": p.micro_batch,
                "micro_batches": job.sequences // p.dp // p.micro_batch,
                "recompute": p.recompute,
                "sequence_parallel": p.sequence_parallel,
                "sharded": p.sharding == "zero1",
            }
            for p in plans
        ],
    }


def many(peer: Peer, python: str, asked: dict[str, Any]) -> dict[str, Any]:
    """CPU seconds of each plan, None where it is refused, and what its own search took."""
    more = {"checkout": str(peer.folder), "search": bool(peer.searches)}
    return answered(peer.name, peer.driver, (), asked | more, python)
