"""Route Arrow rows to their files and sort them within a memory budget, without a table format."""
