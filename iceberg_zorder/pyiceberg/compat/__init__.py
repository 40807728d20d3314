"""What is used of PyIceberg that is not public, and nothing else: only this package may break with a release."""
