"""Launches by torchrun: ranks follow from which host it is, and importing counts the chips."""

import os
import subprocess
from pathlib import Path

from support.cases import each

from frameworks.export.cases import CASES
from planner.frameworks.reading.commands import command_in
from planner.frameworks.targets import TARGETS
from planner.frameworks.torchtitan.reading.names import known_settings
from planner.frameworks.writing import Export, export_plan

MANY, ONE, RACKS = "dense-hybrid", "one-chip", "latent-experts"
LAUNCHES = [("torchtitan", "0.3"), ("torchtitan", "0.2"), ("torchtitan", "main"), ("nanotron", "")]


def exported(target: str, version: str, name: str) -> Export:
    case = CASES[name]
    return export_plan(case.cost(), case.plan, TARGETS[target], version, allow_lossy=True)


def started(one: Export, folder: Path) -> list[str]:
    """The words that torchrun is called with on the fourth host."""
    fake = folder / "torchrun"
    fake.write_text('#!/bin/bash\nprintf "%s\\n" "$@"\n')
    fake.chmod(0o755)
    for file in one.files:
        (folder / file.name).write_text(file.text)
    environment = dict(one.environment) | {"PATH": f"{folder}:{os.environ['PATH']}"}
    if "NODE_RANK" in environment:
        environment |= {"NODE_RANK": "3", "MASTER_ADDR": "first"}
    done = subprocess.run(
        ["bash", "-c", one.command],
        cwd=folder, env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return done.stdout.splitlines()


@each(("target", "version"), LAUNCHES)
def test_ranks_are_where_the_plan_puts_them(target: str, version: str, tmp_path: Path) -> None:
    words = started(exported(target, version, MANY), tmp_path)
    launcher = dict(zip(words[:10:2], words[1:10:2], strict=True))
    assert launcher == {
        "--nnodes": "64", "--nproc-per-node": "8", "--node-rank": "3", "--master-addr": "first",
        "--master-port": "29500",
    }  # fmt: skip
    assert not [word for word in words if "rdzv" in word]


@each(("target", "version"), LAUNCHES)
def test_one_host_needs_no_address(target: str, version: str, tmp_path: Path) -> None:
    one = exported(target, version, ONE)
    assert started(one, tmp_path)[:3] == ["--standalone", "--nproc-per-node", "1"]
    assert not {"MASTER_ADDR", "NODE_RANK"} & dict(one.environment).keys()


def test_the_script_sets_its_own_variables() -> None:
    script = exported("torchtitan", "0.3", ONE).files[0].text.splitlines()
    variable, start = "export PYTORCH_ALLOC_CONF=expandable_segments:True", "torchrun \\"
    assert script.index(variable) < script.index(start)


def test_the_script_says_which_hosts_of_a_rack() -> None:
    one = exported("torchtitan", "0.3", RACKS)
    script = one.files[0].text
    assert one.hosts
    assert all(f"# {line}\n" in script for line in one.hosts)


@each("name", [MANY, ONE])
def test_importing_counts_the_chips(name: str) -> None:
    case = CASES[name]
    text = exported("torchtitan", "0.3", name).files[0].text
    known = {f"--{setting}" for setting in known_settings()}
    assert command_in(text, "torchtitan.sh", known, "torchtitan").chips == case.plan.chips
