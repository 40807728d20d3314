package io.icebergzorder.spark.request;

import io.icebergzorder.core.LayoutColumn;
import io.icebergzorder.core.QueryBoxes;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.core.boxes.PositionBoxes;
import io.icebergzorder.core.upkeep.RequestKey;
import io.icebergzorder.core.upkeep.RequestKey.WeightedFilter;
import io.icebergzorder.spark.internals.Failures;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Pattern;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.FileIO;

/**
 * Queries that a table's files are cut for, resolved against the table.
 *
 * @param queries the queries, in the order in which they count
 * @param share how much they count against others that nobody has foreseen, in [0, 1]
 */
public record Workload(List<Query> queries, double share) {
  private static final Pattern SCHEME = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]+:.*", Pattern.DOTALL);

  /**
   * A query.
   *
   * @param condition its filter
   * @param wanted what it wants, and how often it is asked
   */
  public record Query(Condition condition, PositionBoxes.Query wanted) {
    /** How often it is asked. */
    public double weight() {
      return wanted.weight();
    }
  }

  /** Takes a copy of the list. */
  public Workload {
    queries = List.copyOf(queries);
  }

  /**
   * Reads what an option says, JSON or the place of a file with JSON.
   *
   * @return empty without the option
   * @throws IllegalArgumentException if it cannot be read, or has a filter that is none of the table
   */
  static Optional<Workload> of(CatalogTable target, ZOrderOptions options) {
    return options.workload().map(text -> {
      List<Query> queries = filters(text, target.table().io()).stream().map(each -> query(target, each)).toList();
      return new Workload(queries, options.workloadShare());
    });
  }

  private static List<WeightedFilter> filters(String text, FileIO io) {
    boolean isInline = text.stripLeading().startsWith("{");
    String name = isInline ? "of option workload" : text;
    List<WeightedFilter> found;
    try {
      found = WorkloadJson.queries(isInline ? text : content(text, io));
    } catch (IOException | IllegalArgumentException e) {
      throw new IllegalArgumentException(String.format("Cannot read workload %s, because %s", name, Failures.rootMessage(e)), e);
    }
    if (found.isEmpty()) {
      throw new IllegalArgumentException(
          String.format("Cannot use workload %s, because it has no query with a filter and a weight above 0", name));
    }
    return found;
  }

  private static Query query(CatalogTable target, WeightedFilter query) {
    Table table = target.table();
    Condition condition = new Condition(query.filter(), ResolvedRequest.filter(target, query.filter()));
    return new Query(
        condition,
        new PositionBoxes.Query(
            ConditionBoxes.of(table.schema(), condition.expression(), target.isCaseSensitive()), query.weight()));
  }

  private static String content(String location, FileIO io) throws IOException {
    try {
      byte[] bytes = SCHEME.matcher(location).matches() ? read(io, location) : Files.readAllBytes(Path.of(location));
      return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("it is no text in UTF-8", e);
    } catch (RuntimeException e) {
      throw new IOException(Failures.rootMessage(e), e);
    }
  }

  private static byte[] read(FileIO io, String location) throws IOException {
    try (InputStream in = io.newInputFile(location).newStream()) {
      return in.readAllBytes();
    }
  }

  /** How often each query is asked. */
  public double[] weights() {
    return queries.stream().mapToDouble(Query::weight).toArray();
  }

  /** The filters of the queries. */
  public List<Condition> conditions() {
    return queries.stream().map(Query::condition).toList();
  }

  /** The boxes that the queries want, by the active columns of a layout. */
  public QueryBoxes boxes(List<LayoutColumn> columns) {
    return PositionBoxes.of(queries.stream().map(Query::wanted).toList(), columns);
  }

  /** Options as they tell requests apart: with the key of the queries for where they lie. */
  Map<String, String> keyed(Map<String, String> options) {
    Map<String, String> keyed = new HashMap<>(options);
    List<WeightedFilter> filters =
        queries.stream().map(query -> new WeightedFilter(query.condition().text(), query.weight())).toList();
    keyed.put(ZOrderOptions.WORKLOAD, RequestKey.ofWorkload(filters));
    return keyed;
  }
}
