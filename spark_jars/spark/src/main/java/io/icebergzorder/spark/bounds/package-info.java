/** Lower/upper bounds of data files, as manifests have them and as keys, and what new files keep of them. */
package io.icebergzorder.spark.bounds;
