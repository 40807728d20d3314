"""How well a table's files are laid out: pure functions of file bounds and samples."""
