"""Names of jobs: what Slurm and Kubernetes take."""

from __future__ import annotations

import re
from hashlib import sha256

from planner.frameworks.writing.export import Export
from planner.frameworks.writing.launch import Launch

LONGEST = 40
"""Kubernetes adds the number of a host to it, and takes 63 characters (RFC 1123)."""
_HASHED = 6  # hexadecimal digits of the hash: 16.7 million values


def job_name(launch: Launch, more: str = "") -> str:
    """Model and chips, in lower-case letters, digits and single hyphens.

    At most `LONGEST` characters, the first of which is a letter. `more` stands at its end.
    """
    end = f"-{launch.plan.chips}{more}"
    model = re.sub(r"[^a-z0-9]+", "-", launch.model.name.lower()).strip("-")
    name = model if model[:1].isalpha() else f"m-{model}"
    return name[: LONGEST - len(end)].rstrip("-") + end


def own_name(launch: Launch, export: Export) -> str:
    """The same with the kind of job, the target, and a hash of what is started.

    On Kubernetes a job takes the place of one of its name, so that two that differ need two names.
    """
    texts = [text for file in export.files for text in (file.name, file.text)]
    digest = sha256("\0".join((*texts, repr(export.start))).encode()).hexdigest()[:_HASHED]
    target = export.target.rpartition("-")[2]
    return job_name(launch, f"-{launch.cost.job.learns}-{target}-{digest}")
