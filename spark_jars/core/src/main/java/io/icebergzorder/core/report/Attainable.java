package io.icebergzorder.core.report;

import io.icebergzorder.core.BoxTree;
import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.Curve;
import io.icebergzorder.core.EvenCuts;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Layout;
import io.icebergzorder.core.LayoutRequest;
import io.icebergzorder.core.PrefixOrder;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanPrediction.SampledGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongToIntFunction;
import java.util.stream.IntStream;

/** What a full rewrite is predicted to attain, and the files that it would make. */
final class Attainable {
  private static final int BOUNDARIES = 4_096;
  private static final double SIZE_TOLERANCE = 0.25;

  private Attainable() {}

  /**
   * Lays out every partition by a sample of its rows, every other one of which is held out from the layouts.
   *
   * @param rows the rows, and the files that they are of
   * @param expectedFiles from the bytes of a partition to the number of its files
   * @return by the number of each partition that has files: its rows, and their layout
   */
  static Map<Integer, SampledGroup> partitions(
      DataFiles files, SpreadRows rows, LongToIntFunction expectedFiles, List<PrefixOrder> leadingOrders) {
    int count = files.partitionNumbers();
    long[] ofRows = new long[count];
    long[] sizes = new long[count];
    for (int file = 0; file < files.count(); file++) {
      ofRows[files.partitions()[file]] += files.rows()[file];
      sizes[files.partitions()[file]] += files.sizes()[file];
    }
    int[] numbers = Arrays.stream(rows.places()).map(file -> files.partitions()[file]).toArray();
    int[][] rowsOf = DataFiles.placesByNumber(numbers, count);
    List<ClusteringColumn> columns = files.columns().stream().map(ColumnBounds::column).toList();
    Layout oneFile = Layout.fit(columns, take(rows.sample(), new int[0]), request(1, EvenCuts.KIND, leadingOrders));
    Map<Integer, SampledGroup> found = new TreeMap<>();
    for (int number : Arrays.stream(files.partitions()).distinct().toArray()) {
      Sample fitted = take(rows.sample(), everyOther(rowsOf[number], 0));
      Sample heldOut = take(rows.sample(), everyOther(rowsOf[number], 1));
      int wanted = expectedFiles.applyAsInt(sizes[number]);
      Layout layout = wanted > 1 ? Layout.fit(columns, fitted, request(wanted, BoxTree.KIND, leadingOrders)) : oneFile;
      found.put(number, new SampledGroup(layout, fitted, heldOut, ofRows[number], sizes[number]));
    }
    return found;
  }

  private static LayoutRequest request(int files, String cuts, List<PrefixOrder> leadingOrders) {
    return new LayoutRequest(files, cuts, Curve.ZORDER, leadingOrders, BOUNDARIES, SIZE_TOLERANCE, new double[0]);
  }

  private static int[] everyOther(int[] places, int first) {
    return IntStream.range(0, (places.length + 1 - first) / 2).map(i -> places[2 * i + first]).toArray();
  }

  /** Takes rows of a sample by their places. */
  static Sample take(Sample sample, int[] rows) {
    return new Sample(sample.columns().stream().map(keys -> ColumnBounds.take(keys, rows)).toList());
  }

  /** A sample of a partition. */
  private record Part(int partition, SampledGroup group, Sample sample) {}

  /**
   * Describes the data files that layouts make, as far as samples of their rows show.
   *
   * @param groups the layouts, by the number of the partition
   * @return the files that get a row of the samples, with the bounds of those rows; of others nothing is known
   */
  static DataFiles newFiles(Map<Integer, SampledGroup> groups, List<ClusteringColumn> columns) {
    List<Part> parts = new ArrayList<>();
    List<int[]> filesOf = new ArrayList<>();
    int start = 0;
    for (Map.Entry<Integer, SampledGroup> entry : groups.entrySet()) {
      SampledGroup group = entry.getValue();
      int first = start;
      for (Sample sample : List.of(group.fitted(), group.heldOut())) {
        parts.add(new Part(entry.getKey(), group, sample));
        filesOf.add(Arrays.stream(group.filesOf(sample)).map(file -> first + file).toArray());
      }
      start += group.layout().files();
    }
    int[] file = filesOf.stream().flatMapToInt(Arrays::stream).toArray();
    int[] seen = Arrays.stream(file).sorted().distinct().toArray();
    for (int row = 0; row < file.length; row++) {
      file[row] = Arrays.binarySearch(seen, file[row]);
    }
    return new Files(parts, file, seen.length).described(columns);
  }

