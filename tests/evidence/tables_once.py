"""Tables of published runs that several tests look at, made once in a process."""

from functools import cache

from planner.evidence.left_out.sources import left_out_table
from planner.evidence.validation.failures import failures_table

failures = cache(failures_table)
left_out = cache(left_out_table)
