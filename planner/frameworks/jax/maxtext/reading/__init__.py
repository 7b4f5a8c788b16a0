"""Launches of MaxText read as plans, and changed to run others. Begin with `read`."""
