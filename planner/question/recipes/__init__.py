"""What published recipes of fine-tuning use, and what questions about such jobs take from them.

Facts are in `recipes.yaml`, each with its file and commit. Begin with `recipes.usual_of`.
"""
