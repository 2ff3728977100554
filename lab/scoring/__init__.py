"""How well the detectors do on a suite of simulated recordings, and simple methods beside them.

seen: what happened and what was reported, as values. placing: whether an entity that is named is
the right one. matching: incidents against the truth of one case. figures: many cases together.
running: one case through the pipeline. work: all cases, on all cores, resumable. baselines: four
simple methods on the same cases. report, page, pictures: the output. comparing: two results.

In: suites and recordings. Out: figures of what was found and what was missed. Imports: alerts,
collector, detectors, formats, vocabulary; from_incident, simulator, suites.
"""
