"""What a collector needs of the machine: its log, its socket, its name, its end.

In flow an address and a data folder, out a bound socket, a logger and the name under which this
collector shares a database. It imports no other folder.
"""
