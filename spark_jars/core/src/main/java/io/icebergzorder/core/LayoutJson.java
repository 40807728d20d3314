package io.icebergzorder.core;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.Iterator;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.LongStream;

/**
 * The canonical JSON of a layout, version 1.
 *
 * <pre>
 * {"bits":16,
 *  "columns":[{"boundaries":[8036,9131],"name":"l_shipdate","positions":[0,21845,43690,65535,65535],
 *              "type":"date"}],
 *  "curve":"zorder","cuts":{"kind":"even","starts":[21845]},"left_out":["l_linestatus"],"prefix":0,
 *  "version":1}
 * </pre>
 *
 * <p>(Without the line breaks and indents.) Adaptive cuts are
 * {@code {"boxes":[[0,21845],[43690,65535]],"kind":"adaptive","tree":[[0,43690],1,1]}}: the nodes in preorder, a split as
 * its column and start, a leaf as its number of files; and for every leaf the lower and upper position of the first
 * column, then of the second, and so on. The hash is taken of these bytes, so nodes are filled in
 * the order of their sorted names.
 */
final class LayoutJson {
  private static final int VERSION = 1;
  private static final HexFormat HEX = HexFormat.of();

  /** Python's json writes lower-case escapes, Jackson upper-case ones unless told otherwise. */
  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
          .build();

  private LayoutJson() {}

  static String write(Layout layout) {
    ObjectNode root = MAPPER.createObjectNode();
    root.put("bits", layout.bits());
    ArrayNode columns = root.putArray("columns");
    layout.columns().forEach(column -> writeColumn(columns.addObject(), column));
    root.put("curve", layout.curve().label());
    writeCuts(root.putObject("cuts"), layout.cuts());
    ArrayNode leftOut = root.putArray("left_out");
    layout.leftOut().forEach(leftOut::add);
    root.put("prefix", layout.leading());
    root.put("version", VERSION);
    try {
      return MAPPER.writeValueAsString(root);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write a layout, because Jackson failed", e);
    }
  }

  private static void writeCuts(ObjectNode node, Cuts cuts) {
    if (cuts instanceof EvenCuts even) {
      ArrayNode starts = node.put("kind", EvenCuts.KIND).putArray("starts");
      for (long start : even.starts()) {
        starts.add(start);
      }
      return;
    }
    ArrayNode boxes = node.putArray("boxes");
    ArrayNode tree = node.put("kind", BoxTree.KIND).putArray("tree");
    for (BoxTree.Node of : ((BoxTree) cuts).nodes()) {
      if (of instanceof BoxTree.Split split) {
        tree.addArray().add(split.column()).add(split.start());
      } else if (of instanceof BoxTree.Leaf leaf) {
        tree.add(leaf.files());
        ArrayNode box = boxes.addArray();
        for (int column = 0; column < leaf.lower().length; column++) {
          box.add(leaf.lower()[column]).add(leaf.upper()[column]);
        }
      }
    }
  }

  private static void writeColumn(ObjectNode node, LayoutColumn column) {
    ArrayNode boundaries = node.putArray("boundaries");
    if (column.boundaries() instanceof LongBoundaries longs) {
      for (long value : longs.values()) {
        boundaries.add(value);
      }
    } else if (column.boundaries() instanceof BytesBoundaries bytes) {
      for (byte[] value : bytes.values()) {
        boundaries.add(HEX.formatHex(value));
      }
    }
    node.put("name", column.column().name());
    ArrayNode positions = node.putArray("positions");
    for (int position : column.positions()) {
      positions.add(position);
    }
    node.put("type", column.column().type());
  }

