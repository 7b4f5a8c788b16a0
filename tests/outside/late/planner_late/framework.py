"""A fork of nanotron that runs the schedule."""

from dataclasses import replace

from planner.frameworks.framework import Framework, Target
from planner.frameworks.nanotron.profile import NANOTRON
from planner.frameworks.rules.rule import Rule
from planner.frameworks.writing import Export, Launch
from planner_late.schedule import BARRIER_S, LateOneFOneB

PROFILE = replace(
    NANOTRON,
    name="late-nanotron",
    schedules=(*NANOTRON.schedules, LateOneFOneB.name),
)


class LateNanotron(Framework):
    """Nanotron with a barrier at the start of every step, where a variable asks for it."""

    name = "late-nanotron"
    profiles = (PROFILE,)
    targets = (Target(name="late-nanotron", title="Late nanotron", framework="late-nanotron"),)

    def rules(self) -> tuple[Rule, ...]:
        """Those of nanotron."""
        from planner.frameworks.nanotron.rules import NANOTRON  # noqa: PLC0415  (where it is needed)

        return tuple(replace(rule, framework=self.name) for rule in NANOTRON)

    def write(self, launch: Launch, target: Target) -> Export:
        """What nanotron is given, and the variable."""
        from planner.frameworks.nanotron.write import export  # noqa: PLC0415  (where it is needed)

        written = export(launch)
        late = launch.plan.schedule == LateOneFOneB.name
        barrier = (("STEP_BARRIER_S", str(BARRIER_S)),) if late else ()
        return replace(written, target=target.name, environment=(*written.environment, *barrier))
