"""Everything foreign: bytes to samples and events and back, without a socket or a clock.

In: bytes of others. Out: samples, events and columns; and the way back. Imports: vocabulary.
"""
