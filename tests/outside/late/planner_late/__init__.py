"""A pipeline schedule for the planner, and a framework that runs it, from another package."""
