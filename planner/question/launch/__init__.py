"""Launches in files as questions: their job, their plan, and what was not read.

`read_launch` picks the reader of the framework; `model` finds the model of the database that agrees
with the launch. Imports `planner.frameworks`. Begin with `read`.
"""

from planner.question.launch.read import LaunchRead as LaunchRead
from planner.question.launch.read import read_launch as read_launch
