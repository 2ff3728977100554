"""What one collector carries and how many a cluster needs: runs measured, a model fitted, a page.

`python -m bench.capacity --out docs/capacity.md` measures and writes the page anew.
"""
