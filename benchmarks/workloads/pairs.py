"""The tables and workloads that layouts are compared on."""

from __future__ import annotations

from benchmarks.workloads.made_up import calls, geo, iot, logs, shop, trips
from benchmarks.workloads.tables import Pair
from benchmarks.workloads.tpcds import store_sales
from benchmarks.workloads.tpch import lineitem, orders

PAIRS = (
    Pair("calls", "a caller in a week; a callee; a day", calls),
    Pair("shop", "a customer, sometimes in the last month; a day; a product in a month; expensive orders", shop),
    Pair("iot", "a device in six hours; a day; high readings", iot),
    Pair("logs", "a service or a host in some hours; errors of a day; a trace; failed requests; an hour", logs),
    Pair("geo", "a window of the map; a kind of place in it; a month of it; a kind in a week", geo),
    Pair(
        "trips", "days; a month; a zone in a month; from zone to zone; to airports; expensive trips; long trips", trips
    ),
    Pair("lineitem", "the filters of TPC-H's queries on lineitem", lineitem),
    Pair("orders", "the filters of TPC-H's queries on orders", orders),
    Pair("store_sales", "the filters of TPC-DS's queries on store_sales", store_sales),
)
