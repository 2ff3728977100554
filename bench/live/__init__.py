"""A small cluster that is live: real agents and a real collector, over doubles of eight GPUs each.

What the ranks report is the simulator's, in real time; everything else the agents read themselves.
For tests of what is built on both /metrics pages, and for looking at it.
"""
