package io.icebergzorder.core;

import java.io.Serializable;

/** How rows are cut into files. */
public sealed interface Cuts extends Serializable permits EvenCuts, BoxTree {
  /** The number of files. */
  int files();

  /** The name of this kind of cuts in an option and in a layout. */
  String kind();
}
