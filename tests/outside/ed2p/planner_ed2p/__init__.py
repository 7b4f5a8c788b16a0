"""An objective for the planner, from another package."""
