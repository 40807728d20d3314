package io.icebergzorder.core;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.icebergzorder.core.Cuts.EvenCuts;
import io.icebergzorder.core.Keys.KeyDomain;
import io.icebergzorder.core.Layout.LayoutColumn;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Arrays;
import java.util.HexFormat;

/**
 * The canonical JSON of a layout, version 1: keys sorted, no spaces, integers only, boundaries of bytes in lower-case hex.
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
  private static final JsonMapper MAPPER = JsonMapper.builder().disable(JsonWriteFeature.WRITE_HEX_UPPER_CASE).build();

  private LayoutJson() {}

  static String write(Layout layout) {
    ObjectNode root = MAPPER.createObjectNode();
    root.put("bits", layout.bits());
    ArrayNode columns = root.putArray("columns");
    layout.columns().forEach(column -> writeColumn(columns.addObject(), column));
    root.put("curve", layout.curve().label());
    writeCuts(root.putObject("cuts"), layout.cuts());
    layout.leftOut().forEach(root.putArray("left_out")::add);
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
      Arrays.stream(even.starts()).forEach(node.put("kind", EvenCuts.KIND).putArray("starts")::add);
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
    if (column.column().domain() == KeyDomain.LONG) {
      Arrays.stream(column.boundaries().longs()).forEach(boundaries::add);
    } else {
      Arrays.stream(column.boundaries().bytes()).map(HEX::formatHex).forEach(boundaries::add);
    }
    node.put("name", column.column().name());
    Arrays.stream(column.positions()).forEach(node.putArray("positions")::add);
    node.put("type", column.column().type());
  }

  static String hash(String json) {
    try {
      return HEX.formatHex(MessageDigest.getInstance("SHA-256").digest(json.getBytes(StandardCharsets.UTF_8)));
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Cannot hash a layout, because Java lacks SHA-256", e);
    }
  }
}
