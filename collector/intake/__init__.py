"""What senders post, checked, decoded and kept before it is acknowledged.

In flow request bodies over HTTP and gRPC, out entries of the journal and decoded batches in the
tail, in one order of receive times. It may import `journal`, `health` and `settings`.
"""
