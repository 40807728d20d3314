"""TPC-H's 22 queries, their values drawn as clauses 2.4.x of the specification say.

The texts are those of DuckDB's extension, which have the values of the specification's validation runs; the values are
replaced by drawn ones.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import date, timedelta

import numpy as np

from benchmarks.queries.duck import texts

Rng = np.random.Generator
Values = dict[str, str]
"""What stands in a query's text, and what takes its place."""

_REGIONS = {
    "AFRICA": ("ALGERIA", "ETHIOPIA", "KENYA", "MOROCCO", "MOZAMBIQUE"),
    "AMERICA": ("ARGENTINA", "BRAZIL", "CANADA", "PERU", "UNITED STATES"),
    "ASIA": ("CHINA", "INDIA", "INDONESIA", "JAPAN", "VIETNAM"),
    "EUROPE": ("FRANCE", "GERMANY", "ROMANIA", "RUSSIA", "UNITED KINGDOM"),
    "MIDDLE EAST": ("EGYPT", "IRAN", "IRAQ", "JORDAN", "SAUDI ARABIA"),
}
_NATIONS = [nation for nations in _REGIONS.values() for nation in nations]
_SIZES = ("STANDARD", "SMALL", "MEDIUM", "LARGE", "ECONOMY", "PROMO")
_FINISHES = ("ANODIZED", "BURNISHED", "PLATED", "POLISHED", "BRUSHED")
_METALS = ("TIN", "NICKEL", "BRASS", "STEEL", "COPPER")
_WRAPS = ("SM", "LG", "MED", "JUMBO", "WRAP")
_CONTAINERS = ("CASE", "BOX", "BAG", "JAR", "PKG", "PACK", "CAN", "DRUM")
_SEGMENTS = ("AUTOMOBILE", "BUILDING", "FURNITURE", "MACHINERY", "HOUSEHOLD")
_MODES = ("REG AIR", "AIR", "RAIL", "SHIP", "TRUCK", "MAIL", "FOB")
_COLORS = (
    "almond antique aquamarine azure beige bisque black blanched blue blush brown burlywood burnished chartreuse "
    "chiffon chocolate coral cornflower cornsilk cream cyan dark deep dim dodger drab firebrick floral forest "
    "frosted gainsboro ghost goldenrod green grey honeydew hot indian ivory khaki lace lavender lawn lemon light "
    "lime linen magenta maroon medium metallic midnight mint misty moccasin navajo navy olive orange orchid pale "
    "papaya peach peru pink plum powder puff purple red rose rosy royal saddle salmon sandy seashell sienna sky "
    "slate smoke snow spring steel tan thistle tomato turquoise violet wheat white yellow"
)


def queries(seed: int, scale: float) -> dict[str, str]:
    """Draw the values of all queries.

    Parameters
    ----------
    seed : int
        Other seeds give other values.
    scale : float
        The scale factor, on which query 11 depends.

    Returns
    -------
    dict of str to str
        The queries by their names.

    Examples
    --------
    >>> drawn, other = queries(1, 1.0), queries(2, 1.0)
    >>> len(drawn), drawn == queries(1, 1.0), [name for name in drawn if drawn[name] == other[name]]
    (22, True, [])
    """
    rng = np.random.default_rng(seed)
    found = texts("tpch")
    return {
        f"H{number}": replaced(found[number], _DRAWS[number](rng) if number != 11 else _of_11(rng, scale))
        for number in range(1, 23)
    }


def replaced(text: str, values: Mapping[str, str]) -> str:
    """Put values in the place of others, all at once.

    Raises
    ------
    ValueError
        When one is not there.

    Examples
    --------
    >>> replaced("a = 1 AND b = 2", {"a = 1": "a = 2", "b = 2": "b = 1"})
    'a = 2 AND b = 1'
    """
    if missing := [old for old in values if old not in text]:
        raise ValueError(f"Cannot draw values, because the query has no {missing}: {text}")
    longest_first = sorted(values, key=len, reverse=True)
    return re.sub("|".join(map(re.escape, longest_first)), lambda found: values[found.group()], text)


def _one(rng: Rng, of: Sequence[str]) -> str:
    return of[int(rng.integers(len(of)))]


def _some(rng: Rng, of: Sequence[str], count: int) -> list[str]:
    return [of[place] for place in rng.choice(len(of), count, replace=False)]


def _brand(rng: Rng) -> str:
    return f"Brand#{rng.integers(1, 6)}{rng.integers(1, 6)}"


def _first(of_1993: int) -> str:
    """Write the first day of a month, counted from January 1993 as 0."""
    return f"'{date(1993 + of_1993 // 12, of_1993 % 12 + 1, 1)}'"


def _months(rng: Rng, old: tuple[str, str], length: int, first: int, end: int) -> Values:
    month = int(rng.integers(first, end))
    return {f"'{old[0]}'": _first(month), f"'{old[1]}'": _first(month + length)}


def _year(rng: Rng) -> Values:
    year = int(rng.integers(1993, 1998))
    return {"'1994-01-01'": f"'{year}-01-01'", "'1995-01-01'": f"'{year + 1}-01-01'"}


