"""Encoders beside a decoder: their dimensions and parameters."""

from models_db.towers.vision import Vision, vision_of

__all__ = ["Vision", "vision_of"]
