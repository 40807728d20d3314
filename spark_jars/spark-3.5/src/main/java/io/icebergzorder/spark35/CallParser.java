package io.icebergzorder.spark35;

import io.icebergzorder.spark.procedure.ParsedPlans;
import io.icebergzorder.spark.procedure.Procedures;
import java.util.regex.Pattern;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser;

/**
 * The session's parser, which applies the rule to what it parsed, and has Iceberg's parser take a CALL of our own procedure:
 * that takes those that it knows by name, and leaves any other to Spark, which has no CALL before 4.0.
 */
final class CallParser {
  private static final Pattern CALL =
      Pattern.compile(
          "\\s*CALL\\s+(\\S+\\s*\\.\\s*)?`?system`?\\s*\\.\\s*`?" + Procedures.PLAN + "`?\\s*\\(.*",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  /** Iceberg's parser looks for a name that it knows anywhere in the text, but skips a comment when it parses. */
  private static final String KNOWN = "\n-- system." + Procedures.REWRITE;

  private CallParser() {}

  static ParserInterface around(ParserInterface parser, CallRule rule) {
    return ParsedPlans.around(
        parser,
        rule::apply,
        text -> CALL.matcher(text).matches() ? new IcebergSparkSqlExtensionsParser(parser).parsePlan(text + KNOWN) : null);
  }
}
