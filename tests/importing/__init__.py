"""Launches read as plans."""
