"""What the collector's API answers with, other than incident documents: one class a shape."""
