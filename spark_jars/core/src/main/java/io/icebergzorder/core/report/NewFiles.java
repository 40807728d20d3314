package io.icebergzorder.core.report;

import io.icebergzorder.core.ClusteringColumn;
import io.icebergzorder.core.KeyColumn;
import io.icebergzorder.core.KeyDomain;
import io.icebergzorder.core.Ranks;
import io.icebergzorder.core.Sample;
import io.icebergzorder.core.ScanPrediction.SampledGroup;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** The data files that layouts will make. */
public final class NewFiles {
  private NewFiles() {}

  /** A sample of a partition. */
  private record Part(int partition, SampledGroup group, Sample sample) {}

  /** Describes the data files that layouts make, as far as samples of their rows show. */
  public static DataFiles of(Map<Integer, SampledGroup> groups, List<ClusteringColumn> columns) {
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

  /** Describes what a layout makes that was fitted to no row as one file of which only the size is known. */
  public static DataFiles unknown(SampledGroup group, List<ClusteringColumn> columns) {
    return new DataFiles(
        new int[1],
        new long[] {group.rows()},
        new long[] {group.bytes()},
        columns.stream().map(column -> ColumnBounds.none(column, new double[] {1})).toList());
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
      long[] sampled = new long[count];
      SampledGroup[] groups = new SampledGroup[count];
      int row = 0;
      for (Part part : parts) {
        for (int i = 0; i < part.sample().rows(); i++, row++) {
          partitions[file[row]] = part.partition();
          groups[file[row]] = part.group();
          sampled[file[row]]++;
        }
      }
      long[] rows = new long[count];
      long[] sizes = new long[count];
      Arrays.setAll(rows, of -> groups[of].share(groups[of].rows(), sampled[of]));
      Arrays.setAll(sizes, of -> groups[of].share(groups[of].bytes(), sampled[of]));
      List<ColumnBounds> bounds = new ArrayList<>();
      for (int place = 0; place < columns.size(); place++) {
        int of = place;
        bounds.add(bounds(columns.get(place), parts.stream().map(part -> part.sample().columns().get(of)).toList()));
      }
      return new DataFiles(partitions, rows, sizes, bounds);
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
