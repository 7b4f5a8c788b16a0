"""Pure optimization: arrays and graphs in, a decision and a bound out.

Nothing here knows what a transformer is, and nothing here imports the rest of the project. An
algorithm names its source, and each answer carries its proof. Begin with `solution` and `mesh`;
pipelines are in `stages`, collectives in `collectives`.
"""
