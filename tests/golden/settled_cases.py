"""Golden cases of what the newest rewrite has settled: keys of requests, and snapshots as plain JSON values."""

from typing import Any

from iceberg_zorder.metrics.history import SnapshotFacts
from iceberg_zorder.rewrite.snapshot_keys import REQUEST, REWRITE_ID, SETTLED_FROM, YOUNG_WAIT
from iceberg_zorder.select import branch_history as bh

_KEYS: tuple[dict[str, Any], ...] = (
    {"sort_order": "zorder(a, b)", "where": "", "ids": (1, 0), "target": 100, "options": {}, "properties": {}},
    {
        "sort_order": "day DESC NULLS LAST, hilbert(a, `b,\U0001f600`)",
        "where": "a > 1 AND b = '\uffee'",
        "ids": (0, 3),
        "target": 2**40,
        "options": {
            "max-scan-ratio": "1.1",
            "column-weights": "a=3,`\U0001f600`=2",
            "rewrite-all": "true",
            "max-file-group-size-bytes": "1",
            "cuts": "even",
        },
        "properties": {
            "write.parquet.compression-codec": "zstd",
            "write.\uffee": "1",
            "write.\U0001f600": "2",
            "owner": "x",
        },
    },
)
_WORKLOADS: tuple[list[tuple[str, float]], ...] = (
    [],
    [("a = 1", 2.0), ("TRUE", 1.0)],
    [("a = 1", 2.5), ("TRUE", 1.0)],
    [("s = '\U0001f600\n'", 1e300), ("s = '\uffee'", 0.1), ("a > 1", 5e-324), ("b IS NULL", 0.0)],
)
_OPERATION = "operation"
_RUN = {REQUEST: "1f", SETTLED_FROM: "1", "zorder.layout-hash": "ab"}
_PART = {REQUEST: "1f", "zorder.layout-hash": "ab"}
_OTHER = {REQUEST: "2e", SETTLED_FROM: "2", "zorder.layout-hash": "cd"}
_HISTORIES: dict[str, list[tuple[int, dict[str, str]]]] = {
    "copied by an append": [(1, {}), (2, _RUN), (3, {**_RUN, _OPERATION: "append"})],
    "no snapshot": [],
    "no rewrite": [(1, {}), (2, {})],
    "nothing since": [(1, {}), (2, _RUN)],
    "appends before and after": [(1, {}), (2, {}), (3, _RUN), (4, {})],
    "in parts": [(1, {}), (2, _PART), (3, {}), (4, _RUN)],
    "of other layouts": [(1, {}), (2, {**_PART, "zorder.layout-hash": "ef"}), (3, _RUN)],
    "not done": [(1, {}), (2, _RUN), (3, {}), (4, _PART)],
    "another since": [(1, {}), (2, _RUN), (3, _OTHER)],
    "expired": [(2, _RUN), (3, {})],
    "no id": [(1, {}), (2, {**_RUN, SETTLED_FROM: "x"})],
    "two rewrites of the same layouts": [
        (1, {}),
        (2, {**_PART, REWRITE_ID: "01"}),
        (3, {}),
        (4, {**_PART, REWRITE_ID: "02"}),
    ],
    "one rewrite of two layouts": [
        (1, {}),
        (2, {**_PART, REWRITE_ID: "01"}),
        (3, {}),
        (4, {**_RUN, REWRITE_ID: "01", "zorder.layout-hash": "ef"}),
    ],
    "killed": [(1, {}), (2, _PART), (3, {})],
    "killed after an end": [(1, _RUN), (2, {}), (3, _PART), (4, _PART)],
    "killed, and ended by the next": [(1, {}), (2, _PART), (3, {}), (4, {**_RUN, REWRITE_ID: "02"})],
    "killed, and young files wait after the next": [(1, {}), (2, _PART), (3, {**_RUN, SETTLED_FROM: YOUNG_WAIT})],
    "killed, and another killed": [(1, {}), (2, _PART), (3, {REQUEST: "2e"}), (4, {})],
    "settled again": [(1, {}), (2, _RUN), (3, {}), (4, {**_RUN, SETTLED_FROM: "3", "zorder.layout-hash": "ef"})],
}


