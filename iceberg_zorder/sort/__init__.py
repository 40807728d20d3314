"""Arrow rows on the way to their files: hashed, routed, held within a memory budget, sorted. No table format."""
