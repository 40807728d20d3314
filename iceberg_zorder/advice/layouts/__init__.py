"""The layouts that are tried on sampled rows."""
