"""What a collector needs of the machine: its log, its socket, its name, its memory, its end.

In: an address and a data folder. Out: a bound socket, a logger, and the name under which this
collector shares a database. Imports: formats.
"""
