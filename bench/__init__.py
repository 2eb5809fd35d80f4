"""Everything that measures: `python -m bench`, or `make bench`."""
