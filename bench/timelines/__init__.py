"""A third world: a discrete-event cluster whose reporters read what held at that moment."""
