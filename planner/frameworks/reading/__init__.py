"""Launches of frameworks read as plans: what the readers of all frameworks share."""
