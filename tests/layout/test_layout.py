"""The laws of whole layouts."""

import itertools
import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iceberg_zorder.layout.columns import ClusteringColumn
from iceberg_zorder.layout.fit import LayoutRequest, fit
from iceberg_zorder.layout.keys import encode
from iceberg_zorder.layout.sample import Sample
from tests.layout.test_laws import arrow, long_column


class TestLayout:
    @settings(deadline=None)
    @given(st.data())
    def test_equal_values_never_split(self, data: st.DataObject) -> None:
        rows = data.draw(st.integers(0, 60))
        values: list[list[Any]] = [
            data.draw(st.lists(st.one_of(st.none(), st.integers(0, 5)), min_size=rows, max_size=rows)),
            data.draw(st.lists(st.sampled_from([None, math.nan, 0.0, -0.0, 1.5]), min_size=rows, max_size=rows)),
            data.draw(st.lists(st.sampled_from(["", "a", "b", None]), min_size=rows, max_size=rows)),
        ]
        types = ("long", "double", "string")
        sample = Sample(tuple(encode(arrow(t, v), t) for t, v in zip(types, values, strict=True)))
        columns = [ClusteringColumn((t,), t) for t in types]
        request = LayoutRequest(
            files=data.draw(st.integers(1, 10)),
            cuts=data.draw(st.sampled_from(["even", "adaptive"])),
            curve=data.draw(st.sampled_from(["zorder", "hilbert"])),
            leading_orders=data.draw(st.sampled_from([(), ((False, True),), ((True, False), (True, True))])),
            boundaries=data.draw(st.integers(1, 10)),
            size_tolerance=data.draw(st.sampled_from([0.0, 0.25, 0.9])),
        )
        layout = fit(columns, sample, request)
        files, index = layout.file(sample).tolist(), layout.index(sample).tolist()
        seen: dict[str, tuple[int, int]] = {}
        for row in range(rows):
            # The text of a row tells NaN from NULL; adding 0.0 makes the zeros one.
            key = repr([v[row] + 0.0 if isinstance(v[row], float) else v[row] for v in values])
            assert seen.setdefault(key, (index[row], files[row])) == (index[row], files[row])

    def test_a_prefix_comes_before_the_curve(self) -> None:
        rng = np.random.default_rng(2)
        region, a = rng.integers(0, 4, 4000), rng.integers(0, 1000, 4000)
        columns = [ClusteringColumn((name,), "long") for name in ("region", "a")]
        sample = Sample((long_column(region.tolist()), long_column(a.tolist())))
        for cuts in ("even", "adaptive"):
            files = fit(columns, sample, LayoutRequest(files=8, cuts=cuts, leading_orders=((False, True),))).file(
                sample
            )
            regions_of_files = [set(region[files == file].tolist()) for file in range(8)]
            # Four regions of about two files each: a file has one region, or with even cuts the end of one as well.
            assert max(len(regions) for regions in regions_of_files) <= (1 if cuts == "adaptive" else 2)
            assert all(max(low) <= min(high) for low, high in itertools.pairwise(regions_of_files))

    @pytest.mark.parametrize("descending", [False, True])
    @pytest.mark.parametrize("nulls_first", [False, True])
    def test_files_follow_the_order_of_the_prefix(self, descending: bool, nulls_first: bool) -> None:
        values = [None if i % 5 == 0 else float("nan") if i % 7 == 0 else float(i % 11) for i in range(300)]
        sample = Sample((encode(pa.array(values), "double"), long_column(list(range(300)))))
        columns = [ClusteringColumn(("p",), "double"), ClusteringColumn(("a",), "long")]
        request = LayoutRequest(files=6, cuts="even", leading_orders=((descending, nulls_first),))
        index = fit(columns, sample, request).index(sample)

        def rank(value: float | None) -> float:
            if value is None:
                return -math.inf if nulls_first else math.inf
            return (100.0 if math.isnan(value) else value) * (-1 if descending else 1)

        ranks = [rank(values[row]) for row in np.argsort(index, kind="stable")]
        assert ranks == sorted(ranks)

    def test_weights_favour_their_column(self) -> None:
        rng = np.random.default_rng(3)
        values = [rng.permutation(4096), rng.permutation(4096)]
        sample = Sample(tuple(long_column(each.tolist()) for each in values))
        columns = [ClusteringColumn((name,), "long") for name in "ab"]
        extents = []
        for weights in ((1.0, 1.0), (16.0, 1.0)):
            files = fit(columns, sample, LayoutRequest(files=64, weights=weights)).file(sample)
            extents.append([sum(int(np.ptp(each[files == file])) for file in range(64)) for each in values])
        assert extents[1][0] < extents[0][0] / 2
        assert extents[1][1] > extents[0][1] * 2

    def test_a_constant_column_takes_no_weight_of_others(self) -> None:
        rng = np.random.default_rng(3)
        values = {"a": rng.permutation(4096), "b": rng.permutation(4096), "same": np.ones(4096, np.int64)}

        def cut(**weights: float) -> list[int]:
            columns = [ClusteringColumn((name,), "long") for name in weights]
            sample = Sample(tuple(long_column(values[name].tolist()) for name in weights))
            request = LayoutRequest(files=64, weights=tuple(weights.values()))
            files: list[int] = fit(columns, sample, request).file(sample).tolist()
            return files

        assert cut(same=1.0, a=16.0, b=1.0) == cut(a=16.0, b=1.0) != cut(a=1.0, b=16.0)
