/**
 * The entry that Spark calls, which refers to no other class here. Imports go one way:
 *
 * <pre>
 *   procedure -> api -> run -> commit, sample -> plan -> request -> internals
 * </pre>
 */
package io.icebergzorder.spark;
