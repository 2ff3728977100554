"""Actions about causes: planned from incidents as they are kept, carried out once; off by default.

In: changes of incidents, and the record of actions in the store. Out: orders to executors, and
entries of timelines. Imports: alerts, vocabulary;
accounting, intake, journal, kubernetes, settings, store, windows.
"""
