"""Fields that say what a failure takes out, what the job does then, and planned maintenance."""

from __future__ import annotations

from planner.question.asked.field import RECOVERY, RUN, Asked

_PAGE = "goodput.md"

PRICE_FIELDS = (
    Asked(
        name="prices",
        help=(
            "Published prices by name, of a chip-hour and of a kWh, e.g. aws-blocks-h100,eia-texas"
        ),
        more="They say their source and date, and fill price_per_chip_hour and electricity_price",
        panel=RUN,
        kind="words",
        page=_PAGE,
    ),
)
"""Of published prices."""
RECOVERY_FIELDS = (
    Asked(
        name="failure_domain",
        help=(
            "What one failure takes out: node, rack (a scale-up domain of several nodes), rail (a "
            "leaf of the network) or the name of a level"
        ),
        panel=RECOVERY,
        kind="text",
        default_text="node",
        page=_PAGE,
    ),
    Asked(
        name="on_failure",
        help=(
            "What takes the place of broken nodes: spare, wait (for the repair) or shrink (run on "
            "with fewer data ranks)"
        ),
        panel=RECOVERY,
        kind="word",
        default_text="spare",
        page=_PAGE,
    ),
    Asked(
        name="peer_covers",
        help="Share of the failures that stay within one failure domain, e.g. 90%",
        more="After these the state comes back from peers under checkpoint_writes peer-memory",
        panel=RECOVERY,
        kind="share",
        default_text="77 %, as of Llama 3",
        page=_PAGE,
    ),
    Asked(
        name="maintenance",
        help="Planned maintenance: share of the time or hours a month, e.g. 2% or 15h",
        panel=RECOVERY,
        kind="share",
        default_text="none",
        page=_PAGE,
    ),
    Asked(
        name="while_down",
        help="Whether failures strike during detection and restart too",
        panel=RECOVERY,
        kind="switch",
        default_text="yes",
        page=_PAGE,
    ),
)
