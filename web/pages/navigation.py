"""Where each page stands: by what a reader wants."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from pages import PagesError

Tree = list[Any]
"""Pages, and mappings of one title to a page or to such a list."""


class UnplacedError(PagesError):
    """Pages that stand nowhere, or twice, or that are not there."""


TREE: Tree = [
    {"Start": [
        "index.md", {"The first plan, in ten minutes": "start.md"}, {"A tour": "tour.md"},
        {"In the browser": "browser.md"}, {"From Python: notebooks": ["<notebooks>"]},
    ]},
    {"Guides": [
        {"Train": [
            {"Pre-train on NVIDIA": "guides/nvidia.md"}, {"Pre-train on TPU": "guides/tpu.md"},
            {"Pre-train on AMD": "guides/amd.md"}, {"Fine-tune": "fine-tuning.md"},
            {"Recipes of fine-tuning": "recipes.md"},
            {"From config.json to a running command": "launch.md"},
            {"Read your own launch": "launches.md"}, {"Exports": "export.md"},
            {"What each framework runs": "frameworks.md"}, {"Uneven stages": "uneven.md"},
        ]},
        {"Decide": [
            {"Buy a cluster": "guides/buy-a-cluster.md"},
            {"Days and money, with failures": "goodput.md"},
            {"Phases, and nodes that are down": "phases.md"}, {"Sweeps": "sweep.md"},
            {"A fleet of jobs": "fleet.md"}, {"What if": "what-if.md"},
            {"Why a plan costs that": "explain.md"}, {"Reports": "report.md"},
        ]},
        {"Design": [
            {"Design a chip": "guides/design-a-chip.md"},
            {"Fewer big chips": "fewer-big-chips.md"},
            {"Fewer big chips: assumptions": "fewer-big-chips/assumptions.md"},
            {"Ridgelines": "ridgeline.md"},
            {"Which topologies": "model/topologies.md"}, {"Collectives": [
                {"Synthesis": "collectives.md"}, {"In plans": "collectives/planner.md"},
                {"Simulation": "collectives/simulation.md"},
                {"How far it goes": "collectives/scaling.md"},
                {"Files": "collectives/export.md"}, {"NCCL": "collectives/nccl.md"},
            ]},
        ]},
        {"Your own machines and models": [
            {"Calibrate from one node": "guides/one-node.md"}, {"Calibration": "calibration.md"},
            {"Your own cluster": "my-cluster.md"}, {"Your own model": "models.md"},
            {"Model types of Hugging Face": "models-types.md"},
        ]},
    ]},
    {"How it works": [
        {"The model": [
            {"Overview": "model/README.md"},
            {"Time": [
                {"A step": "model/time.md"}, {"Kernels": "model/kernels.md"},
                {"Tensor, context, expert parallelism": "model/model-parallelism.md"},
                {"Data parallelism": "model/data-parallelism.md"},
                {"Schedules": "model/schedules.md"}, {"Pipeline, drawn": "model/pipeline.md"},
            ]},
            {"Network": [
                {"Placement and rates": "model/network.md"},
                {"Collectives": "model/collective-costs.md"}, {"Torus": "model/torus.md"},
            ]},
            {"Memory": [
                {"What fits": "model/memory.md"}, {"Weights": "model/weights.md"},
                {"Activations": "model/activations.md"},
                {"How sure it is": "model/memory-accuracy.md"},
            ]},
            {"Energy": [
                {"A step": "model/energy.md"}, {"Clocks": "model/clocks.md"},
                {"How well it fits": "model/energy-accuracy.md"},
            ]},
            {"Within a chip": "model/within-chip.md"}, {"A run with failures": "model/goodput.md"},
        ]},
        {"The proof": [
            {"Search": "model/search.md"}, {"Layouts and machines": "model/machines.md"},
            {"Certificates": "model/certificate.md"},
            {"Other search engines": "uneven/side_by_side.md"},
            {"Bounds of uneven stages": "uneven/bounds.md"},
            {"Clocks per operation in figures": "uneven/operation-clocks.md"},
            {"Uneven stages in figures": "uneven/performance.md"},
            {"Limits on uneven stages": "uneven/limits.md"},
            {"What more freedom gains": "uneven/freedoms.md"},
            {"Freedoms in small questions": "uneven/freedoms/small.md"},
            {"Stages that differ more": "uneven/freedoms/stages.md"},
        ]},
        {"The accuracy": [
            {"In short": "accuracy.md"}, {"Step time": "accuracy/step-time.md"},
            {"What no constant has seen": "accuracy/left-out.md"},
            {"Newer chips, other estimators": "accuracy/families.md"},
            {"Memory": "accuracy/memory.md"}, {"Power and energy": "accuracy/power.md"},
            {"Collectives and kernels": "accuracy/collectives.md"},
            {"Software assumed": "accuracy/software.md"}, {"Test sources": "accuracy/split.md"},
            {"The last sources": "accuracy/sources.md"}, {"Intervals": "model/uncertainty.md"},
            {"Sixty launches": "launch-corpus.md"}, {"Peers": "peers.md"},
            {"Speed": "performance.md"}, {"Growth of the search": "performance/growth.md"},
        ]},
    ]},
    {"Reference": [
        {"Commands": ["<commands>"]}, {"Python": ["<python>"]},
        {"Files": [
            {"Jobs and plans": "jobs.md"}, {"Hardware, models, constants": "files.md"}, "<files>",
            {"JSON of plans": "json.md"}, {"JSON of studies": "json-studies.md"},
            {"JSON of checks and databases": "json-evidence.md"},
        ]},
        {"Records": ["<records>"]}, {"Support": "support.md"}, {"Reliability": "reliability.md"},
        {"Damaged files": "reliability/inputs.md"}, {"Faults": "reliability/faults.md"},
        {"Every command": "reliability/commands.md"}, {"Same answers": "reliability/answers.md"},
        {"Licences": "reliability/licences.md"}, {"Mutants": "reliability/mutants.md"},
        {"Migration": "migration.md"}, "changelog.md",
    ]},
    {"Extending": [
        {"Architecture": "architecture.md"}, {"A framework": "extending/framework.md"},
        {"An objective": "extending/objective.md"}, {"A schedule": "extending/schedule.md"},
        "contributing.md",
    ]},
    {"Glossary": "glossary.md"},
    {"Reproduced": [
        {"All numbers": "reproduce.md"}, {"ZeRO in a rack": "rack/zero.md"},
        {"Parallelism in a rack": "rack/parallelism.md"}, {"A rack, solved": "rack/solve.md"},
        {"Limits": "model/limits.md"}, {"Limits of pods and GPUs": "model/limits-pods.md"},
    ]},
]  # fmt: skip
"""The navigation; generated pages go where the name of their kind stands, as in `<commands>`."""


def tree(generated: Mapping[str, list[str]]) -> Tree:
    """The navigation with generated pages, by the name of their kind."""
    return _filled(TREE, {f"<{kind}>": pages for kind, pages in generated.items()})


def _filled(nodes: Tree, generated: Mapping[str, list[str]]) -> Tree:
    filled: Tree = []
    for node in nodes:
        if isinstance(node, str):
            filled += generated.get(node, [node])
            continue
        filled.append(
            {
                title: inner if isinstance(inner, str) else _filled(inner, generated)
                for title, inner in node.items()
            }
        )
    return filled


def placed(nodes: Iterable[Any]) -> Iterator[str]:
    """All pages of a navigation, in order."""
    for node in nodes:
        if isinstance(node, str):
            yield node
        else:
            for inner in node.values():
                yield from placed([inner] if isinstance(inner, str) else inner)


def check(nodes: Tree, written: Iterable[str]) -> None:
    """Whether each written page stands in the navigation once, and nothing else does.

    Raises:
        UnplacedError: One does not.
    """
    found, there = [*placed(nodes)], set(written)
    lines = [f"{page}: stands nowhere in web/pages/navigation.py" for page in there - set(found)]
    lines += [f"{page}: web/pages/navigation.py names it, nobody wrote it"
              for page in set(found) - there]  # fmt: skip
    lines += [f"{page}: stands in web/pages/navigation.py {found.count(page)} times"
              for page in set(found) if found.count(page) > 1]  # fmt: skip
    if lines:
        raise UnplacedError("\n".join(sorted(lines)))


def as_toml(node: Any) -> str:
    """A navigation as a value of TOML."""
    if isinstance(node, str):
        return json.dumps(node, ensure_ascii=False)
    if isinstance(node, dict):
        inside = ", ".join(f"{as_toml(key)} = {as_toml(value)}" for key, value in node.items())
        return f"{{ {inside} }}"
    return f"[{', '.join(map(as_toml, node))}]"
