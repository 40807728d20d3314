"""Tables remember by what they are rewritten."""

import pyarrow as pa
import pytest
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from iceberg_zorder.errors import InvalidInputError
from iceberg_zorder.pyiceberg import plan_rewrite, report, rewrite_data_files
from tests.present import present
from tests.pyiceberg.lake import table_of


@pytest.fixture
def table(catalog: SqlCatalog) -> Table:
    return table_of(catalog, pa.table({"a": range(2000), "b": [number * 7919 % 2000 for number in range(2000)]}), 4)


def remember(table: Table, **properties: str) -> None:
    with table.transaction() as transaction:
        transaction.set_properties({f"zorder.{name}": value for name, value in properties.items()})


def test_a_call_without_columns_takes_those_of_the_table(table: Table) -> None:
    with pytest.raises(
        InvalidInputError,
        match="because no columns are named and it has no property zorder.columns: .* advise recommends",
    ):
        rewrite_data_files(table, options={"workload": {"version": 1, "queries": [{"filter": "a = 1"}]}})
    remember(table, columns="zorder(b, a)", options="rewrite-all=true; target-file-size-bytes=4000")
    assert report(table).cluster_by_keys == ("b", "a")
    result = rewrite_data_files(table)
    assert (result.rewritten_data_files_count, result.added_data_files_count > 2) == (4, True)
    snapshot = present(table.current_snapshot())
    assert present(snapshot.summary)["zorder.columns"] == "b,a"


def test_what_a_call_names_wins(table: Table) -> None:
    remember(table, columns="b", options="rewrite-all=true; target-file-size-bytes=4000; cuts=even")
    plan = plan_rewrite(table, ["a"], options={"target-file-size-bytes": 2000})
    assert plan.spec.sort_order == "zorder(`a`)"
    assert plan.to_dict()["options"] == {"rewrite-all": "true", "target-file-size-bytes": "2000", "cuts": "even"}
    assert plan_rewrite(table, "a", options={"rewrite-all": False}).groups == ()


def test_weights_of_other_columns_are_told_and_not_taken(table: Table, caplog: pytest.LogCaptureFixture) -> None:
    remember(table, columns="a, b", options="rewrite-all=true; column-weights=A=2,b=1")
    assert plan_rewrite(table, "b").to_dict()["options"] == {"rewrite-all": "true"}
    assert "Ignored column-weights = 'A=2,b=1' of lake.db.t, because they are for other columns" in caplog.messages


@pytest.mark.parametrize(
    ("properties", "why"),
    [
        ({"columns": "nope"}, "Cannot cluster by column 'nope'"),
        (
            {"columns": "b, zorder(a, old)"},
            "^Cannot cluster by column 'old', because lake.db.t has no such column: it has a, b. The table's property "
            r"zorder.columns = 'b, zorder\(a, old\)' names it: change it, or name the columns$",
        ),
        ({"columns": "zorder(a"}, r"Cannot parse sort_order 'zorder\(a'"),
        ({"columns": "a", "options": "rewrite-all"}, "because 'rewrite-all' is not of the form name=value"),
        (
            {"columns": "a", "options": "cuts=even; dry-run = false"},
            "^Cannot use property zorder.options = 'cuts=even; dry-run = false' of lake.db.t, because 'dry-run = false' is for a "
            "single call: no later call would write anything$",
        ),
        ({"columns": "a", "options": "cuts=odd"}, "Cannot set cuts to 'odd'"),
        ({"columns": "a", "options": "no-such=1"}, "no-such"),
    ],
)
def test_what_cannot_be_honoured_is_refused(table: Table, properties: dict[str, str], why: str) -> None:
    remember(table, **properties)
    with pytest.raises(InvalidInputError, match=why):
        rewrite_data_files(table)
    with pytest.raises(InvalidInputError, match=why):
        report(table)
