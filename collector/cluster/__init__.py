"""Several collectors as one: the log in NATS JetStream, its partitions shared out among them.

`publishing` splits accepted payloads by partition (`routing`) and publishes them; a collector owns
some partitions (`assignment`, `membership`, `ownership`), follows each with a pipeline of its own
(`owned`), and asks the others for the jobs of theirs (`gateway`).
"""
