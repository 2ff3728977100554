"""A node for as long as one likes: its kernel, exporters and driver as files and doubles."""
