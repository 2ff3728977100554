"""A cluster in a box: NATS of three nodes, PostgreSQL, collectors, a load balancer, and load."""
