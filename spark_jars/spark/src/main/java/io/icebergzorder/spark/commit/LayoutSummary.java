package io.icebergzorder.spark.commit;

import io.icebergzorder.core.Curve;
import io.icebergzorder.core.Layout;
import io.icebergzorder.spark.request.RowOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;

/** What the snapshot says about the layouts of a rewrite. */
public final class LayoutSummary {
  private LayoutSummary() {}

  /** The properties of the snapshot's summary, all under {@code zorder.}. */
  public static Map<String, String> properties(RowOrder order, List<Layout> layouts) {
    boolean isPlain = order.curve() == Curve.ZORDER && order.prefix().isEmpty();
    Map<String, String> properties = new HashMap<>();
    properties.put("zorder.columns", isPlain ? order.names(",") : order.sortOrder());
    properties.put("zorder.cuts", layouts.get(0).cuts().kind());
    properties.put("zorder.layout-hash", hash(layouts));
    return properties;
  }

  /** The layout's own hash; of several, the SHA-256 of their hashes, sorted, one a line. */
  private static String hash(List<Layout> layouts) {
    if (layouts.size() == 1) {
      return layouts.get(0).hash();
    }
    String hashes = layouts.stream().map(Layout::hash).sorted().collect(Collectors.joining("\n"));
    try {
      byte[] digest = MessageDigest.getInstance("SHA-256").digest(hashes.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest);
    } catch (NoSuchAlgorithmException e) {
      throw new IllegalStateException("Cannot hash layouts, because this Java has no SHA-256", e);
    }
  }
}
