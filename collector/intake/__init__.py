"""Intake: what senders post, checked and decoded, on its way to the journal and the pipeline."""
