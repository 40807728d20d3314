"""Tables as services have them, with what is asked of them; times are seconds, fractions are scaled to integers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.workloads.tables import MOST, Keys, Query, Rng, Table, equal

DAY = 86_400


def _days_ago(rng: Rng, days: int, mean: float) -> int:
    """Draw the first second of a day: the last one most often, the others the less the longer they are ago."""
    return max(0, days - 1 - int(rng.exponential(mean))) * DAY


def _by_day(rng: Rng, rows: int, days: int) -> Keys:
    """Draw times with more rows by day than by night, as they arrive."""
    second = rng.beta(3, 2.2, rows) * DAY
    return np.sort(rng.integers(0, days, rows) * DAY + second.astype(np.int64))


def calls(rows: int, _: Path) -> Table:
    """Telephone calls: a caller in a week, a callee, the last days."""
    rng = np.random.default_rng(5)
    caller, callee = rng.zipf(1.3, rows) % 50_000, rng.integers(0, 50_000, rows)
    started = np.sort(rng.integers(0, 90 * DAY, rows))

    def draw(rng: Rng) -> Query:
        kind, row = rng.random(), int(rng.integers(rows))
        if kind < 0.7:
            first = int(rng.integers(0, 83)) * DAY
            return ({"caller": equal(caller[row]), "started": (first, first + 7 * DAY)},)
        if kind < 0.9:
            return ({"callee": equal(callee[row])},)
        first = _days_ago(rng, 90, 3)
        return ({"started": (first, first + DAY)},)

    return Table({"caller": caller, "callee": callee, "started": started}, draw, times=["started"])


def shop(rows: int, _: Path) -> Table:
    """Make orders of a shop: by customer, perhaps in the last month, by one of the last days, by product, dear ones."""
    rng = np.random.default_rng(6)
    customer, product = rng.integers(0, 200_000, rows), rng.zipf(1.2, rows) % 20_000
    ordered, cents = (
        np.sort(rng.integers(0, 365 * DAY, rows)),
        np.round(rng.lognormal(3, 1, rows) * 100).astype(np.int64),
    )
    dear = int(np.quantile(cents, 0.99))

    def draw(rng: Rng) -> Query:
        kind, row = rng.random(), int(rng.integers(rows))
        if kind < 0.3:
            return ({"customer": equal(customer[row]), "ordered": (335 * DAY, 365 * DAY)},)
        if kind < 0.6:
            return ({"customer": equal(customer[row])},)
        if kind < 0.8:
            first = _days_ago(rng, 365, 20)
            return ({"ordered": (first, first + DAY)},)
        if kind < 0.95:
            first = int(rng.integers(0, 335)) * DAY
            return ({"product": equal(product[row]), "ordered": (first, first + 30 * DAY)},)
        return ({"cents": (dear, MOST)},)

    return Table(
        {"customer": customer, "product": product, "ordered": ordered, "cents": cents}, draw, times=["ordered"]
    )


def iot(rows: int, _: Path) -> Table:
    """Devices: one of them in the last hours, a day of all, high readings."""
    rng = np.random.default_rng(7)
    device, measured = rng.integers(0, 5_000, rows), np.sort(rng.integers(0, 30 * DAY, rows))
    reading = np.round(rng.normal(device % 50, 3, rows) * 1000).astype(np.int64)

    def draw(rng: Rng) -> Query:
        kind, row = rng.random(), int(rng.integers(rows))
        if kind < 0.8:
            first = 30 * DAY - int(rng.exponential(1.5) * DAY) - 3_600
            return ({"device": equal(device[row]), "measured": (first, first + 6 * 3_600)},)
        if kind < 0.95:
            first = int(rng.integers(0, 29)) * DAY
            return ({"measured": (first, first + DAY)},)
        return ({"reading": (55_000, MOST)},)

    return Table({"device": device, "measured": measured, "reading": reading}, draw, times=["measured"])


def logs(rows: int, _: Path) -> Table:
    """Make logs: by service in the last hours, errors of a day, a trace, a host, failed requests, an hour."""
    rng = np.random.default_rng(8)
    logged = _by_day(rng, rows, 30)
    weights = 1 / np.arange(1, 201)
    service = rng.permutation(200)[rng.choice(200, rows, p=weights / weights.sum())]
    host = service * 40 + rng.integers(0, 40, rows)
    level = rng.choice(5, rows, p=[0.3, 0.6, 0.08, 0.019, 0.001])
    status = rng.choice([200, 301, 404, 500, 503], rows, p=[0.9, 0.05, 0.03, 0.015, 0.005])
    trace = rng.integers(0, 1 << 60, rows // 5)[rng.integers(0, rows // 5, rows)]

    def draw(rng: Rng) -> Query:
        kind, row = rng.random(), int(rng.integers(rows))
        recent = 30 * DAY - int(rng.exponential(1.0) * DAY)
        if kind < 0.4:
            hours = int(rng.choice([1, 6, 24]))
            return ({"service": equal(service[row]), "logged": (recent - hours * 3_600, recent)},)
        if kind < 0.55:
            first = _days_ago(rng, 30, 4)
            return ({"level": (3, 4), "logged": (first, first + DAY - 1)},)
        if kind < 0.7:
            return ({"trace": equal(trace[row])},)
        if kind < 0.8:
            return ({"trace": equal(trace[row]), "logged": (int(logged[row]) - DAY, int(logged[row]) + DAY)},)
        if kind < 0.9:
            return ({"host": equal(host[row]), "logged": (recent - 6 * 3_600, recent)},)
        if kind < 0.95:
            return tuple({"status": equal(code), "service": equal(service[row])} for code in (500, 503))
        return ({"logged": (recent - 3_600, recent)},)

    keys = {"logged": logged, "service": service, "host": host, "level": level, "status": status, "trace": trace}
    return Table(keys, draw, times=["logged"])


def geo(rows: int, _: Path) -> Table:
    """Places: a window of the map, one kind of place in it, a month of it; a kind in a week everywhere."""
    rng = np.random.default_rng(9)
    town = rng.choice(60, rows, p=rng.dirichlet(np.ones(60)))
    spread = rng.uniform(0.05, 1.5, 60)[town]
    latitude = rng.uniform(-60, 70, 60)[town] + rng.normal(0, 1, rows) * spread
    longitude = rng.uniform(-180, 180, 60)[town] + rng.normal(0, 1, rows) * spread
    north, east = np.round(latitude * 1e6).astype(np.int64), np.round(longitude * 1e6).astype(np.int64)
    kind, seen = (rng.zipf(1.4, rows) - 1) % 30, np.sort(rng.integers(0, 365 * DAY, rows))

    def draw(rng: Rng) -> Query:
        ask, row = rng.random(), int(rng.integers(rows))
        half = int(rng.lognormal(-1.5, 1) * 5e5)
        window = {"north": (int(north[row]) - half, int(north[row]) + half)}
        window["east"] = (int(east[row]) - half, int(east[row]) + half)
        if ask < 0.4:
            return (window,)
        if ask < 0.65:
            return ({**window, "kind": equal(kind[row])},)
        if ask < 0.85:
            first = int(rng.integers(0, 12)) * 30 * DAY
            return ({**window, "seen": (first, first + 30 * DAY - 1)},)
        first = int(rng.integers(0, 52)) * 7 * DAY
        return ({"kind": equal(kind[row]), "seen": (first, first + 7 * DAY - 1)},)

    return Table({"north": north, "east": east, "kind": kind, "seen": seen}, draw, times=["seen"])


def trips(rows: int, _: Path) -> Table:
    """Taxi trips: days and months, a zone in a month, from zone to zone, to the airports, dear and long ones."""
    rng = np.random.default_rng(10)
    zones = rng.permutation(260)
    weights = 1 / np.arange(1, 261) ** 0.9
    weights /= weights.sum()
    begin, end = (zones[rng.choice(260, rows, p=weights)] for _ in range(2))
    picked_up = _by_day(rng, rows, 730)
    metres = np.round(rng.gamma(1.5, 2_000, rows) + np.abs(begin - end) * 20).astype(np.int64)
    dropped_off = picked_up + (metres * rng.lognormal(-1.8, 0.4, rows)).astype(np.int64)
    cents = 300 + (metres * rng.normal(0.22, 0.03, rows)).astype(np.int64)
    payment = rng.choice(4, rows, p=[0.65, 0.3, 0.04, 0.01])
    dear, long = (np.quantile(each, [0.95, 0.99, 0.999]).astype(int).tolist() for each in (cents, metres))

    keys = {"picked_up": picked_up, "dropped_off": dropped_off, "begin": begin, "end": end}
    keys |= {"metres": metres, "cents": cents, "payment": payment}
    airports = zones[[3, 17, 40]].tolist()
    return Table(keys, lambda rng: _of_trips(rng, keys, airports, dear, long), times=["picked_up", "dropped_off"])


def _month(rng: Rng, months: int = 1) -> tuple[int, int]:
    first = int(rng.integers(0, 25 - months)) * 365 * DAY // 12
    return first, first + months * 365 * DAY // 12 - 1


def _of_trips(rng: Rng, keys: dict[str, Keys], airports: list[int], dear: list[int], long: list[int]) -> Query:
    kind, row = rng.random(), int(rng.integers(len(keys["begin"])))
    if kind < 0.15:
        first = int(rng.integers(0, 723)) * DAY
        return ({"picked_up": (first, first + int(rng.integers(1, 8)) * DAY - 1)},)
    if kind < 0.25:
        return ({"picked_up": _month(rng)},)
    if kind < 0.5:
        return ({"begin": equal(keys["begin"][row]), "picked_up": _month(rng)},)
    if kind < 0.65:
        return ({"begin": equal(keys["begin"][row]), "end": equal(keys["end"][row])},)
    if kind < 0.75:
        return ({"cents": (int(rng.choice(dear)), MOST), "picked_up": _month(rng)},)
    if kind < 0.85:
        quarter = _month(rng, 3)
        return tuple({"end": equal(airport), "picked_up": quarter} for airport in airports)
    if kind < 0.9:
        return ({"metres": (int(rng.choice(long)), MOST)},)
    if kind < 0.95:
        day = int(rng.integers(0, 730)) * DAY
        return ({"dropped_off": (day, day + DAY - 1)},)
    day = int(rng.integers(0, 730)) * DAY
    return ({"payment": equal(int(rng.choice([2, 3]))), "picked_up": (day, day + 7 * DAY - 1)},)


def basket(rows: int, _: Path) -> Table:
    """Make lines of purchases, which lie together: a product in a month, a customer, a purchase, days, a shop."""
    rng = np.random.default_rng(12)
    lines = rng.integers(1, 20, rows)
    ticket = np.repeat(np.arange(rows), lines)[:rows]
    purchases = int(ticket[-1]) + 1
    bought = np.sort(rng.integers(0, 365 * DAY, purchases))[ticket]
    customer, shop = rng.integers(0, 100_000, purchases)[ticket], rng.integers(0, 12, purchases)[ticket]
    product, cents = rng.zipf(1.2, rows) % 20_000, np.round(rng.lognormal(3, 1, rows) * 100).astype(np.int64)

    def draw(rng: Rng) -> Query:
        kind, row = rng.random(), int(rng.integers(rows))
        if kind < 0.4:
            first = int(rng.integers(0, 335)) * DAY
            return ({"product": equal(product[row]), "bought": (first, first + 30 * DAY)},)
        if kind < 0.6:
            return ({"customer": equal(customer[row])},)
        if kind < 0.7:
            return ({"ticket": equal(ticket[row])},)
        first = _days_ago(rng, 365, 20)
        days = {"bought": (first, first + DAY)}
        return (days if kind < 0.85 else {**days, "shop": equal(shop[row])},)

    keys = {"ticket": ticket, "bought": bought, "customer": customer, "shop": shop, "product": product, "cents": cents}
    return Table(keys, draw, times=["bought"])


def blocks(rows: int, _: Path) -> Table:
    """Make uploads of devices, whose times rise in each upload: a device in some hours, a day of all, high readings."""
    rng = np.random.default_rng(13)
    upload = np.arange(rows) // 200
    device = rng.integers(0, 500, int(upload[-1]) + 1)[upload]
    begun = rng.integers(0, 30 * DAY, int(upload[-1]) + 1)[upload]
    step = np.cumsum(rng.integers(1, 60, rows))
    measured = begun + step - step[upload * 200]
    reading = np.round(rng.normal(device % 50, 3, rows) * 1000).astype(np.int64)

    def draw(rng: Rng) -> Query:
        kind, row = rng.random(), int(rng.integers(rows))
        if kind < 0.5:
            first = int(measured[row]) - 3 * 3_600
            return ({"device": equal(device[row]), "measured": (first, first + 6 * 3_600)},)
        if kind < 0.7:
            return ({"device": equal(device[row])},)
        if kind < 0.9:
            first = int(rng.integers(0, 29)) * DAY
            return ({"measured": (first, first + DAY)},)
        return ({"reading": (55_000, MOST)},)

    return Table({"device": device, "measured": measured, "reading": reading}, draw, times=["measured"])
