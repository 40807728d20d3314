package io.icebergzorder.spark.spec;

import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.core.select.RequestKey;
import io.icebergzorder.core.select.RequestKey.WeightedFilter;
import io.icebergzorder.core.select.UpkeepRequest.AskedQueries;
import io.icebergzorder.core.workload.KeyBox;
import io.icebergzorder.core.workload.PositionBoxes;
import io.icebergzorder.spark.internals.Failures;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import org.apache.iceberg.Table;
import org.apache.iceberg.expressions.Expression;
import org.apache.iceberg.io.FileIO;

/** The queries of a workload, resolved on a table. */
public record Workload(List<Query> queries, double share) {
  private static final int LARGEST = 64 * 1024 * 1024;

  /** Limits of the total weight, within which shares are exact enough. */
  private static final double LEAST = 1e-300;

  private static final double MOST = 1e300;

  private static final Pattern SCHEME = Pattern.compile("[A-Za-z][A-Za-z0-9+.-]+:.*", Pattern.DOTALL);

  public record Query(Condition condition, PositionBoxes.Query wanted) {
    public double weight() {
      return wanted.weight();
    }
  }

  public Workload {
    queries = List.copyOf(queries);
  }

  public static Workload of(String text, double share, Table table, boolean isCaseSensitive, Function<String, Expression> filters) {
    List<Query> queries = new ArrayList<>();
    for (WeightedFilter each : filters(text, table.io())) {
      Expression filter = filters.apply(each.filter());
      List<KeyBox> boxes = ConditionBoxes.of(table.schema(), filter, isCaseSensitive);
      queries.add(new Query(new Condition(each.filter(), filter), new PositionBoxes.Query(boxes, each.weight())));
    }
    return new Workload(queries, share);
  }

  private static List<WeightedFilter> filters(String text, FileIO io) {
    String name = isInline(text) ? "of option workload" : text;
    List<WeightedFilter> found;
    try {
      found = WorkloadJson.queries(isInline(text) ? text : content(text, io));
    } catch (IOException | IllegalArgumentException e) {
      throw new IllegalArgumentException("Cannot read workload %s, because %s".formatted(name, Failures.rootMessage(e)), e);
    }
    if (found.isEmpty()) {
      throw new IllegalArgumentException(
          "Cannot use workload %s, because it has no query with a filter and a weight above 0".formatted(name));
    }
    double total = 0;
    for (WeightedFilter each : found) {
      total += each.weight();
    }
    if (!(LEAST <= total && total <= MOST)) {
      throw new IllegalArgumentException(
          "Cannot use workload %s, because its weights add up to %s, and not to between %s and %s"
              .formatted(name, total, LEAST, MOST));
    }
    return found;
  }

  /** Whether the option has the queries themselves, and names no file. */
  public static boolean isInline(String text) {
    return text.stripLeading().startsWith("{");
  }

  private static String content(String location, FileIO io) throws IOException {
    try {
      byte[] bytes = SCHEME.matcher(location).matches() ? read(io.newInputFile(location).newStream()) : read(file(location));
      if (bytes.length > LARGEST) {
        throw new IllegalArgumentException(String.format(Locale.ROOT, "it has more than %,d bytes", LARGEST));
      }
      String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
      // Some programs begin files with a mark.
      return text.startsWith("\uFEFF") ? text.substring(1) : text;
    } catch (CharacterCodingException e) {
      throw new IllegalArgumentException("it is not UTF-8 text");
    } catch (RuntimeException e) {
      throw new IOException(Failures.rootMessage(e), e);
    }
  }

  /** Opens a file, with care: a table's property may name an endless or unresponsive file. */
  private static InputStream file(String name) throws IOException {
    if (Files.exists(Path.of(name)) && !Files.isRegularFile(Path.of(name))) {
      throw new IllegalArgumentException(name + " is not a file");
    }
    return Files.newInputStream(Path.of(name));
  }

  private static byte[] read(InputStream stream) throws IOException {
    try (InputStream in = stream) {
      return in.readNBytes(LARGEST + 1);
    }
  }

  public double[] weights() {
    return queries.stream().mapToDouble(Query::weight).toArray();
  }

  public List<Condition> conditions() {
    return queries.stream().map(Query::condition).toList();
  }

  /** What some of the queries ask for, of which all weights are averaged over. */
  public AskedQueries asked(boolean[] isAsked) {
    double weight = 0;
    for (Query query : queries) {
      weight += query.weight();
    }
    return new AskedQueries(
        IntStream.range(0, isAsked.length).filter(i -> isAsked[i]).mapToObj(i -> queries.get(i).wanted()).toList(), weight, share);
  }

  /** Options as they tell requests apart: with the key of the queries for where they lie. */
  public Map<String, String> keyed(Map<String, String> options) {
    Map<String, String> keyed = new HashMap<>(options);
    keyed.put(ZOrderOptions.WORKLOAD, key());
    return keyed;
  }

  /** The identity of the workload's content: 16 hexadecimal digits. */
  public String key() {
    return RequestKey.ofWorkload(queries.stream().map(query -> new WeightedFilter(query.condition().text(), query.weight())).toList());
  }
}
