"""Draw ``docs/pictures/boxes.png``: the boxes of a table's files over two columns, for three layouts of the same rows.

Run by ``make picture``, on real Spark and Iceberg: TPC-H lineitem SF 0.5, as generated, after Iceberg's own zorder, and
after ours, at (about) 32 files each.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from pyspark.sql import SparkSession

from benchmarks.bounds import FileBounds, file_bounds
from iceberg_zorder.metrics.scan_fraction import scan_fraction
from iceberg_zorder.spark import configure_spark
from quickstart.data import CATALOG, FULL_NAME, TABLE, Warehouse, generate, load

FILES = 32
COLUMNS = ("l_shipdate", "l_partkey")
LAYOUTS = {"as ingested": None, "Iceberg's zorder(...)": "sort", "strategy => 'zorder'": "zorder"}


def boxes(warehouse: Warehouse, spark: SparkSession) -> dict[str, FileBounds]:
    """Lay the table out in each way, and read the bounds that it leaves."""
    found = {}
    for title, strategy in LAYOUTS.items():
        if strategy is not None:
            size = sum(
                task.file.file_size_in_bytes for task in warehouse.for_pyiceberg().load_table(TABLE).scan().plan_files()
            )
            spark.sql(
                f"CALL {CATALOG}.system.rewrite_data_files(table => '{FULL_NAME}', strategy => '{strategy}', "
                f"sort_order => 'zorder({', '.join(COLUMNS)})', "
                f"options => map('rewrite-all', 'true', 'target-file-size-bytes', '{size // FILES}'))"
            )
        found[title] = file_bounds(warehouse.for_pyiceberg().load_table(TABLE), COLUMNS)
    return found


def draw(axes: Axes, title: str, bounds: FileBounds, values: dict[str, list[int]]) -> None:
    """Draw the boxes of one layout."""
    x, y = COLUMNS
    fractions = [
        scan_fraction(values[column], bounds.lower[column], bounds.upper[column], bounds.sizes) for column in COLUMNS
    ]
    colours = mpl.colormaps["viridis"]
    for number, corner in enumerate(
        zip(bounds.lower[x], bounds.lower[y], bounds.upper[x], bounds.upper[y], strict=True)
    ):
        left, low, right, high = corner
        colour = colours(number / len(bounds.sizes))
        axes.add_patch(
            Rectangle(
                (left, low), right - left, high - low, facecolor=(*colour[:3], 0.18), edgecolor=colour, linewidth=1.2
            )
        )
    axes.set_title(f"{title}\n{len(bounds.sizes)} files, {100 * sum(fractions) / 2:.0f}% read on average", fontsize=11)
    axes.set_xlim(min(bounds.lower[x]), max(bounds.upper[x]))
    axes.set_ylim(min(bounds.lower[y]), max(bounds.upper[y]))
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_xlabel(x)


def main() -> None:
    """Draw the picture."""
    with tempfile.TemporaryDirectory() as directory:
        warehouse = Warehouse(Path(directory))
        builder = (
            SparkSession.builder.master("local[2]")
            .config("spark.driver.memory", "3g")
            .config("spark.ui.enabled", "false")
        )
        builder = builder.config(
            "spark.sql.extensions", "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions"
        )
        for key, value in warehouse.for_spark.settings.items():
            builder = builder.config(key, value)
        spark = configure_spark(builder, extra_packages=warehouse.for_spark.packages).getOrCreate()
        source = warehouse.generated(0.5, FILES)
        generate(source, scale_factor=0.5, files=FILES)
        load(spark, source)
        rows = spark.sql(
            f"SELECT unix_date(l_shipdate), l_partkey FROM {FULL_NAME} WHERE l_orderkey % 3001 = 0"
        ).collect()
        values = {column: [row[place] for row in rows] for place, column in enumerate(COLUMNS)}
        found = boxes(warehouse, spark)
        spark.stop()
    figure, panels = plt.subplots(1, len(found), figsize=(11, 4.1), sharey=True, layout="constrained")
    for axes, (title, bounds) in zip(panels, found.items(), strict=True):
        draw(axes, title, bounds, values)
    panels[0].set_ylabel(COLUMNS[1])
    figure.savefig(sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png"), dpi=110)


if __name__ == "__main__":
    main()
