"""Long runs with faults, each with a make target of its own."""
