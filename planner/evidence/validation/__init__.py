"""Published training runs as plans, and how far the cost model is from their measured times."""