_TARGET = {"zorder.columns": "a,b", "zorder.rewrite-id": "f0", "zorder.target-file-size": "100 data"}
_REWRITES: list[tuple[int, dict[str, str]]] = [
    (1, {}),
    (2, _TARGET),
    (3, {**_TARGET, "zorder.target-file-size": "101 data"}),
    (4, {**_TARGET, _OPERATION: "append"}),
    (5, {"zorder.target-file-size": "100 data"}),
    (6, {**_TARGET, REQUEST: "2e", "zorder.rewrite-id": "f1"}),
    (7, _RUN),
    (8, {**_TARGET, "zorder.columns": "b,a"}),
    (9, {**_TARGET, REQUEST: "2e 0123456789abcdef"}),
]
_SMALL: list[tuple[list[int], list[str | None]]] = [
    ([], []),
    ([10, 10], [None, None]),
    ([10, 10], ["1", "1"]),
    ([10, 10, 21], [None, None, "1"]),
    ([10, 10, 20], [None, None, "1"]),
    ([10, 10, 30, 9, 10, 60], [None, None, "1", "2", "2", "1"]),
    ([40, 39, 79], ["1", None, "2"]),
    ([40, 40, 80, 161], ["1", None, "2", "3"]),
    ([0, 5], ["1", "2"]),
    ([2**53, 2**53 + 1, 1], [None, "1", None]),
]
_SIZES = "added-files-size"
_TOTAL = "total-files-size"
_END = {SETTLED_FROM: "1"}
_BUDGETS: dict[str, tuple[dict[int, str], list[tuple[int, dict[str, str]]]]] = {
    "no rewrite": ({}, [(1, {_SIZES: "5", _OPERATION: "append"})]),
    "nothing since": ({2: "a"}, [(1, {_SIZES: "5", _OPERATION: "append"}), (2, {_SIZES: "5", **_END})]),
    "killed": ({2: "a"}, [(1, {_SIZES: "5", _OPERATION: "append"}), (2, {_SIZES: "5"})]),
    "less than came": (
        {2: "a", 4: "b"},
        [
            (2, {_SIZES: "900", **_END}),
            (3, {_SIZES: "100", _OPERATION: "overwrite"}),
            (4, {_SIZES: "90"}),
            (5, {_SIZES: "7"}),
        ],
    ),
    "in parts, of which one copied": (
        {2: "a", 4: "a", 6: "b"},
        [
            (2, {_SIZES: "900"}),
            (3, {_SIZES: "100", _OPERATION: "append"}),
            (4, {_SIZES: "900", **_END}),
            (5, {_OPERATION: "append"}),
            (6, {_SIZES: "1600"}),
        ],
    ),
    "the first one of a part": (
        {2: "a", 3: "b", 5: "c"},
        [
            (2, {_SIZES: "499", **_END}),
            (3, {_SIZES: "500", **_END}),
            (4, {_SIZES: "10", _OPERATION: "append"}),
            (5, {_SIZES: "20", _TOTAL: "1000"}),
        ],
    ),
    "all of a part": ({2: "a"}, [(2, {_SIZES: "499", _TOTAL: "1000", **_END})]),
    "spent": ({2: "a", 4: "b"}, [(2, _END), (3, {_SIZES: "9", _OPERATION: "append"}), (4, {_SIZES: "154"})]),
    "killed and ended by the next": (
        {1: "a", 3: "b", 4: "b"},
        [
            (1, {_SIZES: "600"}),
            (2, {_SIZES: "10", _OPERATION: "append"}),
            (3, {_SIZES: "200"}),
            (4, {_SIZES: "210", **_END}),
            (5, {_SIZES: "20", _OPERATION: "append", _TOTAL: "1030"}),
        ],
    ),
    "killed twice, of different requests": (
        {1: "a", 2: "b", 3: "c"},
        [
            (1, {_SIZES: "300", REQUEST: "1f"}),
            (2, {_SIZES: "300", REQUEST: "2e"}),
            (3, {_SIZES: "199", _TOTAL: "1000", REQUEST: "2e", **_END}),
        ],
    ),
    "only young files wait": (
        {1: "a"},
        [(1, {_SIZES: "900", SETTLED_FROM: YOUNG_WAIT}), (2, {_SIZES: "1", _OPERATION: "append"})],
    ),
}
_PARTITIONS: list[list[int]] = [[1], [2], [3], [1, 2], [2, 3], [2, 4], [3, 4], [1, 2, 3, 4], [99], [1, 99]]


def settled_document() -> dict[str, Any]:
    """The cases, and what must come of each."""
    given = ("sort_order", "where", "ids", "target", "options", "properties")
    return {
        "keys": [{**case, "key": bh.request_key(*(case[name] for name in given))} for case in _KEYS],
        "workloads": [{"queries": queries, "key": bh.workload_key(queries)} for queries in _WORKLOADS],
        "partitions": _PARTITIONS,
        "rewrites": {
            "target": 100,
            "snapshots": [_as_json(_snapshot(each)) for each in _REWRITES],
            "found": {str(each): run for each, run in bh.rewrites_to(map(_snapshot, _REWRITES), 100).items()},
        },
        "small": [
            {"sizes": sizes, "rewrites": rewrites, "merged": bh.small_files_to_merge(sizes, rewrites).tolist()}
            for sizes, rewrites in _SMALL
        ],
        "budgets": [
            {
                "name": name,
                "runs": {str(each): run for each, run in runs.items()},
                "snapshots": [_as_json(_snapshot(each)) for each in history],
                "budget": bh.rewrite_budget(runs, [_snapshot(each) for each in history]),
            }
            for name, (runs, history) in _BUDGETS.items()
        ],
        "histories": [
            {
                "name": name,
                "snapshots": [_as_json(_snapshot(each)) for each in history],
                "settled": _settled(history),
                "unfinished": _unfinished(history),
            }
            for name, history in _HISTORIES.items()
        ],
    }


def _settled(history: list[tuple[int, dict[str, str]]]) -> list[bool] | None:
    unchanged = bh.UnchangedSince.rewrites_by("1f", [_snapshot(each) for each in history])
    return None if unchanged is None else [unchanged.covers(partition) for partition in _PARTITIONS]


def _unfinished(history: list[tuple[int, dict[str, str]]]) -> list[int] | None:
    unchanged = bh.UnchangedSince.rewrites_by("1f", [_snapshot(each) for each in history])
    return None if unchanged is None else sorted(unchanged.unfinished)


def _as_json(each: SnapshotFacts) -> dict[str, Any]:
    return {"id": each.snapshot_id, "operation": each.operation, "summary": dict(each.summary)}


def _snapshot(of: tuple[int, dict[str, str]]) -> SnapshotFacts:
    """Make a snapshot: one with a summary is a rewrite's, unless it says otherwise."""
    number, summary = of
    told = {key: value for key, value in summary.items() if key != _OPERATION}
    return SnapshotFacts(number, 0, summary.get(_OPERATION, "replace" if summary else "append"), told)
