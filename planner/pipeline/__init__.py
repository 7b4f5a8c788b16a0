"""The real schedule of a pipeline: what each stage does when, simulated, and its trace."""

from planner.pipeline.timeline import Timeline as Timeline
from planner.pipeline.timeline import timeline_of as timeline_of
from planner.pipeline.timeline import why_not_simulated as why_not_simulated
