"""Failure logs of one's own."""
