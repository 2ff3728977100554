"""Optional, off by default: node conditions and events for what a first cause names."""
