"""List a snapshot's data files that may match a filter, with the deletes that apply to them."""
