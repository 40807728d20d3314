"""Which data files of a snapshot a filter leaves, and which deletes apply to them."""
