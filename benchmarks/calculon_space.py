"""The search space of calculon as a list of products, to be counted and sampled; its plans as ours.

Follows the loops of `calculon/llm/optimal_execution.py` (calculon 0.1.0, commit caa4b11) with its
default flags; the factorizations come from the user's checkout itself.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import subprocess
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Any

import measuring  # noqa: F401  (before numpy)

from planner.plan import Plan

Execution = dict[str, Any]
SYSTEM = "a100_80g"
"""Its file of A100s, of the folder `systems`."""
_NO_YES = (True, False)
_RECOMPUTE = {"full": "full", "attn_only": "selective", "none": "none"}
_OFFLOADS = {
    "optimizer": "optimizer_offload",
    "weights": "weight_offload",
    "activations": "activations_offload",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkout:
    """calculon as found in a folder.

    Attributes:
        package: Its top module.
        llm: Its class `Llm`.
        path: The folder.
    """

    package: Any
    llm: Any
    path: Path

    def record(self, folder: str, name: str) -> Any:
        """A JSON file of the checkout."""
        return json.loads((self.path / folder / f"{name}.json").read_text(encoding="utf-8"))


def load(path: Path) -> Checkout:
    """Imports calculon from a checkout.

    Its command line imports psutil for the default of one flag; an empty module stands in where
    it is not installed.

    Raises:
        FileNotFoundError: The folder does not hold calculon.
    """
    if not (path / "calculon" / "llm" / "llm.py").is_file():
        raise FileNotFoundError(f"{path}: no calculon/llm/llm.py in this folder")
    try:
        importlib.import_module("psutil")
    except ImportError:
        stand_in = types.ModuleType("psutil")
        stand_in.cpu_count = lambda logical=True: 1  # type: ignore[attr-defined]
        sys.modules["psutil"] = stand_in
    sys.path.insert(0, str(path))
    package = importlib.import_module("calculon")
    return Checkout(package=package, llm=importlib.import_module("calculon.llm").Llm, path=path)


def asked(parser: argparse.ArgumentParser, path: Path | None) -> Checkout:
    """The checkout that --calculon names; ends the program where it is none."""
    if path is None:
        parser.error(
            "--calculon PATH is missing: clone https://github.com/calculon-ai/calculon and name "
            "the folder"
        )
    try:
        return load(path)
    except FileNotFoundError as error:
        parser.error(str(error))


def commit(path: Path) -> str:
    """The commit of a checkout, short; "unknown" where git does not say."""
    ran = subprocess.run(
        ["git", "-C", str(path), "rev-parse", "--short=12", "HEAD"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    return ran.stdout.strip() or "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """Executions that share their fixed fields and take every combination of the others."""

    fixed: Execution
    choices: dict[str, tuple[Any, ...]]

    def __len__(self) -> int:
        return prod(len(values) for values in self.choices.values())

    def at(self, index: int) -> Execution:
        """One execution, by mixed radix."""
        execution = dict(self.fixed)
        for name, values in self.choices.items():
            index, digit = divmod(index, len(values))
            execution[name] = values[digit]
        return execution


def products(llm: Any, app: Any, system: Any, chips: int, batch: int) -> Iterator[Product]:
    """The whole space as products."""
    for tp in llm.get_all_tensor_parallelisms(chips, app.hidden, app.attn_heads):
        for pp in llm.get_all_pipeline_parallelisms(chips, tp, app.num_blocks):
            dp = llm.get_data_parallelism(chips, tp, pp)
            if dp > batch:
                continue
            fixed = {
                "num_procs": chips,
                "tensor_par": tp,
                "pipeline_par": pp,
                "data_par": dp,
                "batch_size": batch // dp * dp,
                "datatype": "float16",
                "attention_type": "multihead",
                "fused_activation": True,
                "training": True,
            }
            for recompute in ("full", "attn_only", "none"):
                for exchange in ("ar", "p2p_rs_ag", "rs_ag"):
                    kind = {"activation_recompute": recompute, "tensor_par_comm_type": exchange}
                    choices = _choices(llm, app, system, {**fixed, **kind})
                    yield Product(fixed={**fixed, **kind}, choices=choices)


def _choices(llm: Any, app: Any, system: Any, x: Execution) -> dict[str, tuple[Any, ...]]:
    """What remains free once parallelism, recomputation and exchange are given."""
    tp, pp, dp = x["tensor_par"], x["pipeline_par"], x["data_par"]
    recompute = x["activation_recompute"]
    tiers = tuple(range(system.num_networks))
    host = system.mem2.capacity > 0
    redo = llm.can_redo_ag(x["tensor_par_comm_type"], recompute)

    def when(condition: bool, values: tuple[Any, ...], otherwise: Any) -> tuple[Any, ...]:
        return values if condition else (otherwise,)

    sizes = llm.get_valid_microbatch_sizes(app.seq_size, tp, dp, x["batch_size"], pp)
    return {
        "pipeline_interleaving": tuple(llm.get_valid_pipeline_interleavings(app.num_blocks, pp)),
        "optimizer_sharding": when(dp > 1, _NO_YES, False),
        "seq_par_ag_redo": when(redo, _NO_YES, False),
        "data_par_overlap": when(dp > 1, _NO_YES, False),
        "tensor_par_overlap": when(tp > 1, ("none", "ring", "pipe"), "none"),
        "weight_offload": when(host, _NO_YES, False),
        "activations_offload": when(host and recompute != "full", _NO_YES, False),
        "optimizer_offload": when(host, _NO_YES, False),
        "microbatch_size": tuple(sizes),
        "tensor_par_net": when(tp > 1, tiers, 0),
        "pipeline_par_net": when(pp > 1, tiers, 0),
        "data_par_net": when(dp > 1, tiers, 0),
    }


def as_plan(x: Execution) -> Plan:
    """An execution of calculon as a plan."""
    interleave, pp = x["pipeline_interleaving"], x["pipeline_par"]
    return Plan(
        dp=x["data_par"],
        tp=x["tensor_par"],
        pp=pp,
        micro_batch=x["microbatch_size"],
        schedule="interleaved" if interleave > 1 else "1f1b",
        interleave=interleave,
        sharding="zero1" if x["optimizer_sharding"] else "ddp",
        sequence_parallel=x["tensor_par_comm_type"] == "rs_ag" and x["tensor_par"] > 1,
        recompute=_RECOMPUTE[x["activation_recompute"]],
        offload=tuple(name for name, flag in _OFFLOADS.items() if x[flag]),
    )


def sample(space: list[Product], count: int, seed: int) -> list[Execution]:
    """Executions drawn uniformly from the whole space, with replacement."""
    drawn = random.Random(seed)
    picked = drawn.choices(space, weights=[len(part) for part in space], k=count)
    return [part.at(drawn.randrange(len(part))) for part in picked]


def counts_agree(
    checkout: Checkout, app: Any, system: Any, space: list[Product], count: int
) -> bool:
    """Whether calculon's own search counts as many executions in some of the products.

    Its search runs with its debugging flag, which counts executions without running them.
    """
    return all(
        len(part) == _counted_by_calculon(checkout, app, system, part)
        for part in random.Random(0).choices(space, k=count)
    )


def _counted_by_calculon(checkout: Checkout, app: Any, system: Any, part: Product) -> int:
    module = importlib.import_module("calculon.llm.optimal_execution")
    x = part.fixed
    total = 0
    for interleave in part.choices["pipeline_interleaving"]:
        for sharded in part.choices["optimizer_sharding"]:
            found = module.OptimalExecution.search(
                True, 1, False, x["num_procs"], x["batch_size"], x["datatype"], app, system,
                x["tensor_par"], x["pipeline_par"], x["data_par"], interleave, x["batch_size"],
                x["activation_recompute"], sharded, x["tensor_par_comm_type"],
                [x["fused_activation"]], False, True, True,
            )  # fmt: skip
            total += int(found[1])
    return total
