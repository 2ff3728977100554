"""Active checks tried on this machine: how often planted slowness is found, and health accused."""
