"""One walk over the bytes of each log, which feeds all readers.

`needle_search` finds in a block where the texts of all readers stand; what has none is never
decoded. `telling_lines` keeps for kernels what is read later.

In: open logs. Out: blocks, with the places in them. Imports: formats; what stands below it.
"""
