"""Pipeline schedules: what each is, costs and holds, which operation a stage runs after which.

There is one file per schedule, a subclass of `schedule.Schedule`, whose docstring is the guide to
adding one; `registry` lists them, `simulate` runs the order of any. Everything above asks these
objects and imports the file of none. Imports `assumptions` and `base`: seconds are given, never
computed here. Begin with `schedule`.
"""

from planner.schedules.registry import (
    BUILT_IN as BUILT_IN,
)
from planner.schedules.registry import (
    SCHEDULES as SCHEDULES,
)
from planner.schedules.registry import (
    ScheduleColumn as ScheduleColumn,
)
from planner.schedules.registry import (
    code_of_schedule as code_of_schedule,
)
from planner.schedules.registry import (
    known_schedules as known_schedules,
)
from planner.schedules.registry import (
    schedule_at as schedule_at,
)
from planner.schedules.registry import (
    schedule_of as schedule_of,
)
