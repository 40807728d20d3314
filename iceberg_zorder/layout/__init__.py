"""The layout: which file a row goes to, and its place in it. Plain numpy and Arrow, no engine.

    columns -> keys -> sample -> boundaries -> positions -> curve, cuts -> layout

Java's ``io.icebergzorder.core`` computes the same, bit for bit; the golden files hold the two together.
"""
