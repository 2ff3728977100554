"""Which cause explains an incident best: a catalogue of evidence, and the log-odds engine."""
