"""Programs that stand in for those of a cluster, and note with which words they are called."""

import os
import subprocess
from pathlib import Path

from planner.frameworks.writing import Export

NOTE = """#!/bin/bash
if [[ "${1:-}" == -c || "${1:-}" == --help ]]; then exit 1; fi
printf '%s\\n' "$0" "$@" > "$NOTES/${STUB_HOST:-alone}"
env | grep -E '^(NNODES|NODE_RANK|MASTER_|CUDA_DEVICE_MAX_|PYTORCH_|JAX_)' |
    sort > "$NOTES/${STUB_HOST:-alone}.env"
"""
SRUN = """#!/bin/bash
while [[ "$1" == --* ]]; do echo "$1" >> "$NOTES/srun"; shift; done
for host in $STUB_HOSTS; do
    export SLURM_TOPOLOGY_ADDR="spine.leaf${host: -1}.$host" SLURMD_NODENAME="$host"
    STUB_HOST="$host" "$@" || exit
done
"""


class Stubs:
    """A folder with the programs, to be first in the PATH, and one with what they noted."""

    def __init__(self, folder: Path) -> None:
        self.bin, self.notes = folder / "bin", folder / "notes"
        self.bin.mkdir(parents=True)
        self.notes.mkdir()
        for name in ("torchrun", "accelerate", "tune", "axolotl", "python3"):
            self._program(name, NOTE)
        self._program("srun", SRUN)

    def _program(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text, encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def run(
        self, words: list[str], folder: Path, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """A command in a folder, with these programs and variables alone."""
        path = f"{self.bin}:{os.environ['PATH']}"
        return subprocess.run(
            words, cwd=folder, env={"PATH": path, "NOTES": str(self.notes), **variables},
            capture_output=True, text=True, check=False,
        )  # fmt: skip

    def noted(self, host: str = "alone") -> tuple[list[str], list[str]]:
        """The words and the variables of what a host started."""
        found = [self.notes / name for name in (host, f"{host}.env")]
        words, variables = (path.read_text(encoding="utf-8").splitlines() for path in found)
        for path in found:
            path.unlink()
        return words, variables


def put(export: Export, folder: Path) -> Path:
    """The files of an export in a folder."""
    folder.mkdir(parents=True)
    for file in export.files:
        (folder / file.name).write_text(file.text, encoding="utf-8")
    return folder
