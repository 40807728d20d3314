"""Filters as boxes over the keys of columns, and boxes over the positions of a layout."""
