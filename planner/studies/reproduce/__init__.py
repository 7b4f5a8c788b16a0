"""Five published documents, figure by figure: their numbers beside ours, and why they differ.

`data/` holds one YAML file per document: what each figure, table or question prints, and where.
Each document has one module of small functions that compute the same numbers with the ordinary
studies. A new item is an entry in the file and a function of that name. Begin with `running`.
"""
