"""Everything foreign: bytes to samples and events and back, without a socket or a clock."""
