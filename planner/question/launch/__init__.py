"""Launches in files as questions: their job, their plan, and what was not read.

`read_launch` picks the reader of the framework.
"""

from planner.question.launch.read import LaunchRead as LaunchRead
from planner.question.launch.read import read_launch as read_launch
