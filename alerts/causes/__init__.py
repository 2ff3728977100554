"""Which causes explain what was found: a catalogue of evidence, log-odds, explaining-away."""
