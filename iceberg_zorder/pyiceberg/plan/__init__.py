"""From a spec to a sampled plan: file groups, sort order and layouts; writes nothing."""
