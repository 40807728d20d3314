"""The policy of scheduled maintenance: a YAML file in, frozen dataclasses out, and no engine."""
