"""Fields that say of which phases a run is made, and what of its machine is down."""

from __future__ import annotations

from planner.question.asked.field import RUN, Asked

RUN_FIELDS = (
    Asked(
        name="phases",
        help=(
            "A phase of the run: its tokens and what else is its own, of batch_tokens, seq_len and "
            "chips, e.g. 800e9,seq_len=131072; plan=same keeps the plan of the phase before. Each "
            "has its plan, and days, energy and money are summed"
        ),
        more="A list of such texts, or of mappings",
        panel=RUN,
        kind="phases",
        default=(),
        default_text="one phase",
        metavar="TOKENS,...",
        page="phases.md#phases-of-a-run",
    ),
    Asked(
        name="down",
        help=(
            "What the run of --resume-from has just lost, e.g. 3nodes or 24chips: what to run on "
            "the rest, and whether that pays against waiting for the repair"
        ),
        panel=RUN,
        kind="text",
        metavar="NUMBER UNIT",
        page="phases.md#nodes-that-are-down",
    ),
)
