"""Questions to a copy of the planner that lacks a framework; run in a process of its own.

Arguments: the folder of the copy, the frameworks that may be asked for, names that nothing may say.
"""

from __future__ import annotations

import contextlib
import io
import re
import sys
from pathlib import Path


def said_by(arguments: list[str]) -> str:
    """What a command prints, which must give an answer: exit code 0, or 3 where nothing can."""
    from planner.cli.main import _guarded  # noqa: PLC0415  (of the copy)

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = _guarded(arguments)
    if code not in (0, 3):
        raise SystemExit(f"{' '.join(arguments)}: exit {code}: {err.getvalue()}")
    return out.getvalue() + err.getvalue()


def main(copy: str, gone: list[str]) -> None:
    """Solves, evaluates, explains, exports; asks for help and the schema."""
    sys.path.insert(0, copy)
    import planner  # noqa: PLC0415
    from planner.assumptions.software import ERAS  # noqa: PLC0415
    from planner.frameworks.registry import FRAMEWORKS, TARGETS, default_framework  # noqa: PLC0415

    assert Path(planner.__file__).is_relative_to(copy), planner.__file__
    job = ["--model", "llama3-8b", "--hardware", "h100-sxm5-80", "--batch-tokens", "128Ki"]
    few = ["--chips", "8", "--axes", "tp,fsdp"]
    said = said_by(["solve", *job, *few, "-o", "plan.yaml"])
    said += said_by(["evaluate", "plan.yaml"]) + said_by(["explain", "plan.yaml"])
    said += said_by(["feasible", *job, "--chips", "8", "--strategies", "fsdp"])
    schema = said_by(["schema", "job"])
    known = re.sub("|".join(f'"{era}"' for era in ERAS), "", schema)  # eras are not frameworks
    said += known
    for command in ("solve", "evaluate", "explain", "feasible", "export"):
        said += said_by([command, "--help"])
    for command in ("solve", "evaluate", "explain", "feasible"):
        said += said_by([command, "--help-all"])
    profile = default_framework("NVIDIA").name
    if profile in TARGETS:
        said_by(["solve", *job, *few, "--runnable-in", profile, "-o", "plan.yaml", "--json"])
        said += said_by(["export", "plan.yaml", "--to", profile])
    named = [name for name in gone if re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", said)]
    assert not named, named
    assert not [name for name in gone if name in FRAMEWORKS or name in TARGETS]


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
