"""Parts of `rankscope lab`: its arguments, and the action that asks a collector."""
