"""What the collector's API answers with, other than incident documents: one class a shape.

In: what the routes found. Out: JSON objects, and what OpenAPI says of them.
Imports: checks, counterfactuals, entities, faults, incidents, inspection, profiling, remedies,
shapes.
"""
