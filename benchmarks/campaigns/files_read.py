"""Which files commands read, and by which kinds of `campaigns.readers` they are tried.

Two lists that tests hold complete: one of options and arguments, as Click knows them, and one of
the modules that parse what a user gives them.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, get_type_hints

from campaigns.readings import DETECTED, LOGS, RECIPES
from planner.question.asked import BY_NAME

ROOT = Path(__file__).resolve().parents[2]
_GRAPHS = ("graph, JSON", "graph, YAML", "graph, GraphML", "graph, edges", "graph, adjacency")
_CLUSTERS = ("cluster", "cluster in full", "chip", "record like another")
_FRONTS = ("front, JSON", "front, CSV")
_EXPORTED = tuple(f"launch of {name}" for name in (
    "megatron", "deepspeed", "torchtitan", "maxtext", "nanotron", "axolotl", "trl", "torchtune",
))  # fmt: skip
_LAUNCHES = ("launch", *_EXPORTED, *RECIPES)
_PLANS = ("plan", "plan with stages", "job with a layout", *_FRONTS)
_DEFINITIONS = (
    "definition, data classes", "definition, arguments of torchtitan",
    "definition, built by torchtitan", "definition, MaxText", "definition, arguments",
)  # fmt: skip
_ROWS = tuple(
    f"rows of {what}" for what in ("collectives", "microbench", "failures", "energy", "memory")
)
_TRAINING = ("log of a run", "log of accelerate", *(f"log of {name}" for name in LOGS))
_STORES = ("store", "store, its log")
_SCHEDULES = ("schedule", "schedule, XML")
_DOCUMENTS = tuple(
    f"document of {what}" for what in ("solve", "evaluate", "explain", "phases", "down")
)
EVERYWHERE: Mapping[str, tuple[str, ...]] = {
    "--model": ("model",), "--hardware": _CLUSTERS, "--assumptions": ("assumptions",),
    "--calibration": ("calibration",), "--failure-site": ("site of failures",),
    "--graph": _GRAPHS, "--workload": ("workload",), "plan_file": _PLANS, "store": _STORES,
}  # fmt: skip
"""Kinds by the option, or the name of the argument, whatever the command."""
PLACES: Mapping[tuple[str, str], tuple[str, ...]] = {
    ("solve", "job_file"): ("job",), ("evaluate", "plan_file"): (*_PLANS, *_LAUNCHES),
    ("solve", "--resume-from"): (*_PLANS, *_LAUNCHES), ("solve", "--pools"): _CLUSTERS,
    ("explain", "plan_file"): (*_PLANS, *_LAUNCHES),
    ("compare", "plans"): (*_PLANS, "plan beside another", "answer"), ("check", "--log"): _TRAINING,
    ("verify", "certificate"): ("certificate", "certificate of stages"),
    ("fleet", "file"): ("fleet",), ("fleet", "--store"): _STORES,
    ("sweep run", "study"): ("study",), ("sweep run", "-o"): _STORES,
    ("sweep run", "--cluster"): ("cluster of workers",),
    ("goodput", "--simulate"): ("gaps between failures",), ("ridgeline", "--plan"): _PLANS,
    ("ridgeline", "--csv"): ("points",), ("report", "result"): (*_DOCUMENTS, "answer", *_FRONTS),
    ("validate", "--data"): ("runs", "runs, packed", *_ROWS), ("calibrate", "--runs"): ("runs",),
    ("calibrate", "--nccl"): ("nccl-tests",),
    ("calibrate", "--measurements"): ("manifest", "trace, Kineto", "trace, packed",
                                      "trace, Nsight", *_TRAINING),
    ("calibrate", "--gemm"): ("GEMM", "GEMM, hipBLASLt", "GEMM, mamf-finder"),
    ("calibrate", "--failures"): ("failures",),
    ("rack topology", "--traffic"): ("traffic, npy", "traffic, CSV", "traffic, YAML"),
    ("collective simulate", "schedule"): _SCHEDULES, ("collective export", "schedule"): _SCHEDULES,
    ("collective export", "--topo"): ("order of GPUs",),
    ("models show", "name"): ("model",),
    ("models import", "path"): ("config.json", "weights, index", "weights, header", *_DEFINITIONS),
    ("hardware new", "--like"): _CLUSTERS, ("hardware show", "name"): _CLUSTERS,
    ("hardware detect", "--from"): DETECTED, ("hardware detect", "files"): DETECTED,
}  # fmt: skip
"""Kinds by command and option."""
WRITTEN = frozenset({
    "--output", "-o", "--plot", "--pareto", "--certificate", "--csv", "--parquet", "--arrow",
    "--html", "--link-loads", "--plot-schedule", "--trace", "--frequencies", "--chakra",
})  # fmt: skip
"""What is written, but where `PLACES` has it."""
NO_FILES: Mapping[tuple[str, str], str] = {
    ("web", "folder"): "pages that planner builds, which are served as they are",
    ("evaluate", "--from"): "says what the file is", ("explain", "--from"): "says what it is",
    ("rack solve", "--assumptions"): "names of presets alone",
    ("validate", "--what"): "says what the file is", ("validate", "--template"): "a word",
    ("models import", "--which"): "a name in the file", ("reproduce", "--resynthesize"): "a switch",
    ("models import", "--seq-len"): "a number", ("evaluate", "--improve"): "a number",
    ("fleet", "--objective"): "a word", ("sweep table", "--rows"): "a number",
    ("export", "--max-nodes"): "a number",
    **{(name, option): "a number" for name in ("evaluate", "explain", "check")
       for option in ("--max-memory", "--memory-margin")},
}  # fmt: skip
"""What has a file in its help, and is none."""
_TOLD = re.compile(r"\bfiles?\b|\.(?:ya?ml|csv|json|xml|npy|txt|db)\b", re.IGNORECASE)


def named(commands: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Options and arguments that may name a file, by their type, their field or their help."""
    for name, command in commands.items():
        hints = get_type_hints(inspect.unwrap(command.callback))
        for one in command.params:
            field = BY_NAME.get(one.name)
            is_path = "Path" in str(hints.get(one.name))
            if is_path or _TOLD.search(getattr(one, "help", "") or "") or (
                field is not None and field.kind == "path"
            ):  # fmt: skip
                yield name, one.opts[0] if one.param_type_name == "option" else one.name


