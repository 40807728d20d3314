package io.icebergzorder.core;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.LongStream;

/**
 * The canonical JSON of a layout, version 1.
 *
 * <pre>
 * {"bits":16,
 *  "columns":[{"boundaries":[8036,9131],"name":"l_shipdate","positions":[0,21845,43690,65535,65535],
 *              "type":"date"}],
 *  "curve":"zorder","cuts":{"kind":"even","starts":[21845]},"left_out":["l_linestatus"],"version":1}
 * </pre>
 *
 * <p>(Without the line breaks and indents.) The hash is taken of these bytes, so nodes are filled in
 * the order of their sorted names.
 */
final class LayoutJson {
  private static final int VERSION = 1;
  private static final HexFormat HEX = HexFormat.of();

  /** Python's json writes lower-case escapes, Jackson upper-case ones unless told otherwise. */
  private static final JsonMapper MAPPER =
      JsonMapper.builder().disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE).build();

  private LayoutJson() {}

  static String write(Layout layout) {
    ObjectNode root = MAPPER.createObjectNode();
    root.put("bits", layout.bits());
    ArrayNode columns = root.putArray("columns");
    layout.columns().forEach(column -> writeColumn(columns.addObject(), column));
    root.put("curve", layout.curve());
    ObjectNode cuts = root.putObject("cuts").put("kind", EvenCuts.KIND);
    ArrayNode starts = cuts.putArray("starts");
    for (long start : layout.cuts().starts()) {
      starts.add(start);
    }
    ArrayNode leftOut = root.putArray("left_out");
    layout.leftOut().forEach(leftOut::add);
    root.put("version", VERSION);
    try {
      return MAPPER.writeValueAsString(root);
    } catch (JsonProcessingException e) {
      throw new IllegalStateException("Cannot write a layout, because Jackson failed", e);
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
    expect(root, "version", String.valueOf(VERSION));
    expect(root, "curve", ZOrderCurve.NAME);
    expect(field(root, "cuts"), "kind", EvenCuts.KIND);
    JsonNode nodes = array(root, "columns");
    int bits = Layout.bitsFor(nodes.size());
    expect(root, "bits", String.valueOf(bits));
    List<LayoutColumn> columns = new ArrayList<>();
    for (JsonNode node : nodes) {
      columns.add(readColumn(node, columns.size(), nodes.size(), bits));
    }
    List<String> leftOut = new ArrayList<>();
    for (JsonNode name : array(root, "left_out")) {
      leftOut.add(text(name));
    }
    EvenCuts cuts = new EvenCuts(longs(array(field(root, "cuts"), "starts")));
    return new Layout(columns, leftOut, bits, cuts);
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
    long[] spread = ZOrderCurve.spread(positions, place, columns, bits);
    return new LayoutColumn(place, column, boundaries, positions, spread);
  }

  private static void expect(JsonNode node, String name, String value) {
    String actual = field(node, name).asText();
    if (!actual.equals(value)) {
      throw unreadable("'%s' must be %s and is '%s'".formatted(name, value, actual));
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
