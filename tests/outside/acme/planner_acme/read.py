"""Settings of Acme's trainer as a plan."""

import json

from planner.base.errors import InputError
from planner.frameworks.reading.imported import Imported
from planner.frameworks.reading.settings import Asked
from planner.plan import Plan
from planner_acme.write import SETTINGS


def read(text: str, asked: Asked) -> Imported:
    """The plan of a file that `write` makes."""
    try:
        said = json.loads(text)
        plan = Plan(**{name: said[name] for name in SETTINGS})
        tokens = said["seq_len"] * said["global_batch"]
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{asked.name}: is no file of settings of acme") from error
    job = {
        "model": said["model"],
        "framework": "acme",
        "seq_len": said["seq_len"],
        "batch_tokens": tokens,
    }
    return Imported(source="acme", plan=plan, job=job)