def kinds_of(command: str, option: str) -> tuple[str, ...] | None:
    """The kinds that are read there; empty: it is no file, or is written; None: nobody knows."""
    if (command, option) in PLACES:
        return PLACES[command, option]
    if (command, option) in NO_FILES or option in WRITTEN:
        return ()
    return EVERYWHERE.get(option)


_BRIDGE, _NEMO2, _BY_NAME, _TITAN = RECIPES[:4]
PARSED: Mapping[str, tuple[str, ...]] = {
    "planner/answers/explained.py": ("plan beside another",),
    "planner/answers/files/documents.py": ("answer", *_DOCUMENTS),
    "planner/assumptions/local_file.py": ("calibration",),
    "planner/base/files.py": ("job",), "planner/base/flat.py": ("front, CSV",),
    "planner/base/jsonfile.py": ("answer",),
    "planner/base/packed.py": ("runs, packed", "trace, packed"),
    "planner/cli/check.py": ("log of a run",), "planner/cli/launching.py": ("plan",),
    "planner/cli/models_definitions.py": _DEFINITIONS,
    "planner/cli/verify.py": ("certificate", "certificate of stages"),
    "planner/collectives/files/schedule_file.py": _SCHEDULES,
    "planner/collectives/msccl/program.py": ("schedule, XML",),
    "planner/collectives/questions/export.py": ("order of GPUs",),
    "planner/cost/goodput/own_site.py": ("site of failures",),
    "planner/evidence/calibration/asking.py": ("nccl-tests",),
    "planner/evidence/calibration/launches/manifest.py": ("manifest",),
    "planner/evidence/calibration/launches/measured.py": ("log of a run",),
    "planner/evidence/calibration/logs/gemm_log.py": ("GEMM", "GEMM, hipBLASLt",
                                                      "GEMM, mamf-finder"),
    "planner/evidence/calibration/logs/kineto.py": ("trace, Kineto", "trace, packed"),
    "planner/evidence/calibration/logs/nccl_log.py": ("nccl-tests",),
    "planner/evidence/calibration/logs/nsight.py": ("trace, Nsight",),
    "planner/evidence/checked/runs_file.py": ("log of a run",),
    "planner/evidence/csvfile.py": ("runs", "points", *_ROWS),
    "planner/evidence/failure_log/result.py": ("failures",),
    "planner/evidence/goodput/gaps.py": ("gaps between failures",),
    **{f"planner/evidence/training_logs/{name}.py": (f"log of {name}",)
       for name in ("torchtitan", "maxtext", "nanotron", "deepspeed")},
    "planner/evidence/training_logs/megatron.py": ("log of a run",),
    "planner/evidence/training_logs/exported.py": ("log of accelerate",),
    "planner/evidence/training_logs/trainer.py": ("log of transformers",),
    "planner/evidence/training_logs/log.py": _TRAINING,
    "planner/evidence/training_logs/own.py": ("log of a run", "log of accelerate"),
    "planner/evidence/training_logs/readers.py": _TRAINING,
    "planner/evidence/training_logs/reading.py": _TRAINING,
    "planner/explanation/sensitivity/rebuilding.py": ("job",),
    "planner/frameworks/accelerate/torchtune/commands.py": ("settings beside a script",),
    "planner/frameworks/megatron/dialects/bridge.py": (_BRIDGE,),
    "planner/frameworks/megatron/dialects/bridge_commands.py": ("launch of a Bridge recipe",),
    "planner/frameworks/megatron/dialects/fork.py": ("launch of Megatron-DeepSpeed",),
    "planner/frameworks/megatron/dialects/forms.py": (_BRIDGE, _NEMO2),
    "planner/frameworks/megatron/dialects/named_recipes.py": (_BY_NAME,),
    "planner/frameworks/megatron/dialects/nemo.py": ("launch of NeMo 1",),
    "planner/frameworks/megatron/dialects/nemo2.py": (_NEMO2, _BY_NAME),
    "planner/frameworks/megatron/dialects/neox.py": ("launch of GPT-NeoX",),
    "planner/frameworks/megatron/dialects/primus.py": ("launch of Primus",),
    "planner/frameworks/megatron/dialects/recipe.py": (_BRIDGE, "launch of NeMo 1"),
    "planner/frameworks/megatron/reading/patterns.py": ("launch with experts",),
    "planner/frameworks/reading/python/recipe.py": (_BRIDGE, _NEMO2, _BY_NAME, _TITAN),
    "planner/frameworks/reading/yaml_files.py": ("launch of maxtext", "launch of nanotron"),
    "planner/frameworks/torchtitan/reading/text.py": ("launch, TOML of torchtitan",),
    "planner/machine/detection/formats.py": DETECTED,
    **{f"planner/machine/detection/readers/{name}.py": (f"outputs, {kind}",) for name, kind in (
        ("ibstat", "ports"), ("nccl", "NCCL"), ("nvidia_matrix", "matrix"),
        ("nvidia_query", "CSV"), ("rocm", "ROCm"), ("slurm", "Slurm"),
    )},
    "planner/network/topology/custom.py": _GRAPHS,
    "planner/network/topology/traffic.py": ("traffic, npy", "traffic, CSV", "traffic, YAML"),
    "planner/question/files/front_file.py": _FRONTS,
    "planner/question/launch/read.py": _LAUNCHES,
    "planner/question/launch/resuming.py": ("document of down",),
    "planner/question/records.py": ("assumptions", "cluster"),
    "planner/studies/fleet/question.py": ("fleet",),
    "planner/studies/rack/model/workload_file.py": ("workload",),
    "planner/studies/sweep/opening.py": _STORES,
    "planner/studies/sweep/question/conditions.py": ("study",),
    "planner/studies/sweep/question/points.py": ("study",),
    "planner/studies/sweep/question/keys.py": ("study",),
    "planner/studies/sweep/question/study.py": ("study",),
    "planner/studies/sweep/rows.py": _STORES, "planner/studies/sweep/store.py": _STORES,
    "planner/studies/sweep/running/queued.py": ("cluster of workers",),
    "planner/verification/document.py": ("certificate",),
    "planner/verification/stages/document.py": ("certificate of stages",),
    "models_db/definitions/importing.py": _DEFINITIONS[:4],
    "models_db/definitions/maxtext.py": ("definition, MaxText",),
    "models_db/definitions/megatron.py": (_DEFINITIONS[0], "definition, arguments"),
    "models_db/definitions/python_source.py": _DEFINITIONS[:3],
    "models_db/definitions/stated.py": _DEFINITIONS,
    "models_db/definitions/torchtitan.py": _DEFINITIONS[1:3],
    "models_db/hub/importing.py": ("config.json",), "models_db/hub/jsonfile.py": ("config.json",),
    "models_db/hub/weights.py": ("weights, index", "weights, header"),
    "models_db/loading.py": ("model",), "models_db/reading.py": ("model",),
    "hardware_db/loading.py": ("cluster",), "hardware_db/reading.py": ("cluster",),
    "strict_yaml/json_text.py": ("graph, YAML",), "strict_yaml/reading.py": ("graph, YAML",),
}  # fmt: skip
"""Modules that open or parse what a user gives, and kinds that each of them has to be run by."""
OWN: Mapping[str, str] = {
    "planner/answers/installation.py": "of the system, and an answer that planner keeps",
    "planner/base/locks.py": "locks of planner", "planner/cli/databases.py": "what others read",
    "planner/cli/measure.py": "what it has written",
    "planner/collectives/questions/shipped.py": "shipped",
    "planner/collectives/tables/tables.py": "shipped", "planner/cost/chakra/schema.py": "shipped",
    "planner/evidence/left_out/coverage.py": "pages of this repository",
    "planner/report/pages/page.py": "shipped", "planner/web/serving.py": "pages that it built",
    "planner/studies/sweep/places.py": "of the system", "models_db/hub/formulas.py": "shipped",
    "strict_yaml/cache.py": "what planner keeps of files that it has read",
    "planner/collectives/questions/table.py": "shipped", "planner/question/recipes/recipes.py":
    "shipped", "planner/studies/reproduce/documents.py": "shipped", "models_db/hub/table.py":
    "shipped",
}  # fmt: skip
"""Modules that open or parse what no user gives, and what it is."""
_FORMS = ("planner/frameworks/megatron/dialects/", "planner/evidence/training_logs/",
          "planner/machine/detection/readers/", "models_db/definitions/")  # fmt: skip
