"""The algebra of a textbook on what stays compute-bound: How to Scale Your Model, part 5.

`algebra` has its formulas, the others apply them to meshes, machines and curves. The formulas take
no number from the fitted model, on purpose. Begin with `algebra`.
"""
