"""Scheduled maintenance of tables in PyIceberg catalogs: listing, observing, leases, rewrites."""