def _of_1(rng: Rng) -> Values:
    return {"'1998-09-02'": f"'{date(1998, 12, 1) - timedelta(int(rng.integers(60, 121)))}'"}


def _of_2(rng: Rng) -> Values:
    size, metal, region = rng.integers(1, 51), _one(rng, _METALS), _one(rng, list(_REGIONS))
    return {"p_size = 15": f"p_size = {size}", "%BRASS": f"%{metal}", "EUROPE": region}


def _of_3(rng: Rng) -> Values:
    return {"BUILDING": _one(rng, _SEGMENTS), "1995-03-15": f"1995-03-{rng.integers(1, 32):02}"}


def _of_5(rng: Rng) -> Values:
    return {"'ASIA'": f"'{_one(rng, list(_REGIONS))}'", **_year(rng)}


def _of_6(rng: Rng) -> Values:
    discount, quantity = int(rng.integers(2, 10)), rng.integers(24, 26)
    bounds = {"0.05": f"0.{discount - 1:02}", "0.07": f"0.{discount + 1:02}"}
    return {**bounds, "l_quantity < 24": f"l_quantity < {quantity}", **_year(rng)}


def _of_7(rng: Rng) -> Values:
    return dict(zip(("FRANCE", "GERMANY"), _some(rng, _NATIONS, 2), strict=True))


def _of_8(rng: Rng) -> Values:
    nation = _one(rng, _NATIONS)
    region = next(region for region, nations in _REGIONS.items() if nation in nations)
    kind = f"{_one(rng, _SIZES)} {_one(rng, _FINISHES)} {_one(rng, _METALS)}"
    return {"BRAZIL": nation, "AMERICA": region, "ECONOMY ANODIZED STEEL": kind}


def _of_11(rng: Rng, scale: float) -> Values:
    return {"GERMANY": _one(rng, _NATIONS), "0.0001000000": f"{0.0001 / scale:.10f}"}


def _of_12(rng: Rng) -> Values:
    return {
        **dict(zip(("'MAIL'", "'SHIP'"), (f"'{mode}'" for mode in _some(rng, _MODES, 2)), strict=True)),
        **_year(rng),
    }


def _of_13(rng: Rng) -> Values:
    first = _one(rng, ("special", "pending", "unusual", "express"))
    second = _one(rng, ("packages", "requests", "accounts", "deposits"))
    return {"%special%requests%": f"%{first}%{second}%"}


def _of_16(rng: Rng) -> Values:
    sizes = ", ".join(map(str, rng.choice(50, 8, replace=False) + 1))
    kind = f"{_one(rng, _SIZES)} {_one(rng, _FINISHES)}"
    return {"Brand#45": _brand(rng), "MEDIUM POLISHED": kind, "49, 14, 23, 45, 19, 3, 36, 9": sizes}


def _of_17(rng: Rng) -> Values:
    return {"Brand#23": _brand(rng), "MED BOX": f"{_one(rng, _WRAPS)} {_one(rng, _CONTAINERS)}"}


def _of_19(rng: Rng) -> Values:
    found = {old: _brand(rng) for old in ("Brand#12", "Brand#23", "Brand#34")}
    for old, least in ((1, 1), (10, 10), (20, 20)):
        quantity = rng.integers(least, least + 11)
        found[f"l_quantity >= {old}\n"] = f"l_quantity >= {quantity}\n"
        found[f"l_quantity <= {old} + 10"] = f"l_quantity <= {quantity} + 10"
    return found


def _of_20(rng: Rng) -> Values:
    return {"forest": _one(rng, _COLORS.split()), "CANADA": _one(rng, _NATIONS), **_year(rng)}


def _of_22(rng: Rng) -> Values:
    codes = rng.choice(np.arange(10, 35), 7, replace=False)
    return {"('13', '31', '23', '29', '30', '18', '17')": "(" + ", ".join(f"'{code}'" for code in codes) + ")"}


_DRAWS: Mapping[int, Callable[[Rng], Values]] = {
    1: _of_1,
    2: _of_2,
    3: _of_3,
    4: lambda rng: _months(rng, ("1993-07-01", "1993-10-01"), 3, 0, 58),
    5: _of_5,
    6: _of_6,
    7: _of_7,
    8: _of_8,
    9: lambda rng: {"%green%": f"%{_one(rng, _COLORS.split())}%"},
    10: lambda rng: _months(rng, ("1993-10-01", "1994-01-01"), 3, 1, 25),
    12: _of_12,
    13: _of_13,
    14: lambda rng: _months(rng, ("1995-09-01", "1995-10-01"), 1, 0, 60),
    15: lambda rng: _months(rng, ("1996-01-01", "1996-04-01"), 3, 0, 58),
    16: _of_16,
    17: _of_17,
    18: lambda rng: {"> 300": f"> {rng.integers(312, 316)}"},
    19: _of_19,
    20: _of_20,
    21: lambda rng: {"SAUDI ARABIA": _one(rng, _NATIONS)},
    22: _of_22,
}
