"""What the program does, said to the `logging` of the standard library once somebody loads that.

Loggers are named by module, below `planner`. Nobody can listen before `logging` is imported, which
takes a tenth of the start of a command: until then a call here looks that up and returns.
"""

from __future__ import annotations

import sys
from typing import Any

DEBUG, INFO, WARNING = 10, 20, 30
"""As `logging` numbers them."""
FIELDS = "planner_fields"
"""The attribute of a record that has what was said beside its event."""


def listening(logger: str, level: int) -> bool:
    """Whether somebody wants to know, before something is worked out for them alone."""
    logging = sys.modules.get("logging")
    return logging is not None and logging.getLogger(logger).isEnabledFor(level)


def log(logger: str, level: int, event: str, **fields: Any) -> None:
    """Says what happened.

    Args:
        logger: The module that says it: `__name__`.
        level: `DEBUG`, `INFO` or `WARNING`.
        event: In a word or two, the same each time.
        **fields: Numbers and short texts.
    """
    if listening(logger, level):
        said = f"{event} {' '.join(f'{name}={value}' for name, value in fields.items())}".rstrip()
        sys.modules["logging"].getLogger(logger).log(
            level, "%s", said, extra={FIELDS: {"event": event, **fields}}
        )
