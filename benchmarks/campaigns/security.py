"""Security: hostile names in scripts and pages, odd places to write to."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from campaigns.faults import WRITES, Place
from campaigns.inputs import FILES
from campaigns.running import run

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
_STUB = "#!/bin/bash\nexit 0\n"
_TARGETS = ("megatron", "megatron-bridge", "torchtitan", "deepspeed", "accelerate", "trl",
            "torchtune", "axolotl", "maxtext", "nanotron")  # fmt: skip


@dataclass(slots=True)
class Count:
    """How one kind fared."""

    tried: int = 0
    refused: int = 0
    run: int = 0
    faults: int = 0


def _hostile(folder: Path, text: str) -> tuple[Path, Path]:
    """A plan whose files carry a text where files may have one, and a folder named so."""
    quoted = '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n").replace(
        "\r", "\\r") + '"'  # fmt: skip
    model, cluster = folder / "my-model.yaml", folder / "my-cluster.yaml"
    for path in (model, cluster):
        lines = (FILES / path.name).read_text(encoding="utf-8").splitlines()
        lines = [f"title: {quoted}" if line.startswith("title:") else line for line in lines]
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    plan = folder / "plan.yaml"
    plan.write_text(
        f"schema_version: 1\njob: {{model: {model.name}, hardware: {cluster.name}, "
        "batch_tokens: 524288, framework: megatron}\n"
        "plan: {mesh: {fsdp: 8}, micro_batch: 1, sharding: zero3, recompute: full}\n",
        encoding="utf-8",
    )
    return plan, folder / text.replace("/", "|").replace("\0", "")[:60]


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
                launcher = ("--launcher", "slurm") if number % 2 else ()
                done = run("export", plan, "--to", target, "--allow-lossy", *launcher, "-o", out)
                count.tried += 1
                count.refused += done.code == 2
                if fault := done.fault():
                    count.faults += 1
                    told(f"export to {target} with {text!r}: {fault}")
                count.run += _run_all(out, folder, stubs)
                if injected := [*Path(name).rglob("INJECTED")]:
                    count.faults += 1
                    told(f"export to {target} with {text!r} ran a command")
                    for path in injected:
                        path.unlink()
    return count


def _stubs(folder: Path) -> Path:
    folder.mkdir()
    for name in ("torchrun", "accelerate", "tune", "axolotl", "python", "python3", "srun",
                 "deepspeed", "sbatch"):  # fmt: skip
        (folder / name).write_text(_STUB, encoding="ascii")
        (folder / name).chmod(0o755)
    return folder


def _run_all(out: Path, folder: Path, stubs: Path) -> int:
    """Runs the scripts in a folder; returns how many there were."""
    found = (
        [path for path in out.rglob("*") if path.suffix in (".sh", ".sbatch")]
        if out.is_dir()
        else []
    )
    env = {
        "PATH": f"{stubs}:{os.environ['PATH']}",
        "MEGATRON_HOME": str(folder),
        "HOME": str(folder),
    }
    for path in found:
        subprocess.run(
            ["bash", path.name], cwd=path.parent, env=env, capture_output=True, check=False,
            timeout=60,
        )  # fmt: skip
    return len(found)


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
