"""Results for people: text for terminals, pages for browsers."""
