"""Piper built from a checkout and run on its BERT inputs, and ours on the same tables."""

from __future__ import annotations

import json
import statistics
import subprocess
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from engines import piper, piper_search
from engines.compared import Cell, Outcome, row, timed
from engines.programs import compiled

# Includes Piper's program and adds an entry that runs one case and prints its tables and its plan.
_DRIVER = """
#define main piper_main
#include "algo.cpp"
#undef main
int main(int count, char **given) {
    Instance ins = readBERTA100(stoi(given[1]));
    ins.maxMemoryPerDevice = stod(given[2]);
    ins.maxDevices = stoi(given[3]);
    ins.mbsInBatch = stoi(given[4]);
    ins.bandwidth = 25.0 * (1LL << 30);
    json nodes, edges;
    for (const Node &node : ins.nodes) {
        json modes;
        for (const auto &degree : node.TMPCs)
            for (const TMPC &mode : degree.second) {
                json into = json::object(), out_of = json::object();
                for (const auto &end : mode.syncTimeFw) into[to_string(end.first)] = end.second;
                for (const auto &end : mode.syncTimeBw) out_of[to_string(end.first)] = end.second;
                modes[to_string(degree.first)].push_back(
                    {{"id", mode.id}, {"timePerSample", mode.timePerSample},
                     {"parameterSize", mode.parameterSize}, {"memoryUsageA", mode.memoryUsageA},
                     {"memoryUsageB", mode.memoryUsageB}, {"syncTimeFw", into},
                     {"syncTimeBw", out_of}});
            }
        nodes.push_back({{"id", node.id}, {"TMPCs", modes}});
    }
    for (const Edge &e : ins.edges)
        edges.push_back({{"sourceId", e.sourceId}, {"destId", e.destId},
                         {"communicationCost", e.communicationCost}});
    const int repeats = stoi(given[5]);
    json seconds;
    Result plan;
    for (int i = 0; i < repeats; ++i) {
        clock_t started = clock();
        Graph graph(ins);
        plan = graph.runDP();
        seconds.push_back(double(clock() - started) / CLOCKS_PER_SEC);
    }
    json stages = json::array();
    for (const ResultStage &stage : plan.stages) {
        json modes = json::object();
        for (const auto &mode : stage.TMPCids) modes[to_string(mode.first)] = mode.second;
        stages.push_back({{"data", stage.dataParallelDegree},
                          {"tensor", stage.tensorParallelDegree}, {"modes", modes}});
    }
    cout << json{{"seconds", seconds}, {"stages", stages},
                 {"instance", {{"nodes", nodes}, {"edges", edges},
                               {"maxMemoryPerDevice", ins.maxMemoryPerDevice},
                               {"maxDevices", ins.maxDevices}, {"mbsInBatch", ins.mbsInBatch},
                               {"bandwidth", ins.bandwidth}}}} << endl;
}
"""
_CASES = ((32, 64, 480), (32, 512, 1920), (64, 256, 1920), (96, 512, 1920))
"""Transformer layers, devices, samples: of Piper's scalability experiment, figure 3."""
_QUICK = _CASES[:1]
_MEMORY_BYTES = 8.0 * 2**30


def build(checkout: Path, folder: Path) -> Path:
    """The program of Piper with an entry for one case, compiled as its README says.

    Raises:
        RuntimeError: It does not compile.
    """
    source, program = folder / "piper.cpp", folder / "piper"
    source.write_text(_DRIVER, encoding="utf-8")
    compiled("Piper", [f"-I{checkout}"], source, program)
    return program


def theirs(
    program: Path, checkout: Path, case: tuple[int, int, int], repeats: int
) -> tuple[piper.Instance, Outcome]:
    """The tables of a case and what Piper finds."""
    layers, devices, samples = case
    given = [str(layers), str(_MEMORY_BYTES), str(devices), str(samples), str(repeats)]
    command = [str(program.resolve()), *given]
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=checkout)
    printed = json.loads(done.stdout)
    instance = piper.instance_of(printed["instance"])
    plan = [_stage(instance, stage) for stage in printed["stages"]]
    objective = piper.seconds_per_sample(instance, plan)
    return instance, Outcome(objective=objective, seconds=statistics.median(printed["seconds"]))


def _stage(instance: piper.Instance, stage: Mapping[str, Any]) -> piper.Stage:
    modes = {int(node): instance.names.index(name) for node, name in stage["modes"].items()}
    nodes = tuple(sorted(modes))
    return piper.Stage(
        nodes=nodes,
        data=stage["data"],
        tensor=stage["tensor"],
        modes=tuple(modes[node] for node in nodes),
    )


def rows(checkout: Path, folder: Path, *, quick: bool, repeats: int) -> list[dict[str, Cell]]:
    """A row per case."""
    program = build(checkout, folder)
    found = []
    for case in _QUICK if quick else _CASES:
        instance, other = theirs(program, checkout, case, repeats)
        (plan, bound, _), seconds = timed(partial(piper_search.solve, instance), repeats)
        own = piper.seconds_per_sample(instance, plan)
        layers, devices, samples = case
        name = f"BERT-{layers}, {devices} devices, N = {samples}"
        found.append(row(name, other, Outcome(objective=own, seconds=seconds, bound=bound)))
    return found
