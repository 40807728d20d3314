"""PyIceberg front end: only this package imports PyIceberg."""
