"""Galvatron from a checkout on the profile that it ships, and ours on the tables its code makes.

The profile: Llama 2 7B, sequences of 2048, one node of 8 devices with 38 GB, as its search script
says, a batch of 64. Times are read in the mode that fits the shipped file, `batch`; the script
asks for a mode that fits no shipped file. Its compiled core runs. Their seconds are those of its
dynamic program alone: the tables are made in between.
"""

from __future__ import annotations

import sysconfig
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from engines import galvatron
from engines.compared import Cell, Outcome, row, timed
from engines.programs import answered, compiled

# Runs Galvatron's own search; its cost models make the tables of every task that it solves.
_DRIVER = """
import contextlib, json, math, os, sys, time, types
asked = json.loads(sys.argv[1])
sys.path[:0] = [asked["checkout"], asked["folder"]]
runtime = types.ModuleType("galvatron.core.runtime")  # its own needs GPUs
runtime.__path__ = [os.path.join(asked["checkout"], "galvatron", "core", "runtime")]
sys.modules[runtime.__name__] = runtime
from galvatron.core.search_engine import dynamic_programming
from galvatron.core.search_engine.args_schema import GalvatronSearchArgs
from galvatron.core.search_engine.search_engine import GalvatronSearchEngine
from galvatron.core.cost_model.components.embedding_lmhead_cost import (
    EmbeddingLMHeadMemoryCostModel, EmbeddingLMHeadTimeCostModel)
from galvatron.core.cost_model.components.layer_cost import (
    MemoryCostModelBase, TimeCostModelBase)
from galvatron.core.cost_model.cost_model_handler import pipeline_costmodel
args = GalvatronSearchArgs()
for part, values in asked["settings"].items():
    for name, value in values.items():
        assert hasattr(getattr(args, part), name), name
        setattr(getattr(args, part), name, value)
args.options_info.log_dir = args.options_info.output_config_path = asked["folder"]
answer = {"seconds": 0.0, "tasks": [], "steps": []}
problems = []
fit = dynamic_programming.DPAlg.fit
def timed(self):
    started = time.process_time()
    found = fit(self)
    answer["seconds"] += time.process_time() - started
    return found
solved = dynamic_programming.DpOnModel._build_dp_and_run_multi_layer_type
def listed(self, **given):
    problems.append((self, given, list(self.input_layer_strategy_list),
                     sorted(self.input_embedding_lmhead_strategy_list)))
    if "plan" in asked:
        return {"time_cost": math.inf, "memory_used": [], "memory_remain": [],
                "strategy_list": None, "embedding_lmhead_tp_sp_size": -1,
                "embedding_lmhead_sp": -1, "embedding_lmhead_sdp": -1, "pp_size": given["pp_size"]}
    found = solved(self, **given)
    answer["steps"].append(found["time_cost"])
    return found
def shared(own, profiled=True):
    lists = {"model_args": own.model_args_list, "train_args": own.train_args_list,
             "parallel_args": own.parallel_args_list,
             "profile_model_args": own.profile_model_args_list}
    if profiled:
        lists["profile_hardware_args"] = own.profile_hardware_args_list
    return {name: values[0] for name, values in lists.items()}
def task(own, given, strategies, ends):
    size = {"global_batch_size": given["gbsz"], "chunks": given["chunks"]}
    stages = range(given["pp_size"])
    times = [TimeCostModelBase(strategy=s, **size, **shared(own)).gen_result() for s in strategies]
    sized = [[math.ceil(MemoryCostModelBase(strategy=s, stage_idx=i, **size, **shared(own, False))
                        .get_memory_cost()["enc_total"]) for s in strategies] for i in stages]
    buffers = 0.0
    if given["tp_sp_mode"] != "sp_only":
        width = given["pp_size"] * given["global_buffer_tp_size"]
        samples = given["gbsz"] / given["chunks"] / (own.world_size // width)
        buffers = samples * own.config.model_info.hidden_size * max(own.sequence_len) * 2 / 2**20
    end_times = [list(EmbeddingLMHeadTimeCostModel(strategy=s, sequence_length_list=
                      own.sequence_len, **size, **shared(own)).gen_result()[1]) for s in ends]
    room = [[own.max_mem - math.ceil(used) - int(buffers) for used in
             EmbeddingLMHeadMemoryCostModel(strategy=s, **size, **shared(own, False))
             .get_memory_cost()["enc_total"]] for s in ends]
    return {"batches": given["chunks"], "layers": [int(n) for n in given["pp_stage_list"]],
            "compute": [bare for _, bare in times], "synced": [whole for whole, _ in times],
            "memory_mb": sized, "ends": end_times, "room_mb": room}
def cost(own, given, strategies, ends):
    plan = asked["plan"]
    chosen = [strategies[s] for own_counts in plan["counts"]
              for s, count in enumerate(own_counts) for _ in range(count)]
    other = EmbeddingLMHeadTimeCostModel(
        strategy=ends[plan["end"]], sequence_length_list=own.sequence_len,
        global_batch_size=given["gbsz"], chunks=given["chunks"], **shared(own)).gen_result()[1]
    lists = {name: getattr(own, name) for name in
             ("model_args_list", "train_args_list", "parallel_args_list",
              "profile_model_args_list", "profile_hardware_args_list")}
    return pipeline_costmodel(
        layer_num_list=own.layer_num, strategy_list=chosen, partition=given["pp_stage_list"],
        chunks=given["chunks"], gbsz=given["gbsz"], pp_size=given["pp_size"],
        other_time_cost=other, **lists)
dynamic_programming.DPAlg.fit = timed
dynamic_programming.DpOnModel._build_dp_and_run_multi_layer_type = listed
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    engine = GalvatronSearchEngine(args)
    info = args.model_info
    engine.set_search_engine_info(
        path=os.path.join(asked["checkout"], "galvatron", "models", "gpt"),
        model_layer_configs=[{"hidden_size": info.hidden_size, "layer_num": info.num_layers,
                              "seq_len": args.common_train_info.seq_length}],
        model_name=info.model_size)
    engine.initialize_search_engine()
    engine.parallelism_optimization()
    if "plan" in asked:
        answer["step"] = cost(*problems[asked["plan"]["task"]])
    else:
        answer["tasks"] = [task(*problem) for problem in problems]
print(json.dumps(answer))
"""
_SETTINGS: dict[str, dict[str, Any]] = {
    "model_info": {"hidden_size": 4096, "num_layers": 32, "model_size": "llama2-7b"},
    "common_train_info": {
        "seq_length": 2048,
        "sequence_parallel": True,
        "global_memory_buffer": True,
    },
    "parallelism_info": {
        "default_dp_type": "zero2",
        "pipeline_type": "pipedream_flush",
        "async_grad_reduce": True,
        "mixed_precision": "bf16",
    },
    "hardware_info": {"memory_constraint": 38},
    "profiling_info": {"time_profile_mode": "batch", "memory_profile_mode": "static"},
}
_BATCH = 64
_CASES = (8,)
"""Micro-batches of a step."""


