"""Requests and results, the same for both engines: options, sort order, conditions, messages, counts."""
