"""Rows in Arrow: hashed, routed to their file by a layout, held within a memory budget, sorted; of no table format."""