def build(checkout: Path, folder: Path) -> None:
    """Compiles Galvatron's core into a folder, as its `setup.py` does.

    Raises:
        ImportError: pybind11 is not installed.
        RuntimeError: It does not compile.
    """
    include = [import_module("pybind11").get_include(), sysconfig.get_paths()["include"]]
    program = folder / f"galvatron_dp_core{sysconfig.get_config_var('EXT_SUFFIX')}"
    flags = ["-shared", "-std=c++17", "-fPIC", *(f"-I{path}" for path in include)]
    compiled("Galvatron's core", flags, checkout / "csrc" / "dp_core.cpp", program)


def _run(checkout: Path, folder: Path, batches: int, more: dict[str, Any]) -> dict[str, Any]:
    sizes = {"min_bsz": _BATCH, "max_bsz": _BATCH, "settle_chunk": batches}
    settings = _SETTINGS | {"batch_size_info": sizes}
    asked = {"checkout": str(checkout), "folder": str(folder), "settings": settings} | more
    return answered("Galvatron", _DRIVER, (), asked)


def rows(checkout: Path, folder: Path, *, repeats: int) -> list[dict[str, Cell]]:
    """A row per case."""
    made = folder / "galvatron"
    made.mkdir()
    build(checkout, made)
    return [_row(checkout, made, batches, repeats) for batches in _CASES]


def _row(checkout: Path, folder: Path, batches: int, repeats: int) -> dict[str, Cell]:
    theirs = _run(checkout, folder, batches, {})
    tasks: Sequence[galvatron.Task] = [galvatron.task_of(record) for record in theirs["tasks"]]
    (plan, bound, _), seconds = timed(partial(galvatron.solve, tasks), repeats)
    asked = {"task": plan.task, "end": plan.end, "counts": plan.counts}
    again = _run(checkout, folder, batches, {"plan": asked})
    own = Outcome(objective=again["step"], seconds=seconds, bound=bound)
    other = Outcome(objective=min(theirs["steps"]), seconds=theirs["seconds"])
    return row(f"Llama 2 7B, 8 devices, {batches} micro-batches", other, own)
