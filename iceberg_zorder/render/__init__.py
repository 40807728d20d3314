"""Results as people see them: text for terminals, pages for browsers."""
