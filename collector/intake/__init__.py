"""What senders post, checked, decoded and kept before it is acknowledged.

In: request bodies over HTTP and gRPC. Out: entries of the journal and decoded batches in the tail,
in one order of receive times. Imports: alerts, formats, vocabulary; health, journal, settings,
windows.
"""
