"""Hostile names, and code that would run what it reads, of `benchmarks/reliability.py security`."""

import ast
import re

import pytest
from support.campaigns import campaigns


def test_code_calls_and_imports_nothing_that_runs_what_it_reads() -> None:
    modules, found = campaigns("forbidden").lint()
    assert found == []
    assert modules > 1000


MAY_NOT = (
    "eval(x)", "import pickle", "from yaml import load", "__import__('x')",
    "import os\nos.system(x)",
    "import subprocess\nsubprocess.run(x, shell=True)", "from os import system\nsystem(x)",
    "import os as o\no.system(x)", 'import os\nos.execvp("sh", [x])', "import pty",
    'import os\nos.spawnlp(0, "sh", x)', "import os\nos.posix_spawn(x, [], {})", "import runpy",
    "import asyncio\nasyncio.create_subprocess_shell(x)", "import builtins\nbuiltins.eval(x)",
    "import asyncio\nasyncio.open_connection(x, 1)", "e = eval\ne(x)", "list(map(eval, xs))",
    'from importlib import import_module\nimport_module("pickle").loads(x)', "import smtplib",
    "import importlib.util as u\nu.spec_from_file_location(x).loader.exec_module(m)",
    "import numpy as np\nnp.load(x, allow_pickle=True)", "import pandas as p\np.read_pickle(x)",
    'from ruamel.yaml import YAML\nYAML(typ="unsafe").load(x)', "import joblib",
    "import socketserver",
    "import xml.etree.ElementTree as E", "import zipfile\nzipfile.ZipFile(x).extractall()",
    "import tarfile\ntarfile.open(x).extractall()", "import shutil\nshutil.unpack_archive(x)",
    "import sqlite3\nsqlite3.connect(x).enable_load_extension(True)", "import webbrowser",
    "from multiprocessing.connection import Client", "import torch\ntorch.load(x)", "import socket",
)  # fmt: skip
MAY_NOT_WHERE_PROGRAMS_START = (
    "import subprocess as sp\nsp.run(x, shell=True)",
    'import subprocess\nsubprocess.run(["sh", "-c", x])',
    "from subprocess import run\nrun(x, shell=True)", "import subprocess\nsubprocess.getoutput(x)",
)  # fmt: skip


def test_what_may_not_be_called_would_be_found() -> None:
    forbidden = campaigns("forbidden")

    def found(text: str, place: str = "planner/x.py") -> list[str]:
        said: list[str] = []
        if forbidden._WORDS.search(text):
            said += forbidden.forbidden(forbidden.ROOT / place, ast.parse(text))
        return said

    for text in MAY_NOT:
        assert found(text), text
    for text in MAY_NOT_WHERE_PROGRAMS_START:
        assert found(text, "planner/machine/detection/tools.py"), text
    assert not found(
        "f(shell=1)\nre.compile(x)\nexec('')\nlayout.system\nload(x, allow_pickle=False)"
    )


def test_hostile_names_run_nothing() -> None:
    """One text for shells, one for pages; the benchmark has all of them."""
    security, told = campaigns("security"), list[str]()
    text = "'; touch INJECTED; \" $(touch INJECTED) `touch INJECTED`\ntouch INJECTED\n"
    scripts = security.scripts(told.append, (text,))
    assert scripts.run == scripts.reached >= 20
    assert scripts.carried >= 2
    security.pages(told.append, ('</style></title><script>alert(1)</script>" onload="alert(1)',))
    security.odd_places(told.append)
    assert told == []


def test_a_script_that_does_not_reach_what_it_starts_would_be_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of 162 scripts 72 stopped before: for want of a variable, or as `srun` ran no words."""
    security = campaigns("security")
    monkeypatch.setattr(security, "_TARGETS", ("nanotron",))
    for name, value in (("_RUNS", "#!/bin/bash\n"), ("_NEEDS", re.compile("(x)y"))):
        told = list[str]()
        with monkeypatch.context() as patch:
            patch.setattr(security, name, value)
            patch.setattr(security, "_LAUNCHERS", (("--launcher", "slurm"),))
            count = security.scripts(told.append, ("$(touch INJECTED)",))
        assert (count.run, count.reached < 2, count.faults) == (2, True, len(told)), told
        assert sum("starts nothing" in line for line in told) == 2 - count.reached


def test_a_word_that_is_not_quoted_would_be_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    security, told = campaigns("security"), list[str]()
    assert security.quoted(told.append).tried == 4 * len(security.PAYLOADS)
    assert told == []
    monkeypatch.setattr("shlex.quote", str)
    assert security.quoted(told.append, ("$(touch INJECTED)",)).faults == 4