"""Folders of which each module is a form of its own."""
_OPENS = frozenset({
    "read_bytes", "read_text", "read_yaml", "read_yaml_text", "json.loads", "tomllib.loads", "load",
    "load_yaml", "ast.parse", "ast.literal_eval", "literal_eval", "csv.reader", "csv.DictReader",
    "sqlite3.connect", "zipfile.ZipFile", "gzip.GzipFile", "ElementTree.fromstring",
    "expat.ParserCreate", "nx.parse_graphml", "yaml.parse", "np.load",
})  # fmt: skip
"""Calls that open or parse a file, as this program writes them; methods by their names alone."""
_WORDS = re.compile(r"\b(?:" + "|".join(name.replace(".", r"\.") for name in _OPENS) + r")\(")


def parsing() -> Iterator[str]:
    """Modules of the program that open or parse something, or are a form of a folder of forms."""
    for package in ("planner", "models_db", "hardware_db", "strict_yaml"):
        for path in sorted((ROOT / package).rglob("*.py")):
            name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
            is_form = name.startswith(_FORMS) and path.name != "__init__.py"
            if is_form or (_WORDS.search(text) and _opens(ast.parse(text))):
                yield name


def _opens(tree: ast.Module) -> bool:
    return any(isinstance(node, ast.Call) and _opener(node.func) for node in ast.walk(tree))


def _opener(called: ast.expr) -> bool:
    if isinstance(called, ast.Name):
        return called.id in _OPENS
    if not isinstance(called, ast.Attribute):
        return False
    outer = called.value.id if isinstance(called.value, ast.Name) else ""
    return f"{outer}.{called.attr}" in _OPENS or (called.attr.startswith("read_") and (
        called.attr in _OPENS
    ))  # fmt: skip
