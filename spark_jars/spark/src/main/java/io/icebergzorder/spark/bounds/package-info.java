/** Lower/upper bounds of data files, as manifests have them and as keys. */
package io.icebergzorder.spark.bounds;
