"""Figures of the pages about plans that no command prints are those of the code."""

import re
from pathlib import Path

from support.cases import each

from planner.base.files import LARGEST_FILE_BYTES
from planner.cost.timeline.trace import MOST_TRACED
from planner.explanation import causes, contenders
from planner.explanation.sensitivity import elasticities
from planner.report.charts.timeline import MOST_ROWS

DOCS = Path(__file__).parent.parent.parent / "docs"
COUNTS = {3: "three", 4: "four"}
PAGE = "model/pipeline.md"


@each(
    ("page", "words"),
    [
        ("explain.md", f"x / {elasticities.STEP:g} and {elasticities.STEP:g} x"),
        ("explain.md", f"Otherwise, from {100 * causes.LEAST_GAIN:g} % on, it has a sentence"),
        ("explain.md", f"same within {100 * contenders.SAME_COST:g} % do not count"),
        ("explain.md", f"only the {COUNTS[elasticities.LARGEST]} in which the objective is most"),
        ("explain.md", f"and the {COUNTS[elasticities.NEAREST]} whose change closes the distance"),
        ("explain.md", f"of what is assumed the {COUNTS[elasticities.ASSUMED]} that do so first"),
        ("report.md", f"larger than {LARGEST_FILE_BYTES // 2**20} MiB"),
        (PAGE, f"Of more than {MOST_ROWS} stages {MOST_ROWS} are shown"),
        (PAGE, f"is in it up to {MOST_TRACED:,};"),
    ],
)
def test_a_limit_is_that_of_the_code(page: str, words: str) -> None:
    text = " ".join((DOCS / page).read_text(encoding="utf-8").split())
    assert words in text


def test_the_difference_that_is_explained_is_that_of_the_table() -> None:
    """The table itself is an example that runs."""
    text = (DOCS / PAGE).read_text(encoding="utf-8")
    row = re.search(
        r"^1f1b, 17 .* m = 64  simulated +([\d.]+) s  formula +([\d.]+) s", text, re.MULTILINE
    )
    said = re.search(r"which is all of the (\d+) ms", text)
    assert row is not None
    assert said is not None
    assert round(1000 * (float(row[2]) - float(row[1]))) == int(said[1])
