"""A new plug-in: `python -m tools.new KIND NAME` makes its file and its lines in lists and tables.

In: a kind, a name, and the worked example of the kind in docs/examples, which is the template.
Out: files of the packages, and on standard output what is left to edit. Imports: nothing of ours,
so that it works where the packages cannot be imported.
"""
