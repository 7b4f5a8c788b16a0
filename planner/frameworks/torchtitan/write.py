"""Plans for torchtitan: a TOML file (0.2), overrides on a command line (0.3), a recipe (main).

Sources: v0.2.2 torchtitan/config/job_config.py; 0.3.0 torchtitan/config/configs.py and manager.py;
main b5bcd76 torchtitan/config/README.md, torchtitan/trainer.py. Rules:
`planner.frameworks.torchtitan.rules`.
"""

from __future__ import annotations

import shlex
from typing import Any

from planner.frameworks.torchtitan.lost import (
    TO_REGISTER,
    function_name,
    losses,
    must_be_registered,
)
from planner.frameworks.torchtitan.models import Flavor, flavor_of
from planner.frameworks.torchtitan.python_modules import FUNCTION, added_model, config_module
from planner.frameworks.torchtitan.settings import Settings, settings_of
from planner.frameworks.torchtitan.versions import SOURCES
from planner.frameworks.writing.chosen import common_recompute
from planner.frameworks.writing.export import Export, HostStart, TextFile
from planner.frameworks.writing.launch import Launch
from planner.frameworks.writing.texts import made_by, plan_summary
from planner.frameworks.writing.toml_text import toml_text
from planner.frameworks.writing.torchrun import host_variables, rank_comments, torchrun

MODULE = "planned_config"
ALLOCATOR = ("PYTORCH_ALLOC_CONF", "expandable_segments:True")


def export(launch: Launch) -> Export:
    """A plan for torchtitan; see `planner.frameworks.writing.Export`."""
    flavor = flavor_of(launch.model, launch.version)
    settings = settings_of(launch)
    write = {"0.2": _toml, "0.3": _overrides, "main": _recipe}[launch.version]
    files, command = write(launch, flavor, settings)
    return Export(
        target="torchtitan",
        version=launch.version,
        framework_version=_source(launch),
        files=files,
        command=command,
        environment=(ALLOCATOR, *host_variables(launch)),
        lossy=losses(launch),
        start=HostStart(
            command=command,
            environment=(ALLOCATOR,),
            ends="10,000 steps, torchtitan's default: training.steps",
            restarts="checkpoint.enable is off; with it on, a run in the same folder goes on",
        ),
    )


def _source(launch: Launch) -> str:
    return f"torchtitan {SOURCES[launch.version]}"


Written = tuple[tuple[TextFile, ...], str]


def _toml(launch: Launch, flavor: Flavor | None, settings: Settings) -> Written:
    """A file for v0.2.2, with a module for a model that it lacks."""
    model = launch.model
    own = flavor is None and not must_be_registered(launch)
    module = flavor.module if flavor else "llama3" if own else TO_REGISTER
    mode: dict[str, Any] = {"mode": common_recompute(launch)}
    if mode["mode"] == "selective":
        mode["selective_ac_option"] = "op"  # every second matrix product, as the plan counts it
    tables = {
        "job": {"description": plan_summary(launch)},
        "model": {
            "name": module,
            "flavor": flavor.name if flavor else model.name,
            "hf_assets_path": f"./assets/hf/{model.name}",
        },
        **settings,
        "activation_checkpoint": mode,
    }
    if flavor is None:
        tables["experimental"] = {"custom_import": MODULE if own else TO_REGISTER}
    files = []
    if own:
        files = [TextFile(name=f"{MODULE}.py", text=added_model(launch, _comments(launch)))]
    main = TextFile(name="torchtitan.toml", text=toml_text(_comments(launch), tables))
    return (main, *files), _torchrun(launch, "--job.config_file torchtitan.toml")


def _overrides(launch: Launch, flavor: Flavor | None, settings: Settings) -> Written:
    """A script for 0.3.0, with a module for a configuration that it lacks."""
    files = []
    if flavor is not None and flavor.config:
        module, function = flavor.module, flavor.config
    elif must_be_registered(launch):
        module, function = TO_REGISTER, function_name(launch)
    else:
        module, function = MODULE, FUNCTION
        text = config_module(launch, flavor, _comments(launch))
        files = [TextFile(name=f"{MODULE}.py", text=text)]
    options = [f"--module {module}", f"--config {function}"]
    options += [
        _option(f"{section}.{key}", value)
        for section, table in settings.items()
        for key, value in table.items()
    ]
    options.append(f"activation-checkpoint:{common_recompute(launch)}")
    lines = (*_comments(launch), *rank_comments(launch))
    comments = "".join(f"# {line}\n" for line in lines)
    variable = "export {}={}\n".format(*ALLOCATOR)
    body = " \\\n  ".join([*_launcher(launch), *options])
    text = f"#!/usr/bin/env bash\n{comments}{variable}{body}\n"
    script = TextFile(name="torchtitan.sh", text=text)
    return (script, *files), "bash torchtitan.sh"


def _recipe(launch: Launch, flavor: Flavor | None, settings: Settings) -> Written:
    """A module for main whose function returns the whole configuration."""
    text = config_module(launch, flavor, _comments(launch), settings)
    file = TextFile(name=f"{MODULE}.py", text=text)
    return (file,), _torchrun(launch, f"--module {MODULE} --config {FUNCTION}")


def _option(name: str, value: Any) -> str:
    """An override; truth values are switches, and the parts of a list of lists words."""
    if isinstance(value, bool):
        section, key = name.split(".")
        return f"--{name}" if value else f"--{section}.no_{key}"
    if isinstance(value, list):
        parts = value if isinstance(value[0], list) else [value]
        return " ".join((f"--{name}", *(shlex.quote(",".join(part)) for part in parts)))
    return f"--{name} {shlex.quote(str(value))}"


def _launcher(launch: Launch) -> list[str]:
    return [*torchrun(launch), "-m torchtitan.train"]


def _torchrun(launch: Launch, arguments: str) -> str:
    return " ".join((*_launcher(launch), arguments))


def _comments(launch: Launch) -> list[str]:
    """Who wrote a file, from what, and what must be put in its place before it runs."""
    return [
        made_by(launch),
        f"For {_source(launch)}.",
        "Data and tokenizer are placeholders: torchtitan's c4, and a folder for hf_assets_path",
        "(scripts/download_hf_assets.py fills it).",
        "Compilation: the cost model assumes a compiled loss and compiled blocks.",
    ]
