"""From a user's own measurements to a local calibration with shrinkage to the shipped one."""
