"""Other estimators: plans told in their words, refusals left out, terms that are switched."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.engines import BENCHMARKS

# Stand-ins for the two that run in a process of their own: a plan with tensor parallelism beyond
# a node is refused; SimuMax's own search keeps three plans.
LLM_ANALYSIS = """
def train(*, tp_size, pp_size, sp_size, total_num_gpus, batch_size_per_gpu, global_batch_size,
          activation_recomputation, ds_zero, **rest):
    assert tp_size <= 8
    assert (pp_size, sp_size, total_num_gpus, batch_size_per_gpu, global_batch_size) == (
        2, tp_size, 2 * tp_size * 4, 2, 64)
    assert (activation_recomputation, ds_zero) == (4, 1)
"""
SIMUMAX_CONFIG = """
class Config:
    @classmethod
    def init_from_dict(cls, record):
        return record
    @classmethod
    def init_from_config_file(cls, path):
        return path
ModelConfig = StrategyConfig = SystemConfig = Config
"""
SIMUMAX = """
class PerfLLM:
    def configure(self, strategy_config, model_config, system_config):
        self.told = strategy_config
    def run_estimate(self):
        told = self.told
        assert told["tp_size"] <= 8
        assert (told["world_size"], told["micro_batch_num"]) == (told["tp_size"] * 8, 8)
        assert (told["recompute_granularity"], told["kept"]) == ("full_block", "as shipped")
    def analysis_mem(self):
        print("must not be read as the answer")
    analysis_cost = analysis_mem
    def search_best_parallel_strategy(self, all_search_result, **told):
        assert (told["world_size"], told["global_batch_size"]) == (64, 64)
        all_search_result["mfu"] = [0.1, 0.2, 0.3]
"""
ASKED = """
import json, sys
from pathlib import Path
import calculon_costs, peer_programs
from calculon_costs import Terms, their_bytes
from planner.plan import Plan

job = calculon_costs.JOBS["megatron-22B"]
plans = [Plan(tp=tp, pp=2, dp=4, micro_batch=2, recompute="full") for tp in (8, 16)]
folder = Path(sys.argv[1])
asked = peer_programs.asked_of(job, 48, plans, folder) | {"sequences": 64}
for plan in asked["plans"]:
    plan["micro_batches"] = 8
found = {}
for name in ("simumax", "llm_analysis"):
    peer = getattr(peer_programs, name)(folder, sys.executable, asked)
    found[name] = peer_programs.many(peer, sys.executable, asked)

said = {"weight_space": 20.0, "weight_grad_space": 3.0, "optimizer_space": 6.0, "act_space": 4.0,
        "act_checkpoint_size": 80.0, "act_grad_space": 5.0}
split = {"tensor_par_comm_type": "rs_ag", "tensor_par": 8}
found["bytes"] = {
    "none": sum(their_bytes(said, split, Terms()).values()),
    "split": sum(their_bytes(said, split, Terms(split_checkpoints=True)).values()),
    "not split": sum(their_bytes(said, split | {"tensor_par_comm_type": "ar"},
                                 Terms(split_checkpoints=True)).values()),
    "gradients": sum(their_bytes(said, split, Terms(whole_gradients=True)).values()),
    "passing": sum(their_bytes(said, split, Terms(passing_gradients=True)).values()),
}

class Llm:
    can_redo_ag = staticmethod(lambda kind, recompute: kind == "rs_ag" and recompute != "full")

def nets(tp, dp, pp):
    x = {"tensor_par": tp, "data_par": dp, "pipeline_par": pp, "tensor_par_comm_type": "rs_ag"}
    x = calculon_costs.placed(Llm, x | {"activation_recompute": "none"})
    return [x[f"{axis}_par_net"] for axis in ("tensor", "data", "pipeline")]

found["nets"] = [nets(2, 2, 2), nets(4, 4, 2), nets(16, 1, 2)]
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """In a process of its own: benchmarks are imported before numpy."""
    folder = tmp_path_factory.mktemp("peers")
    files = {
        "llm_analysis/analysis.py": LLM_ANALYSIS,
        "simumax/core/config.py": SIMUMAX_CONFIG,
        "simumax/core/perf_llm.py": SIMUMAX,
        "configs/strategy/tp2_pp1_dp4_mbs1.json": '{"kept": "as shipped"}',
    }
    for name, text in files.items():
        path = Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-c", ASKED, str(folder)]
    done = subprocess.run(command, cwd=BENCHMARKS, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_others_cost_the_plans_that_they_take(found: Any) -> None:
    for name in ("simumax", "llm_analysis"):
        taken, refused = found[name]["seconds"]
        assert taken >= 0, name
        assert refused is None, name
    assert found["simumax"]["search"]["plans"] == 3
    assert found["llm_analysis"]["search"] is None


def test_terms_change_the_bytes_that_they_name(found: Any) -> None:
    """Of 118 bytes: 80 are split by 8, 3 of gradients become 40, 5 are left out."""
    assert found["bytes"] == {"none": 118, "split": 48, "not split": 118, "gradients": 155,
                              "passing": 113}  # fmt: skip


def test_axes_lie_inside_the_node_as_far_as_the_ranks_put_them(found: Any) -> None:
    """Tensor, then data, then pipeline, with eight chips to a node."""
    assert found["nets"] == [[0, 0, 0], [0, 1, 1], [1, 1, 1]]
