"""Values that are taken where a question gives none, ranges that texts of fields name, examples.

What takes a value and what says it read it here. The PUE that is assumed is a figure with a source:
it stands in `hardware_db/data/reference/power.yaml`.
"""

from __future__ import annotations

from planner.base.messages import Origin
from planner.base.vocabulary import COOLINGS

BATCH, RANGE = "batch_tokens", ".."
"""The field of which a range counts by doubling, and what stands between the ends of a range."""
BATCH_MI = 4
BATCH_TOKENS = BATCH_MI * 2**20
RECIPE_SEQ_LEN, RECIPE_SEQUENCES = 4096, 32
"""Medians of the published recipes in `planner.question.recipes`, for texts; a test compares."""
FRONT_POINTS = 20
"""Time limits of a front of uneven pipelines."""
COOLING = COOLINGS[0]
OOM_RISK = 0.05
"""Chance of running out of memory that plans of a search may have, where nothing limits it."""
LEAST_PUE, MOST_PUE = 1, 3


def with_examples(lines: list[str], origin: Origin) -> list[str]:
    """Lines about what is missing on a command line, with an example."""
    examples = {
        "model": "; name one, e.g. --model llama2-13b (planner models list)",
        "chips": "; say how many chips to plan for, e.g. --chips 4096",
    }
    endings = {f"{origin.label([name])}: is missing": text for name, text in examples.items()}
    return [line + endings.get(line, "") for line in lines] if origin.dashes else lines
