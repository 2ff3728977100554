"""Several collectors as one: the log in NATS JetStream, its partitions shared out.

`publishing` splits payloads by partition (`routing`); a collector owns some partitions
(`assignment`, `membership`, `ownership`), follows each with a pipeline of its own (`owned`), and
asks the others for theirs (`gateway`). Requests that concern another collector pass through the
`api`.

In: payloads of any job. Out: answers about every job. Imports: alerts, formats, vocabulary; what
stands below it.
"""
