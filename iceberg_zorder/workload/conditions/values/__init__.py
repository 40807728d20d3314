"""Values of expressions without columns, and columns compared with them."""
