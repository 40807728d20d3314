/**
 * The entry that Spark calls, which refers to no other class here. Imports go one way:
 *
 * <pre>
 *   sql -> api -> run -> layout, commit, metrics -> plan -> request -> internals
 * </pre>
 */
package io.icebergzorder.spark;
