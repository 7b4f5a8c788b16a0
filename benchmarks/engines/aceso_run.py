"""Aceso from a checkout on its documented model, and ours on the profiles that it publishes.

The script of its repository for small experiments searches GPT 1.3B on 4 devices with 12 GB. Its
search runs until a budget per count of stages is over; here the counts take turns, and the budget
is of CPU seconds. It is asked with several, for it finds its best plan long before a large one is
over.
"""

from __future__ import annotations

import csv
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from engines import aceso, aceso_search
from engines.compared import Cell, Outcome, row, timed
from engines.programs import answered

# Runs Aceso's own search for every count of stages, without what it prints.
_DRIVER = """
import contextlib, json, os, sys, time
asked = json.loads(sys.argv.pop())
sys.path.insert(0, os.path.join(asked["checkout"], "search"))
time.time = time.process_time  # its budgets
answer = {}
with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
    import aceso_search
    from aceso_cost_model import predict_time_breakdown
    from aceso_utils import get_config
    from model_ops_info import get_full_op_list
    args = aceso_search.args
    operators = get_full_op_list(args)
    if "plan" in asked:
        plan = asked["plan"]
        sizes = [stage["end"] - stage["begin"] for stage in plan["stages"]]
        tensor, data = ([stage[name] for stage in plan["stages"] for _ in
                         range(stage["begin"], stage["end"])] for name in ("tensor", "data"))
        again = {at for stage in plan["stages"] for at in stage["again"]}
        config = get_config(sizes, tensor, data, [int(at in again) for at in range(len(operators))],
                            plan["micro_batch"], args.global_batch_size, operators,
                            [0] * len(operators))
        predict_time_breakdown(config)
        answer = {"step": max(config.time_list), "memory": max(config.memory_list)}
    else:
        args.time_budget_total = args.time_budget_per_trial = asked["budget_s"]
        started = time.process_time()
        found = [aceso_search.run_search(count)
                 for count in range(args.start_num_stages, args.end_num_stages + 1)]
        answer = {"seconds": time.process_time() - started,
                  "step": min(one[0] for one in found if one is not None)}
print(json.dumps(answer))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Case:
    """A model of the scripts on one node, with its set of profiles."""

    size: str
    layers: int
    batch: int
    devices: int
    memory_mb: int
    profiles: str


_CASES = (
    _Case(
        size="1_3B",
        layers=24,
        batch=512,
        devices=4,
        memory_mb=12000,
        profiles="profiled-time-miniset",
    ),
)
_MICRO_BATCHES, _TENSOR, _HOPS = (1, 2, 4, 8), (1, 2, 4, 8), 7
_BUDGETS_S = (0.1, 0.2, 1, 10)
"""CPU seconds for each count of stages."""


def model_of(folder: Path, case: _Case) -> aceso.Model:
    """A model with the profiles of a folder."""
    tables = {}
    for samples in _MICRO_BATCHES:
        for tensor in (t for t in _TENSOR if t <= case.devices):
            path = folder / f"gpt_{case.size}_mbs{samples}_tp{tensor}_algo0.csv"
            if path.exists():
                tables[samples, tensor] = aceso.table_of(_read(path))
    within = folder / "p2p_intra_node.csv"
    across = folder / "p2p_inter_node.csv"
    bands = [path if path.exists() else within for path in (within, across)]
    both = [tuple(float(cell) for cell in _read(path)[0]) for path in bands]
    return aceso.Model(
        layers=case.layers,
        batch=case.batch,
        micro_batches=_MICRO_BATCHES,
        nodes=1,
        devices_per_node=case.devices,
        memory_mb=case.memory_mb,
        tables=tables,
        within=both[0],
        across=both[1],
    )


def _read(path: Path) -> list[list[str]]:
    """Rows of a file without its first."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))[1:]


def _arguments(profiles: Path, folder: Path, case: _Case) -> list[str]:
    """What Aceso is called with; makes the folders that it writes to."""
    for name in ("trends", "top_configs", "csv"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    given: dict[str, object] = {
        "model-name": "gpt",
        "model-size": case.size,
        "global-batch-size": case.batch,
        "num-nodes": 1,
        "num-gpus-per-node": case.devices,
        "memory-limit": case.memory_mb,
        "log-path": f"{folder}/",
        "config-save-path": f"{folder}/",
        "profiled-time-path": f"{profiles}/",
        "config-suffix": "compared",
        "max-num-hops": _HOPS,
        "initial-point": "balance",
    }
    samples = ["--micro-batch-size", *(str(samples) for samples in _MICRO_BATCHES)]
    return [f"--{name}={value}" for name, value in given.items()] + samples


def rows(checkout: Path, folder: Path, *, repeats: int) -> list[dict[str, Cell]]:
    """A row per case and budget."""
    found = []
    for i, case in enumerate(_CASES):
        profiles = checkout / "profiler" / case.profiles
        arguments = _arguments(profiles, folder / f"aceso{i}", case)
        ask = partial(answered, "Aceso", _DRIVER, arguments)
        model = model_of(profiles, case)
        (plan, bound, _), seconds = timed(partial(aceso_search.solve, model), repeats)
        again = ask({"checkout": str(checkout), "plan": asdict(plan)})
        if again["memory"] > case.memory_mb * (1 + aceso.RELATIVE):
            raise RuntimeError(f"Aceso says {again['memory']} MB of {case.memory_mb}")
        own = Outcome(objective=again["step"], seconds=seconds, bound=bound)
        size = case.size.replace("_", ".")
        name = f"GPT {size}, {case.devices} devices with {case.memory_mb} MB, batch {case.batch}"
        for budget_s in _BUDGETS_S:
            theirs = ask({"checkout": str(checkout), "budget_s": budget_s})
            other = Outcome(objective=theirs["step"], seconds=theirs["seconds"])
            found.append(row(f"{name}: Aceso within {budget_s:g} s", other, own))
    return found
