package io.icebergzorder.spark.queries;

import io.icebergzorder.core.upkeep.AskedQueries;
import java.util.BitSet;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.Table;

/** How the queries of a workload are asked of data files, by the files' locations. */
public final class AskedFiles {
  private final Workload workload;
  private final List<FileCondition> conditions;
  private final Map<String, Asked> asked = new HashMap<>();

  private record Asked(BitSet mayFind, BitSet read) {}

  public AskedFiles(
      Workload workload, Table table, boolean caseSensitive, BiConsumer<Collection<String>, Consumer<DataFile>> forEach) {
    this.workload = workload;
    this.conditions = workload.conditions().stream().map(each -> new FileCondition(table, each, caseSensitive)).toList();
    forEach.accept(
        FileCondition.columns(table, conditions),
        file -> asked.computeIfAbsent(file.location(), location -> asked(file)));
  }

  private Asked asked(DataFile file) {
    Asked of = new Asked(new BitSet(), new BitSet());
    for (int query = 0; query < conditions.size(); query++) {
      boolean mayFind = conditions.get(query).partitionMayMatch(file);
      of.mayFind.set(query, mayFind);
      of.read.set(query, mayFind && conditions.get(query).valuesMayMatch(file));
    }
    return of;
  }

  public AskedQueries of(List<String> locations) {
    boolean[] mayFind = new boolean[conditions.size()];
    boolean[][] reads = new boolean[conditions.size()][locations.size()];
    for (int file = 0; file < locations.size(); file++) {
      Asked of = asked.get(locations.get(file));
      for (int query = 0; query < mayFind.length; query++) {
        mayFind[query] |= of.mayFind.get(query);
        reads[query][file] = of.read.get(query);
      }
    }
    return new AskedQueries(workload.queries().stream().map(Workload.Query::wanted).toList(), mayFind, reads, workload.share());
  }
}
