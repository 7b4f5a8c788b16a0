"""What searches of questions that differ in their batch alone have in common.

Begin with `basis`: the partial plans of a batch that the others divide, and what bounds them.
"""
