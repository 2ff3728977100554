"""Profiles on request: what is asked of agents, and the traces that come back.

In flow requests of people and incidents that name a slow rank, out traces and what a suspect does
that its healthy peer does not. It may import `windows`, `store`, `intake`, `journal` and
`settings`.
"""
