"""A local calibration as text; `planner.assumptions.local_file` reads it."""

from __future__ import annotations

from typing import Any

from planner.base.version import __version__
from planner.evidence.calibration.answer import CalibrationResult, Finding
from planner.evidence.calibration.asking import changed_findings
from strict_yaml.writing import dump

_WORDS = {
    "runs": "training runs",
    "traces": "profiler traces",
    "nccl": "collectives",
    "gemm": "matrix multiplications",
    "measured": "microbenchmarks",
}


def local_text(result: CalibrationResult) -> str:
    """The YAML of a local calibration; at least one constant must have moved."""
    found = changed_findings(result)
    assert found, "nothing moved"
    constants: dict[str, Any] = {}
    for finding in found:
        *groups, name = finding.path.split(".")
        place = constants
        for group in groups:
            place = place.setdefault(group, {})
        place[name] = _constant(finding)
    data = {
        "name": "local",
        "title": f"Local calibration of {', '.join(result.chips)}",
        "note": "Made by planner calibrate; value = posterior, sigma of its logarithm.",
        "based_on": result.based_on,
        "date": result.date,
        "planner": __version__,
        "chips": list(result.chips),
        "eras": list(result.eras),
        "runs": len(result.rows),
        "inputs": [
            {"file": one.file, "kind": one.kind, "sha256": one.sha256, "rows": one.rows}
            for one in result.inputs
        ],
        "constants": constants,
        "sources": {
            "local": {"title": "Measurements of this installation", "document": "inputs, above"}
        },
    }
    return dump(data, width=100, unicode=True)


def _constant(finding: Finding) -> dict[str, Any]:
    kind = f"{finding.n} {_WORDS[finding.by]}"
    return {
        "value": float(finding.value),
        "unit": finding.unit,
        "kind": "measured",
        "source": "local",
        "prior": float(finding.prior),
        "sigma": finding.sigma,
        "n": finding.n,
        "note": f"{finding.meaning}; {kind}",
    }
