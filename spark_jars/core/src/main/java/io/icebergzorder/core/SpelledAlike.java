package io.icebergzorder.core;

import java.util.Collection;

/** Finds the known name that an unknown name may mean. */
public final class SpelledAlike {
  private SpelledAlike() {}

  /** The end of a message about an unknown name: the most similar known name, or {@code otherwise}. */
  public static String hint(String name, Collection<String> known, String otherwise) {
    String nearest = null;
    int least = name.length() / 3 + 1;
    for (String each : known) {
      int edits = edits(name, each);
      if (edits < least) {
        least = edits;
        nearest = each;
      }
    }
    return nearest == null ? ": " + otherwise : " (did you mean '" + nearest + "'?)";
  }

  /** The edit distance of two names. */
  private static int edits(String name, String other) {
    int[] edits = new int[other.length() + 1];
    for (int i = 0; i <= name.length(); i++) {
      int diagonal = 0;
      for (int j = 0; j < edits.length; j++) {
        int above = edits[j];
        int changed = i == 0 || j == 0 ? i + j : diagonal + (name.charAt(i - 1) == other.charAt(j - 1) ? 0 : 1);
        edits[j] = i == 0 || j == 0 ? changed : Math.min(changed, Math.min(above, edits[j - 1]) + 1);
        diagonal = above;
      }
    }
    return edits[other.length()];
  }
}