  static String hash(String json) {
    try {
      MessageDigest sha256 = MessageDigest.getInstance("SHA-256");
      return HEX.formatHex(sha256.digest(json.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Cannot hash a layout, because Java lacks SHA-256", e);
    }
  }

  static Layout read(String json) {
    JsonNode root;
    try {
      root = MAPPER.readTree(json);
    } catch (JsonProcessingException e) {
      throw new IllegalArgumentException("Cannot read a layout, because it is not JSON", e);
    }
    expect(root, "version", VERSION);
    expect(root, "curve", Curve.ZORDER.label(), Curve.HILBERT.label());
    expect(field(root, "cuts"), "kind", EvenCuts.KIND, BoxTree.KIND);
    JsonNode nodes = array(root, "columns");
    int bits = Layout.bitsFor(nodes.size());
    expect(root, "bits", bits);
    List<LayoutColumn> columns = new ArrayList<>();
    for (JsonNode node : nodes) {
      columns.add(readColumn(node, columns.size(), nodes.size(), bits));
    }
    List<String> leftOut = new ArrayList<>();
    for (JsonNode name : array(root, "left_out")) {
      leftOut.add(text(name));
    }
    int leading = small(longs(MAPPER.createArrayNode().add(field(root, "prefix")))[0]);
    if (leading < 0 || leading > columns.size()) {
      throw unreadable("'prefix' must be in [0, %d] and is '%d'".formatted(columns.size(), leading));
    }
    Curve curve = Curve.of(text(root, "curve"));
    if (curve == Curve.HILBERT && columns.size() - leading > HilbertCurve.MAX_COLUMNS) {
      throw unreadable("a Hilbert curve has at most %d columns".formatted(HilbertCurve.MAX_COLUMNS));
    }
    return new Layout(columns, leading, leftOut, bits, curve, readCuts(field(root, "cuts"), columns.size(), bits));
  }

  private static Cuts readCuts(JsonNode node, int columns, int bits) {
    if (text(node, "kind").equals(EvenCuts.KIND)) {
      return new EvenCuts(longs(array(node, "starts")));
    }
    Iterator<JsonNode> boxes = array(node, "boxes").iterator();
    List<BoxTree.Node> nodes = new ArrayList<>();
    for (JsonNode of : array(node, "tree")) {
      nodes.add(of.isArray() ? readSplit(of, columns, bits) : readLeaf(of, boxes, columns, bits));
    }
    if (boxes.hasNext()) {
      throw unreadable("it has more boxes than leaves");
    }
    return new BoxTree(nodes, bits, columns);
  }

  private static BoxTree.Split readSplit(JsonNode node, int columns, int bits) {
    long[] split = longs(node);
    if (split.length != 2 || split[0] < 0 || split[0] >= columns || split[1] < 1 || split[1] >= 1L << bits) {
      throw unreadable("it has no place for the split " + node);
    }
    return new BoxTree.Split((int) split[0], (int) split[1]);
  }

  private static BoxTree.Leaf readLeaf(JsonNode files, Iterator<JsonNode> boxes, int columns, int bits) {
    JsonNode box = boxes.hasNext() ? boxes.next() : MAPPER.nullNode();
    long[] edges = box.isArray() ? longs(box) : new long[0];
    boolean isLeaf = box.isArray() && edges.length == 2 * columns && files.isInt() && files.intValue() >= 1;
    int[] lower = new int[columns];
    int[] upper = new int[columns];
    for (int column = 0; isLeaf && column < columns; column++) {
      isLeaf = edges[2 * column] >= 0
          && edges[2 * column] <= edges[2 * column + 1]
          && edges[2 * column + 1] < 1L << bits;
      lower[column] = (int) edges[2 * column];
      upper[column] = (int) edges[2 * column + 1];
    }
    if (!isLeaf) {
      throw unreadable("%s files in the box %s are no leaf".formatted(files, box));
    }
    return new BoxTree.Leaf(files.intValue(), lower, upper);
  }

  private static LayoutColumn readColumn(JsonNode node, int place, int columns, int bits) {
    String name = text(node, "name");
    ClusteringColumn column =
        new ClusteringColumn(SortOrder.parseName(name), text(node, "type"));
    Boundaries boundaries =
        switch (column.domain()) {
          case LONG -> new LongBoundaries(longs(array(node, "boundaries")));
          case BYTES -> new BytesBoundaries(bytes(array(node, "boundaries")));
        };
    int[] positions = LongStream.of(longs(array(node, "positions"))).mapToInt(LayoutJson::small).toArray();
    if (positions.length != boundaries.buckets()) {
      throw unreadable(
          "column '%s' has %d positions for %d buckets"
              .formatted(name, positions.length, boundaries.buckets()));
    }
    for (int position : positions) {
      if (position < 0 || position >= 1 << bits) {
        throw unreadable("column '%s' has the position %d outside [0, 2^%d)".formatted(name, position, bits));
      }
    }
    long[] packed = LayoutColumn.packed(positions, place, columns, bits);
    return new LayoutColumn(place, column, boundaries, positions, packed);
  }

  /** Checks a field, of which the number 1 is not the text "1". */
  private static void expect(JsonNode node, String name, Object... values) {
    JsonNode field = field(node, name);
    Object actual = field.isInt() ? (Object) field.intValue() : field.isTextual() ? field.textValue() : field;
    if (!List.of(values).contains(actual)) {
      String wanted = Arrays.stream(values).map(String::valueOf).collect(Collectors.joining(" or "));
      throw unreadable("'%s' must be %s and is '%s'".formatted(name, wanted, actual));
    }
  }

  private static JsonNode field(JsonNode node, String name) {
    JsonNode field = node.get(name);
    if (field == null) {
      throw unreadable("it has no '%s'".formatted(name));
    }
    return field;
  }

  private static JsonNode array(JsonNode node, String name) {
    JsonNode field = field(node, name);
    if (!field.isArray()) {
      throw unreadable("'%s' is not a list".formatted(name));
    }
    return field;
  }

  private static String text(JsonNode node, String name) {
    return text(field(node, name));
  }

  private static String text(JsonNode node) {
    if (!node.isTextual()) {
      throw unreadable("%s is not a string".formatted(node));
    }
    return node.textValue();
  }

  private static int small(long position) {
    if (position != (int) position) {
      throw unreadable("%d is not a position".formatted(position));
    }
    return (int) position;
  }

  private static long[] longs(JsonNode array) {
    long[] values = new long[array.size()];
    for (int i = 0; i < values.length; i++) {
      if (!array.get(i).canConvertToLong() || !array.get(i).isIntegralNumber()) {
        throw unreadable("%s is not a 64-bit integer".formatted(array.get(i)));
      }
      values[i] = array.get(i).longValue();
    }
    return values;
  }

  private static byte[][] bytes(JsonNode array) {
    byte[][] values = new byte[array.size()][];
    for (int i = 0; i < values.length; i++) {
      values[i] = HEX.parseHex(text(array.get(i)));
    }
    return values;
  }

  private static IllegalArgumentException unreadable(String because) {
    return new IllegalArgumentException("Cannot read a layout, because " + because);
  }
}
