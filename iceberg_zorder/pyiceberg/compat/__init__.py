"""What is used of PyIceberg that is not public, and nothing else: only this package may break with a release.

    catalogs     the configuration of catalogs, and the request that commits
    expressions  the evaluators of filters
    manifests    manifests and manifest lists
    schemas      schemas as Arrow has them, names of columns in files, transforms and paths of partitions

Tried with PyIceberg 0.12. For a new release, run the tests with it: what has moved fails when it is imported, and each
name here says what it is for and what to do then. ``tests/test_import_direction.py`` holds the rest of the project to
public names.
"""
