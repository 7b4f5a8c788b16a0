"""Security: hostile names in scripts and pages, odd places to write to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from campaigns.place import WRITES, Place
from campaigns.readers import FILES
from campaigns.running import run
from planner.frameworks.megatron.bridge import write as bridge
from planner.frameworks.megatron.writing.flags import Flag
from planner.frameworks.torchtitan import write as torchtitan
from strict_yaml.reading import load as load_yaml

PAYLOADS = (
    '$(touch INJECTED)', '`touch INJECTED`', "'; touch INJECTED; '", '"; touch INJECTED; "',
    "\\'; touch INJECTED #", "a\ntouch INJECTED\n", "a\r\ntouch INJECTED",
    "${IFS}$(touch INJECTED)", "*/ touch INJECTED /*", "\u2028touch INJECTED",
    "--help; touch INJECTED", "EOF\ntouch INJECTED\nEOF",
)  # fmt: skip
MARKUP = (
    "<script>alert(1)</script>", "\"><img src=x onerror=alert(1)>", "'><svg onload=alert(1)>",
    "</style><script>alert(1)</script>", "</title><script>alert(1)</script>", "<!--<script>",
    "]]><script>alert(1)</script>", "javascript:alert(1)", "&lt;script&gt;", "{{7*7}}{% raw %}",
    "<a href='javascript:alert(1)'>x</a>", "</text><script>alert(1)</script>",
)  # fmt: skip
_NOTES = """#!/bin/bash
if [[ "${1:-}" == -c || "${1:-}" == --help ]]; then exit 1; fi
echo "$0" >> "$STARTED"
"""
_RUNS = """#!/bin/bash
while [[ "${1:-}" == --* ]]; do shift; done
exec "$@"
"""
_STARTED = ("torchrun", "accelerate", "tune", "axolotl", "python", "python3", "deepspeed")
"""What scripts start in the end; what starts these, as `srun`, runs its words."""
_NEEDS = re.compile(r"\$\{(\w+):\?")
_TARGETS = ("megatron", "megatron-bridge", "torchtitan", "deepspeed", "accelerate", "trl",
            "torchtune", "axolotl", "maxtext", "nanotron")  # fmt: skip


@dataclass(slots=True)
class Count:
    """How one kind fared.

    Attributes:
        tried, refused: Exports, words, pages or places.
        carried: Files of which the hostile text is a part.
        run: Scripts and words that were run; `reached`: scripts that came to what they start.
        faults: What did something that it may not, and scripts that did not come so far.
    """

    tried: int = 0
    carried: int = 0
    refused: int = 0
    run: int = 0
    reached: int = 0
    faults: int = 0


def _hostile(folder: Path, text: str) -> tuple[Path, Path]:
    """A plan whose files carry a text where files may have one, and are named so; a folder too."""
    named = text.replace("/", "|").replace("\0", "")[:60]
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace(
        "\r", "\\r") + '"'  # fmt: skip
    model, cluster = folder / "my-model.yaml", folder / "my-cluster.yaml"
    for path in (model, cluster):
        lines = (FILES / path.name).read_text(encoding="utf-8").splitlines()
        lines = [f"title: {quoted}" if line.startswith("title:") else line for line in lines]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    for path, own in ((model, "m"), (cluster, "c")):
        path.rename(folder / f"{own} {named}.yaml")
    fields = {"model": f"m {named}.yaml", "hardware": f"c {named}.yaml", "batch_tokens": 524288,
              "framework": "megatron"}  # fmt: skip
    plan = folder / f"p {named}.yaml"
    plan.write_text(
        f"schema_version: 1\njob: {json.dumps(fields)}\n"
        "plan: {mesh: {fsdp: 8}, micro_batch: 1, sharding: zero3, recompute: full}\n",
        encoding="utf-8",
    )
    return plan, folder / named


_LAUNCHERS = ((), ("--launcher", "slurm"), ("--launcher", "kubernetes"), ("--launcher", "torchrun"))
"""In turn; those that start nothing of a target are refused."""


def scripts(told: Callable[[str], None], payloads: Sequence[str] = PAYLOADS) -> Count:
    """Exports of plans with hostile titles to hostile folders, their scripts run with stand-ins."""
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        stubs = _stubs(Path(name) / "bin")
        for number, text in enumerate(payloads):
            for target in _TARGETS:
                folder = Path(name) / f"{number}-{target}"
                folder.mkdir()
                plan, out = _hostile(folder, text)
                launcher = _LAUNCHERS[(number + _TARGETS.index(target)) % len(_LAUNCHERS)]
                done = run("export", plan, "--to", target, "--allow-lossy", *launcher, "-o", out)
                count.tried += 1
                count.refused += done.code == 2
                if fault := done.fault():
                    count.faults += 1
                    told(f"export to {target} with {text!r}: {fault}")
                count.carried += _carried(out)
                for script, stopped in _run_all(out, folder, stubs):
                    count.run += 1
                    count.reached += not stopped
                    if stopped:
                        count.faults += 1
                        told(
                            f"export to {target} with {text!r}: {script} starts nothing: {stopped}"
                        )
                if injected := [*Path(name).rglob("INJECTED")]:
                    count.faults += 1
                    told(f"export to {target} with {text!r} ran a command")
                    for path in injected:
                        path.unlink()
    if not count.carried:
        count.faults += 1
        told("no file that was written has the hostile text, so that nothing was tried")
    return count


def _files(out: Path) -> list[Path]:
    return [path for path in out.rglob("*") if path.is_file()] if out.is_dir() else []


def _carried(out: Path) -> int:
    """How many files have the command of a payload in them."""
    return sum("INJECTED" in path.read_text(encoding="utf-8") for path in _files(out))


def quoted(told: Callable[[str], None], payloads: Sequence[str] = PAYLOADS) -> Count:
    """What quotes words for a shell, with words that no record has today, as Bash reads them."""
    count = Count()
    ways: dict[str, Callable[[str], str]] = {
        "megatron": lambda text: Flag("--x", (text,)).text,
        "torchtitan": lambda text: torchtitan._option("a.x", text),
        "torchtitan, lists": lambda text: torchtitan._option("a.x", [text]),
        "megatron-bridge": lambda text: f"--x {bridge._quoted(text)}",
    }
    with tempfile.TemporaryDirectory() as name:
        for way, written in ways.items():
            for text in payloads:
                count.tried += 1
                count.run += 1
                done = subprocess.run(
                    ["bash", "-c", f'set -- {written(text)}; printf %s "$2"'], cwd=name, text=False,
                    capture_output=True, check=False, timeout=60,
                )  # fmt: skip
                if done.stdout != text.encode() or [*Path(name).iterdir()]:
                    count.faults += 1
                    told(f"{way} writes {text!r} as {written(text)!r}")
                    for path in Path(name).iterdir():
                        path.unlink()
    return count


def _stubs(folder: Path) -> Path:
    folder.mkdir()
    for name in (*_STARTED, "srun"):
        (folder / name).write_text(_RUNS if name == "srun" else _NOTES, encoding="ascii")
        (folder / name).chmod(0o755)
    return folder


def _run_all(out: Path, folder: Path, stubs: Path) -> Iterator[tuple[str, str]]:
    """Runs the scripts in a folder; each with why it started nothing, empty where it did.

    What a script needs of its surroundings is the name of the folder, which is hostile too.
    """
    for path in [path for path in _files(out) if path.suffix == ".yaml"]:
        _unpack(path.read_text(encoding="utf-8"), out)
    found = [path for path in _files(out) if path.suffix in (".sh", ".sbatch")]
    needed = {name for path in found for name in _NEEDS.findall(path.read_text(encoding="utf-8"))}
    started = folder / "started"
    env = {
        **dict.fromkeys(needed, str(out)),
        "PATH": f"{stubs}:{os.environ['PATH']}", "HOME": str(folder), "STARTED": str(started),
    }  # fmt: skip
    for path in found:
        started.unlink(missing_ok=True)
        done = subprocess.run(
            ["bash", path.name], cwd=path.parent, env=env, capture_output=True, check=False,
            timeout=60, text=True, errors="replace",
        )  # fmt: skip
        yield path.name, "" if started.is_file() else f"{done.returncode} {done.stderr[-300:]}"


def _unpack(text: str, out: Path) -> None:
    """Writes the scripts that a job of Kubernetes brings along."""
    for number, document in enumerate(re.split(r"^---$", text, flags=re.MULTILINE)):
        if "kind: ConfigMap" not in document:
            continue
        for name, script in load_yaml(document.encode())["data"].items():
            if name.endswith(".sh"):
                (out / f"mounted-{number}-{name}").write_text(script, encoding="utf-8")


class _Elements(HTMLParser):
    """Names of elements, of attributes that act, and of addresses that run."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element begins."""
        self.found.append(tag)
        for name, value in attrs:
            if name.startswith("on") or (value or "").strip().lower().startswith("javascript:"):
                self.found.append(f"{tag} {name}={value}")


