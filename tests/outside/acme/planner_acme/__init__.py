"""Acme's trainer as a plug-in of the planner."""
