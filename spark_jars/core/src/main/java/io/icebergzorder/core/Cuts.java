package io.icebergzorder.core;

import java.io.Serializable;

/** How rows are cut into files. */
public sealed interface Cuts extends Serializable permits EvenCuts, BoxTree {
  int files();

  String kind();
}
