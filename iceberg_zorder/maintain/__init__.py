"""Scheduled maintenance: a policy is read, tables are observed, what pays is decided, and carried out."""
