package io.icebergzorder.spark35;

import io.icebergzorder.spark.procedure.AddedProcedure;
import io.icebergzorder.spark.procedure.ParsedPlans;
import io.icebergzorder.spark.procedure.Procedures;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser;

/**
 * The session's parser, which applies the rule to what it parsed, and has Iceberg's parser take a CALL of a procedure
 * that Iceberg does not have.
 *
 * <p>Spark 3.5 has no CALL. Iceberg's parser has, but takes a statement only if its text names a procedure that Iceberg
 * knows; so the statement gets such a name in a comment, which the grammar then skips. (To call the grammar directly
 * would need the ANTLR classes that Iceberg's jar has under a name of its own.)
 */
final class CallParser {
  private static final Pattern CALL_OF_ADDED =
      Pattern.compile(
          // Comments before it are skipped, as Iceberg skips them, and catalogs may have any name.
          "(?:\\s|--[^\\n]*\\n|/\\*.*?\\*/)*+CALL\\b.*\\bsystem`?\\s*\\.\\s*`?("
              + Procedures.added().stream().map(AddedProcedure::name).collect(Collectors.joining("|"))
              + ")`?\\s*\\(.*",
          Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private static final String COMMENT_WITH_KNOWN_NAME = "\n-- system." + Procedures.extended().get(0).name();

  private CallParser() {}

  static ParserInterface around(ParserInterface parser, CallRule rule) {
    return ParsedPlans.around(
        parser,
        rule::apply,
        text ->
            CALL_OF_ADDED.matcher(text).matches()
                ? new IcebergSparkSqlExtensionsParser(parser).parsePlan(text + COMMENT_WITH_KNOWN_NAME)
                : null);
  }
}
