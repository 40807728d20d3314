package io.icebergzorder.core.metrics;

import java.nio.charset.Charset;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** Finds the files whose lower and upper bound begin alike as far as bounds are kept, and as those of another file. */
final class AlikeBounds {
  private static final int LAST_BYTE = 0xFF;
  private static final Pattern TRUNCATED = Pattern.compile("truncate\\((\\d+)\\)");

  private AlikeBounds() {}

  static boolean[] of(ColumnBounds bounds, String metricsMode) {
    boolean[] found = new boolean[bounds.size()];
    if (!areCut(bounds, metricsMode)) {
      return found;
    }
    boolean isText = bounds.column().type().equals("string");
    Charset charset = isText ? StandardCharsets.UTF_8 : StandardCharsets.ISO_8859_1;
    int last = isText ? Character.MAX_CODE_POINT : LAST_BYTE;
    int length = Integer.parseInt(TRUNCATED.matcher(metricsMode).replaceFirst("$1"));
    Map<List<String>, Integer> filesOf = new HashMap<>();
    for (int file = 0; file < found.length; file++) {
      if (bounds.isBounded(file)) {
        List<String> pair = pair(bounds, file, charset);
        found[file] = isCut(pair.get(0).codePoints().toArray(), pair.get(1).codePoints().toArray(), length, last);
        if (found[file]) {
          filesOf.merge(pair, 1, Integer::sum);
        }
      }
    }
    for (int file = 0; file < found.length; file++) {
      found[file] = found[file] && filesOf.get(pair(bounds, file, charset)) > 1;
    }
    return found;
  }

  /** Whether bounds of new files are cut. */
  static boolean areCut(ColumnBounds bounds, String metricsMode) {
    String type = bounds.column().type();
    return TRUNCATED.matcher(metricsMode).matches() && (type.equals("string") || type.equals("binary"));
  }

  private static List<String> pair(ColumnBounds bounds, int file, Charset charset) {
    return List.of(new String(bounds.lower().bytesKey(file), charset), new String(bounds.upper().bytesKey(file), charset));
  }

  /** Whether an upper bound is a lower bound of full length, with the last character that can be counted up so. */
  private static boolean isCut(int[] lower, int[] upper, int length, int last) {
    int common = upper.length - 1;
    return lower.length == length
        && common >= 0
        && common < length
        && Arrays.equals(lower, 0, common, upper, 0, common)
        && upper[common] == next(lower[common])
        && Arrays.stream(lower).skip(upper.length).allMatch(each -> each == last);
  }

  /** Counts a character up; no text has surrogates. */
  private static int next(int character) {
    return character == Character.MIN_SURROGATE - 1 ? Character.MAX_SURROGATE + 1 : Math.min(character + 1, Character.MAX_CODE_POINT);
  }
}
