"""What scheduled maintenance does with tables of PyIceberg catalogs, beside the rewrites themselves."""
