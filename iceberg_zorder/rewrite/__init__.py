"""What a user asks for, checked, and the result that comes back: the same for both engines."""
