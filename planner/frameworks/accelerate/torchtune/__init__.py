"""torchtune: recipes of PyTorch, whose configurations name components. Begin with `write`."""
