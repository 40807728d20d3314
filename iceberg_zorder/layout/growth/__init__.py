"""What a box tree is grown by: where boxes may be split, and what they are expected to cost queries."""
