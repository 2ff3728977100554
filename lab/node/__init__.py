"""A node without a GPU: a driver that is a double of C, and whatever runs with it.

In: a scenario of devices. Out: a driver's library that answers by it. Imports: none.
"""
