"""Fields that say how a whole run is kept going: how often it fails, and what that costs.

Figures and sources of their defaults: `hardware_db/data/reference/failures.yaml`.
"""

from __future__ import annotations

from planner.base.vocabulary import FAILURE_SITES
from planner.question.asked.field import RUN, Asked

_PAGE = "goodput.md"

UPKEEP_FIELDS = (
    Asked(
        name="mtbf",
        help="Mean time between failures of the whole job, e.g. 3h",
        panel=RUN,
        kind="quantity",
        unit="seconds",
        default_text="by chip, from published sites",
        page=_PAGE,
    ),
    Asked(
        name="chip_hours_per_failure",
        help="Chip-hours between failures, e.g. 50000, instead of --mtbf",
        panel=RUN,
        kind="quantity",
        page=_PAGE,
    ),
    Asked(
        name="failure_site",
        help=(
            "A published site whose failure rate is taken: "
            f"{', '.join(FAILURE_SITES)}; or your own, a file of planner calibrate --failures"
        ),
        panel=RUN,
        kind="path",
        default_text="a site not seen",
        page=_PAGE,
    ),
    Asked(
        name="checkpoint_store",
        help="What the store of checkpoints takes in from the whole job, e.g. 200GB/s",
        panel=RUN,
        kind="quantity",
        unit="bytes per second",
        default_text="122 MB/s per chip, as of Llama 3",
        page=_PAGE,
    ),
    Asked(
        name="checkpoint_writes",
        help=(
            "async (copied to the host, then written beside the work), blocking (the job waits for "
            "the store) or peer-memory (copied to hosts of another failure domain too)"
        ),
        panel=RUN,
        kind="word",
        default_text="async",
        page=_PAGE,
    ),
    Asked(
        name="detection",
        help="From a failure until it is known, e.g. 2min",
        panel=RUN,
        kind="quantity",
        unit="seconds",
        default_text="2min",
        page=_PAGE,
    ),
    Asked(
        name="restart",
        help="From then until the job works again, its checkpoint loaded, e.g. 10min",
        panel=RUN,
        kind="quantity",
        unit="seconds",
        default_text="10min",
        page=_PAGE,
    ),
    Asked(
        name="spares",
        help="Nodes that wait to take the place of broken ones",
        panel=RUN,
        kind="whole",
        default_text="enough",
        page=_PAGE,
    ),
    Asked(
        name="repair",
        help="Until a node that a failure pulled is a spare again, e.g. 72h",
        panel=RUN,
        kind="quantity",
        unit="seconds",
        default_text="72h",
        page=_PAGE,
    ),
    Asked(
        name="straggler_loss",
        help="Share of the time lost to slow chips, which no step time has, e.g. 0.05 or 5%",
        panel=RUN,
        kind="share",
        default_text="0",
        page=_PAGE,
    ),
)
