package io.icebergzorder.core;

import io.icebergzorder.core.Curve.HilbertCurve;
import io.icebergzorder.core.Curve.ZOrderCurve;
import io.icebergzorder.core.Cuts.EvenCuts;
import java.io.Serializable;

/**
 * Finds the file of a row, and its place there. Once the positions of a row are known, it needs no more of a layout: no
 * boundaries.
 *
 * <p>A row comes as its packed positions: those of all active columns side by side, the first column's in the most
 * significant bits.
 *
 * <pre>
 *   bits = 16, leading p, columns a and b:     0 ... 0  pppppppppppppppp aaaaaaaaaaaaaaaa bbbbbbbbbbbbbbbb
 * </pre>
 *
 * <p>No call allocates, and any number of threads may share it.
 */
public final class Placement implements Serializable {
  private static final long serialVersionUID = 1L;

  private final int columns;
  private final int leading;
  private final int bits;
  private final Curve curve;
  private final Cuts cuts;

  /** What {@link #curve} works with on this machine; nothing that travels. */
  private transient ZOrderCurve interleaving;

  private transient HilbertCurve hilbert;

  Placement(int columns, int leading, int bits, Curve curve, Cuts cuts) {
    this.columns = columns;
    this.leading = leading;
    this.bits = bits;
    this.curve = curve;
    this.cuts = cuts;
    prepare();
  }

  private void prepare() {
    int ofCurve = columns - leading;
    interleaving = ofCurve == 0 ? null : new ZOrderCurve(ofCurve);
    hilbert = ofCurve == 0 || curve == Curve.ZORDER ? null : HilbertCurve.of(ofCurve);
  }

  private Object readResolve() {
    prepare();
    return this;
  }

  public int files() {
    return cuts.files();
  }

  /** Whether {@link #file} looks at tie breakers. */
  public boolean needsTieBreakers() {
    return cuts instanceof BoxTree tree && tree.needsTieBreakers();
  }

  /** The file of a row: the tie breaker, any number that depends on the row alone, spreads rows over the files of their leaf. */
  public int file(long packed, long tieBreaker) {
    if (cuts instanceof BoxTree tree) {
      return tree.file(tree.leaf(packed), tieBreaker);
    }
    return ((EvenCuts) cuts).file(global(packed));
  }

  /** The index of a row: its place among the rows of its file, after the values of the leading columns. */
  public long index(long packed) {
    return cuts instanceof BoxTree tree ? inBox(packed, tree, tree.leaf(packed)) : global(packed);
  }

  /** The same index, found sooner where the file is known already. */
  public long index(long packed, int file) {
    return cuts instanceof BoxTree tree ? inBox(packed, tree, tree.leafOf(file)) : global(packed);
  }

  /** The positions of the leading columns, and then the index on the curve. */
  private long global(long packed) {
    if (columns == leading) {
      return packed;
    }
    long interleaved = 0;
    for (int column = leading; column < columns; column++) {
      interleaved |= interleaving.share(position(packed, column), column - leading);
    }
    int ofCurve = bits * (columns - leading);
    return packed >>> ofCurve << ofCurve | onCurve(interleaved);
  }

  private long inBox(long packed, BoxTree tree, int leaf) {
    long interleaved = 0;
    for (int column = leading; column < columns; column++) {
      int stretched = tree.stretched(position(packed, column), leaf, column);
      interleaved |= interleaving.share(stretched, column - leading);
    }
    return onCurve(interleaved);
  }

  private long onCurve(long interleaved) {
    return hilbert == null ? interleaved : hilbert.index(interleaved, bits);
  }

  private int position(long packed, int column) {
    return (int) (packed >>> bits * (columns - 1 - column)) & (1 << bits) - 1;
  }
}
