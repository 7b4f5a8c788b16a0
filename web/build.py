"""Builds the page in which the planner runs: one folder of plain files for any static server.

  python web/build.py -o site/app       builds it
  python web/build.py --missing         says which wheels cannot be had, and exits with 1 if any

Takes Node.js with npm for the runtime (pinned by hash in package-lock.json) and PyPI for wheels
(pinned by hash in wheels.toml); a wheel that lies in web/wheels is taken from there. Modules are
compiled once, by the Python of the page, and that Python is started once: a visitor's browser takes
the memory of one that has started.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WHEELS = HERE / "wheels"
MAIN = "planner.packed"
STARTED = "python.packed"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip",
           "pyodide-lock.json")  # fmt: skip
PACKAGES = ("planner", "solvers", "hardware_db", "models_db", "strict_yaml", "frozen_records")
_WASM = ["--platform", "pyemscripten_2026_0_wasm32", "--python-version", "3.14", "--abi", "cp314",
         "--implementation", "cp", "--only-binary", ":all:"]  # fmt: skip
_LEFT_OUT = re.compile(r"/(tests|include|sboms|random/lib)/|\.(pyi|pxd|pyx)$")
"""Parts of packages that no answer takes."""
_CACHE = "home/pyodide/.cache/planner"
"""Where the planner keeps records that were read once (`strict_yaml.cache`)."""


class MissingError(Exception):
    """A file that cannot be had."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """A row of wheels.toml.

    Attributes:
        file, sha256: Of the wheel, or of a source archive of pure Python.
        archive: Which archive of the page it is in; empty: it only carries others.
        inside, at: The file that carries it, and where in it.
        folder: Of a source archive, what holds the package.
    """

    file: str
    sha256: str
    archive: str = MAIN
    inside: str = ""
    at: str = ""
    folder: str = ""

    @property
    def requirement(self) -> list[str]:
        """Arguments of `pip download`."""
        name, version = self.file.removesuffix(".tar.gz").split("-")[:2]
        if self.file.endswith(".tar.gz"):
            return ["--no-binary", ":all:", f"{name}=={version}"]
        return [*(_WASM if "wasm32" in self.file else ()), f"{name}=={version}"]


def wheels() -> list[Wheel]:
    """The rows of wheels.toml."""
    return [Wheel(**row) for row in tomllib.loads((HERE / "wheels.toml").read_text())["wheel"]]


def fetched(wheel: Wheel, known: dict[str, Wheel]) -> Path:
    """The file of a wheel, with the hash that it must have.

    Raises:
        MissingError: It cannot be had, or is another.
    """
    path = WHEELS / wheel.file
    if not path.exists():
        WHEELS.mkdir(exist_ok=True)
        if wheel.inside:
            with zipfile.ZipFile(fetched(known[wheel.inside], known)) as carrier:
                _written(path, carrier.read(wheel.at))
        else:
            _downloaded(wheel)
    found = sha256(path.read_bytes()).hexdigest()
    if found != wheel.sha256:
        raise MissingError(f"{path}: its SHA-256 is {found}, not {wheel.sha256}")
    return path


def _written(path: Path, content: bytes) -> None:
    temporary = path.with_suffix(".part")
    temporary.write_bytes(content)
    temporary.replace(path)


def _downloaded(wheel: Wheel) -> None:
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "-d", folder]
        words += ["--ignore-requires-python", *wheel.requirement]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        path = Path(folder) / wheel.file
        if done.returncode or not path.exists():
            raise MissingError(
                f"{wheel.file} cannot be had; place it in {WHEELS} (SHA-256 {wheel.sha256})"
            )
        _written(WHEELS / wheel.file, path.read_bytes())


def missing() -> list[str]:
    """A line for each wheel that cannot be had."""
    known = {wheel.file: wheel for wheel in wheels()}
    lines = []
    for wheel in known.values():
        try:
            fetched(wheel, known)
        except MissingError as error:
            lines.append(str(error))
    return lines


def build(output: Path) -> None:
    """Builds the folder, whole or not at all.

    Raises:
        MissingError: A wheel, or npm's runtime, cannot be had.
    """
    with tempfile.TemporaryDirectory(dir=output.parent) as temporary:
        work = Path(temporary)
        site = work / "site"
        shutil.copytree(HERE / "app", site)
        (site / "runtime").mkdir()
        node = _runtime(work)
        for name in RUNTIME:
            shutil.copy(node / "pyodide" / name, site / "runtime" / name)
        trees = _trees(work / "trees")
        for tree in trees.values():
            _run(node, "compile.mjs", tree / "packages")
            for place in (tree, *tree.rglob("*")):
                os.utime(place, (0, 0))  # which Python remembers
        trees[STARTED] = work / "started"
        trees[STARTED].mkdir()
        _run(node, "start.mjs", trees[MAIN] / "packages", trees[STARTED] / "memory")
        contents = {name: _contents(tree) for name, tree in trees.items()}
        version = _version_of(contents)
        for name, files in contents.items():
            _packed(files, version, site / "runtime" / name)
        (site / "form.json").write_text(_form(), encoding="utf-8")
        listed(site)
        if output.exists():
            shutil.rmtree(output)
        site.rename(output)


def _runtime(work: Path) -> Path:
    """Modules of npm by the lock file, which has their hashes."""
    for name in ("package.json", "package-lock.json"):
        shutil.copy(HERE / name, work / name)
    words = ["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts", "--silent", "--omit=dev"]
    try:
        subprocess.run(words, cwd=work, check=True, capture_output=True, text=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise MissingError(
            f"npm cannot get the runtime: {getattr(error, 'stderr', '') or error}"
        ) from None
    return work / "node_modules"


def _trees(folder: Path) -> dict[str, Path]:
    """The files of each archive, by its name."""
    known = {wheel.file: wheel for wheel in wheels()}
    trees: dict[str, Path] = {}
    for wheel in known.values():
        if wheel.archive:
            tree = trees.setdefault(wheel.archive, folder / wheel.archive)
            _unpacked(fetched(wheel, known), tree / "packages", wheel.folder)
    main = trees[MAIN] / "packages"
    for name in PACKAGES:
        shutil.copytree(ROOT / name, main / name, ignore=shutil.ignore_patterns("__pycache__"))
    _warmed(trees[MAIN] / _CACHE)
    return trees


def _unpacked(path: Path, into: Path, folder: str) -> None:
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive, tempfile.TemporaryDirectory() as temporary:
            archive.extractall(temporary, filter="data")
            source = next(Path(temporary).iterdir()) / folder
            shutil.copytree(source, into, dirs_exist_ok=True, ignore=_unwanted)
        return
    with zipfile.ZipFile(path) as archive:
        kept = [name for name in archive.namelist() if not _LEFT_OUT.search(f"/{name}")]
        archive.extractall(into, kept)  # noqa: S202  (zipfile keeps to it)


def _unwanted(_: str, names: list[str]) -> set[str]:
    return {name for name in names if name.endswith((".c", ".egg-info"))}


def _warmed(folder: Path) -> None:
    """The records of the databases, as the planner keeps them once it has read them."""
    code = (
        "import models_db, hardware_db\n"
        "for name in models_db.list_models(): models_db.load_model(name)\n"
        "for name in hardware_db.list_clusters(): hardware_db.load_cluster(name)\n"
        "for name in hardware_db.list_chips(): hardware_db.load_chip(name)\n"
        "hardware_db.load_calibration('default')\n"
        "import planner; planner.solve(model='gpt3-125m', hardware='h100-sxm5-80', chips=8)\n"
    )
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "XDG_CACHE_HOME": cache, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        shutil.copytree(Path(cache) / "planner", folder)


def _run(node: Path, name: str, *words: Path) -> None:
    """Runs a script of this folder beside the modules of npm."""
    script = node.parent / name
    shutil.copy(HERE / name, script)
    subprocess.run(["node", str(script), *map(str, words)], check=True, cwd=node.parent,
                   stdout=subprocess.DEVNULL)  # fmt: skip


def _contents(tree: Path) -> dict[str, bytes]:
    return {file.relative_to(tree).as_posix(): file.read_bytes() for file in _files(tree)}


def _version_of(contents: dict[str, dict[str, bytes]]) -> str:
    """Of all archives together: parts of two builds do not fit each other.

    The memory follows from the others and `start.mjs`, but for some bytes that nothing reads.
    """
    whole = sha256((HERE / "start.mjs").read_bytes())
    for archive, files in contents.items():
        for name, content in files.items() if archive != STARTED else ():
            whole.update(f"{name} {len(content)}\n".encode() + content)
    return whole.hexdigest()[:16]


def _packed(files: dict[str, bytes], version: str, path: Path) -> None:
    """Files as `web/app/boot.js` takes them; the same bytes each time.

    Compressed as one: the length of a heading in four bytes, the heading, and the files.
    """
    sizes = [[name, len(content)] for name, content in files.items()]
    heading = json.dumps({"build": version, "files": sizes}).encode()
    content = b"".join([len(heading).to_bytes(4, "little"), heading, *files.values()])
    path.write_bytes(gzip.compress(content, mtime=0))


def _files(folder: Path) -> Iterator[Path]:
    yield from sorted(path for path in folder.rglob("*") if path.is_file())


def _form() -> str:
    sys.path.insert(0, str(ROOT))
    from planner.web.form import form  # noqa: PLC0415  (of this checkout)

    return json.dumps(form(), separators=(",", ":"))


def listed(site: Path) -> None:
    """Writes what the service worker keeps, with a version that is of all contents.

    The memory's is in the other archives (`_version_of`).
    """
    files = site / "files.js"
    names = [path.relative_to(site).as_posix() for path in _files(site) if path != files]
    read = (site / name for name in names if not name.endswith(STARTED))
    whole = sha256(b"".join(sha256(path.read_bytes()).digest() for path in read))
    kept = {"version": whole.hexdigest()[:16], "names": ["./", *names, files.name]}
    files.write_text(f"self.FILES = {json.dumps(kept)};\n", encoding="utf-8")


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("-o", "--output", type=Path, default=HERE / "out", help="the folder")
    parser.add_argument("--missing", action="store_true", help="only say what cannot be had")
    given = parser.parse_args()
    if given.missing:
        lines = missing()
        print("\n".join(lines) or "every wheel is there")
        sys.exit(bool(lines))
    try:
        build(given.output.resolve())
    except MissingError as error:
        sys.exit(f"error: {error}")
    size = sum(path.stat().st_size for path in _files(given.output))
    print(f"{given.output}: {size / 1e6:,.1f} MB; any static server serves it, or planner web")


if __name__ == "__main__":
    main()
