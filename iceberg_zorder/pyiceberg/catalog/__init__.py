"""Catalogs: how they are configured, asked again when they fail, and asked for new credentials."""
