"""Scheduled maintenance: read a policy, observe its tables, decide what pays, and do it."""
