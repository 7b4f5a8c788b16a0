"""The real schedule of a pipeline: what each stage does when, simulated, and its trace."""