def _elements(text: str) -> list[str]:
    parser = _Elements()
    parser.feed(text)
    return [one for one in parser.found if one in ("script", "img", "iframe", "object", "embed")
            or " " in one]  # fmt: skip


def pages(told: Callable[[str], None], texts: Sequence[str] = MARKUP) -> Count:
    """Reports and pictures of jobs with hostile titles: elements are those of a harmless one."""
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        usual: dict[str, list[str]] = {}
        for number, text in enumerate(("harmless", *texts)):
            folder = Path(name) / str(number)
            folder.mkdir()
            plan, _ = _hostile(folder, text)
            for ending in ("html", "svg"):
                picture = folder / f"p.{ending}"
                done = run("evaluate", plan, "--plot", picture)
                count.tried += 1
                count.refused += done.code == 2
                if not picture.is_file():
                    count.faults += 1
                    told(f"{ending} with {text!r}: {done.err}")
                    continue
                found = _elements(picture.read_text(encoding="utf-8"))
                if found != usual.setdefault(ending, found) or done.fault():
                    count.faults += 1
                    told(f"{ending} with {text!r}: {found[:10]} {done.fault()}")
    return count


def odd_places(told: Callable[[str], None]) -> Count:
    """Links, pipes, devices and folders as what is to be written."""
    count = Count()
    with tempfile.TemporaryDirectory() as name:
        place = Place(Path(name))
        for command in ("models import", "rack topology"):
            for kind, make in _ODD.items():
                place.cleared(WRITES[command], old=False)
                words = place.words(WRITES[command])
                path = Path(next(word for word in words if word.startswith(str(place.out))))
                kept = make(path)
                done = run(*words)
                count.tried += 1
                count.refused += done.code == 2
                wrong = done.fault() or kept()
                if wrong:
                    count.faults += 1
                    told(f"{command} to {kind}: {wrong}")
                if path.is_symlink():
                    path.unlink()
    return count


def _pipe(path: Path) -> Callable[[], str]:
    os.mkfifo(path)
    return lambda: "" if path.is_fifo() else "the pipe is gone"


def _link(path: Path) -> Callable[[], str]:
    target = path.with_name("target" + path.suffix)
    target.write_text("old", encoding="ascii")
    path.symlink_to(target)
    return lambda: "" if path.is_symlink() and target.stat().st_size > 3 else "not written through"


def _dangling(path: Path) -> Callable[[], str]:
    path.symlink_to(path.with_name("absent" + path.suffix))
    return lambda: "" if path.is_symlink() else "the link is gone"


def _device(path: Path) -> Callable[[], str]:
    path.symlink_to("/dev/full")
    return lambda: "" if Path("/dev/full").is_char_device() else "a device was replaced"


def _folder(path: Path) -> Callable[[], str]:
    path.mkdir()
    return lambda: "" if path.is_dir() else "the folder is gone"


_ODD = {"a pipe": _pipe, "a link": _link, "a link to nothing": _dangling,
        "a link to a device": _device, "a folder": _folder}  # fmt: skip
