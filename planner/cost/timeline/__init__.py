"""The real schedule of a pipeline: what each stage does when, simulated, and its trace.

`durations` takes the seconds of operations from the cost model, `planner.schedules` runs them,
`trace` writes the file for Perfetto. Begin with `timeline`.
"""

from planner.cost.timeline.timeline import Timeline as Timeline
from planner.cost.timeline.timeline import timeline_of as timeline_of
from planner.cost.timeline.timeline import why_not_simulated as why_not_simulated
