"""What questions say of a run as a whole, such as the published `prices` that they take."""
