"""Layers to pipeline stages: columns of what each device may hold, and exact ways to choose."""
