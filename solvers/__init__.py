"""Pure optimization: arrays and graphs in, a decision and a bound out.

Nothing here knows what a transformer is, and nothing here imports the rest of the project.
"""
