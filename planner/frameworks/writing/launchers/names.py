"""Names of jobs: what Slurm and Kubernetes take."""

from __future__ import annotations

import re

from planner.frameworks.writing.launch import Launch

LONGEST = 40
"""Kubernetes adds the number of a host to it, and takes 63 characters (RFC 1123)."""


def job_name(launch: Launch) -> str:
    """Model and chips, in lower-case letters, digits and single hyphens.

    At most `LONGEST` characters, the first of which is a letter.
    """
    chips = f"-{launch.plan.chips}"
    model = re.sub(r"[^a-z0-9]+", "-", launch.model.name.lower()).strip("-")
    name = model if model[:1].isalpha() else f"m-{model}"
    return name[: LONGEST - len(chips)].rstrip("-") + chips
