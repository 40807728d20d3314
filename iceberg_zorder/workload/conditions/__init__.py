"""Conditions of SQL, of any dialect, as predicates: true wherever the condition is, and told where they are weaker."""
