"""What the commands do: have the work done, and show the outcome."""
