"""Figures on how well a table is clustered: pure functions of file bounds and samples."""
