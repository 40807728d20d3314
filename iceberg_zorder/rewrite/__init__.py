"""Requests and results of both engines: options, sort order, conditions, messages, counts."""
