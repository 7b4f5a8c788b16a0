"""Golden exports, and the record of which framework accepted them."""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from frameworks.export.cases import CASES
from planner.frameworks.targets import TARGETS
from planner.frameworks.writing import Export, export_plan
from strict_yaml.reading import load as load_yaml
from strict_yaml.writing import dump as dump_yaml

GOLDEN = Path(__file__).parent / "golden"
WRITES = os.environ.get("PLANNER_WRITE_GOLDEN") == "1"
LAUNCH = "launch.txt"


def exported(target: str, case: str, version: str = "") -> Export:
    one = CASES[case]
    return export_plan(one.cost(), one.plan, TARGETS[target], version, allow_lossy=True)


def launch_text(export: Export) -> str:
    """Everything of an export beside its files."""
    lines = [f"{name}={value}" for name, value in export.environment]
    lines += [export.command, ""]
    lines += [f"lossy {lost.field}: {lost.reason}" for lost in export.lossy]
    lines += [f"unsupported {lost.field}: {lost.reason}" for lost in export.unsupported]
    return "\n".join(lines) + "\n"


def agrees_with_golden(target: str, case: str, version: str = "") -> None:
    """Compares every text of an export byte for byte; writes them where that is asked for."""
    export = exported(target, case, version)
    texts = {file.name: file.text for file in export.files} | {LAUNCH: launch_text(export)}
    folder = GOLDEN / (f"{target}-{version}" if version else target) / case
    if WRITES:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in texts.items():
            (folder / name).write_text(text, encoding="utf-8")
    assert {path.name for path in folder.iterdir()} == set(texts)
    for name, text in texts.items():
        assert (folder / name).read_text(encoding="utf-8") == text, name


def digests(target: str) -> dict[str, str]:
    """Path below the target's folder to the sha256 of each golden file that a framework reads."""
    found = sorted(path for path in (GOLDEN / target).rglob("*") if path.is_file())
    return {
        str(path.relative_to(GOLDEN / target)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in found
        if path.name not in (LAUNCH, "accepted.yaml")
    }


def record_acceptance(target: str, facts: dict[str, Any], accepted: Iterable[str]) -> None:
    """Writes which framework accepted which golden files, where that is asked for."""
    if not WRITES:
        return
    hashes = digests(target)
    record = facts | {"files": {name: hashes[name] for name in sorted(accepted)}}
    text = dump_yaml(record, width=96)
    (GOLDEN / target / "accepted.yaml").write_text(text, encoding="utf-8")


def accepted_files(target: str) -> dict[str, str]:
    text = (GOLDEN / target / "accepted.yaml").read_text(encoding="utf-8")
    files: dict[str, str] = load_yaml(text)["files"]
    return files
