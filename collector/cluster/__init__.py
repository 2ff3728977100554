"""Several collectors as one: the log in NATS JetStream, its partitions shared out.

In flow payloads of any job, out answers about every job. `publishing` splits payloads by partition
(`routing`); a collector owns some partitions (`assignment`, `membership`, `ownership`), follows
each with a pipeline of its own (`owned`), and asks the others for theirs (`gateway`). It may import
the `api`, for requests that it passes on, and everything below it.
"""
