"""Scripts that start programs with DeepSpeed, and what is to be given in their place."""

from __future__ import annotations

import re

from planner.frameworks.reading.launchers import started

_FLAG = r"--deepspeed(?:[_-]config(?:[_-]file)?)?[\s=]"
_LAUNCHER = re.compile(rf"(?m)^\s*(?:[A-Z_]+=\S*\s+|srun\s.*)*deepspeed\s|{_FLAG}")
_CONFIG = re.compile(rf"{_FLAG}+[\"']?([\w./-]+\.json)")


def unread(text: str) -> str:
    """What a script lacks; empty: it is none that starts a program with DeepSpeed."""
    if text.lstrip().startswith("{") or not _LAUNCHER.search(text):
        return ""
    named = _CONFIG.search(text)
    file = named[1] if named else "ds_config.json"
    return (
        "is a script that starts a program with DeepSpeed; of such a launch the JSON is read that "
        'it names or writes, with numbers for its "auto": planner evaluate --from deepspeed '
        f"{file} --model NAME --hardware NAME --chips {started(text) or 'N'} --seq-len N"
    )
