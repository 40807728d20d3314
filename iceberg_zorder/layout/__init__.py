"""The layout: the file of each row and its place in the file. Plain numpy and Arrow, no engine.

    columns -> keys -> sample -> boundaries -> positions -> curve, cuts -> layout

Java's ``io.icebergzorder.core`` computes the same, bit for bit; the golden files hold the two together.
"""
