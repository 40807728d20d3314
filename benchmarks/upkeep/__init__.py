"""Upkeep of tables that grow: what filters read after each append and a rewrite after it, and what that rewrote."""