  /**
   * Sampled rows and the new files that they are in.
   *
   * @param parts the samples
   * @param file the file of each row of all samples, one after the other
   * @param count the number of files
   */
  private record Files(List<Part> parts, int[] file, int count) {
    DataFiles described(List<ClusteringColumn> columns) {
      int[] partitions = new int[count];
      double[] rows = new double[count];
      double[] sizes = new double[count];
      int row = 0;
      for (Part part : parts) {
        double share = 1.0 / Math.max(1, part.group().sampledRows());
        for (int i = 0; i < part.sample().rows(); i++, row++) {
          partitions[file[row]] = part.partition();
          rows[file[row]] += share * part.group().rows();
          sizes[file[row]] += share * part.group().bytes();
        }
      }
      List<ColumnBounds> bounds = new ArrayList<>();
      for (int place = 0; place < columns.size(); place++) {
        int of = place;
        bounds.add(bounds(columns.get(place), parts.stream().map(part -> part.sample().columns().get(of)).toList()));
      }
      return new DataFiles(partitions, rounded(rows), rounded(sizes), bounds);
    }

    private static long[] rounded(double[] values) {
      return Arrays.stream(values).mapToLong(value -> (long) Math.rint(value)).toArray();
    }

    /** Finds the smallest and the largest key of each file. */
    private ColumnBounds bounds(ClusteringColumn column, List<KeyColumn> samples) {
      KeyColumn keys = joined(samples);
      int[] ranks = keys.size() == 0 ? new int[0] : Ranks.among(keys).of(keys);
      int[] least = new int[count];
      int[] most = new int[count];
      int[] rows = new int[count];
      int[] valued = new int[count];
      for (int row = 0; row < ranks.length; row++) {
        int of = file[row];
        rows[of]++;
        if (ranks[row] >= 0) {
          boolean isFirst = valued[of]++ == 0;
          least[of] = isFirst || ranks[row] < ranks[least[of]] ? row : least[of];
          most[of] = isFirst || ranks[row] > ranks[most[of]] ? row : most[of];
        }
      }
      double[] shares = new double[count];
      Arrays.setAll(shares, of -> (double) valued[of] / Math.max(1, rows[of]));
      return new ColumnBounds(column, ends(keys, least, valued), ends(keys, most, valued), shares);
    }

    /** The keys at places; NULL in files without a value. */
    private static KeyColumn ends(KeyColumn keys, int[] places, int[] valued) {
      byte[] states = new byte[places.length];
      for (int of = 0; of < states.length; of++) {
        states[of] = valued[of] > 0 ? KeyColumn.VALUE : KeyColumn.NULL;
      }
      if (keys.domain() == KeyDomain.LONG) {
        return KeyColumn.ofLongs(Arrays.stream(places).mapToLong(keys::longKey).toArray(), states);
      }
      return KeyColumn.ofBytes(Arrays.stream(places).mapToObj(keys::bytesKey).toArray(byte[][]::new), states);
    }

    private static KeyColumn joined(List<KeyColumn> columns) {
      byte[] states = new byte[columns.stream().mapToInt(KeyColumn::size).sum()];
      boolean isLong = columns.isEmpty() || columns.get(0).domain() == KeyDomain.LONG;
      long[] longs = new long[isLong ? states.length : 0];
      byte[][] texts = new byte[isLong ? 0 : states.length][];
      int filled = 0;
      for (KeyColumn column : columns) {
        for (int row = 0; row < column.size(); row++, filled++) {
          states[filled] = column.state(row);
          if (isLong) {
            longs[filled] = column.longKey(row);
          } else {
            texts[filled] = column.bytesKey(row);
          }
        }
      }
      return isLong ? KeyColumn.ofLongs(longs, states) : KeyColumn.ofBytes(texts, states);
    }
  }
}
