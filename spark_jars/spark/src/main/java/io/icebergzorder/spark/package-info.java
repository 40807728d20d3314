/**
 * The entry point that Spark calls; it refers to no other class here. Imports go one way:
 *
 * <pre>
 *   sql -> api -> run -> layout, commit, metrics -> plan -> spec -> internals
 * </pre>
 */
package io.icebergzorder.spark;
