"""Findings to incidents to causes to notices.

In: findings, the topology of a job, actions of people, and `now`. Out: changes of incidents, and
the requests that tell of them. Imports: vocabulary.
"""
