"""Published and measured runs against the model."""
