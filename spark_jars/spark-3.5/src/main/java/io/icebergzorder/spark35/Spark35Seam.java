package io.icebergzorder.spark35;

import io.icebergzorder.spark.joins.JoinPruning;
import io.icebergzorder.spark.sql.ParsedPlans;
import io.icebergzorder.spark.sql.Procedures;
import io.icebergzorder.spark.sql.RewriteDataFilesProcedure;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.spark.sql.SparkSessionExtensions;
import org.apache.spark.sql.catalyst.parser.ParserInterface;
import org.apache.spark.sql.catalyst.parser.extensions.IcebergSparkSqlExtensionsParser;
import org.apache.spark.sql.catalyst.plans.logical.LogicalPlan;

/**
 * Adds what Spark 3.5 needs, where CALL is Iceberg's own and not Spark's.
 *
 * <p>The rule must see a CALL before Iceberg's rule does. Named after Iceberg's extension, ours has the last word in
 * parsing and applies it there; named before, its rule comes first in the analysis.
 *
 * <p>Iceberg's parser takes a statement only if its text names a procedure that Iceberg knows; so a CALL of another one
 * gets such a name in a comment, which the grammar then skips. (To call the grammar directly would need the ANTLR classes
 * that Iceberg's jar has under a name of its own.)
 */
public final class Spark35Seam implements Consumer<SparkSessionExtensions> {
  private static final Pattern CALL_OF_ADDED = Pattern.compile(
      // Comments before it are skipped, as Iceberg skips them, and catalogs may have any name.
      "(?:\\s|--[^\\n]*\\n|/\\*.*?\\*/)*+CALL\\b.*\\bsystem`?\\s*\\.\\s*`?("
          + Procedures.ADDED.stream().map(Procedures.AddedProcedure::name).collect(Collectors.joining("|"))
          + ")`?\\s*\\(.*",
      Pattern.CASE_INSENSITIVE | Pattern.DOTALL);

  private static final String COMMENT_WITH_KNOWN_NAME = "\n-- system." + RewriteDataFilesProcedure.NAME;

  @Override
  public void accept(SparkSessionExtensions extensions) {
    extensions.injectParser(
        (session, parser) -> ParsedPlans.around(parser, new CallRule(session)::apply, text -> planOfAdded(parser, text)));
    extensions.injectResolutionRule(CallRule::new);
    JoinPruning.addTo(extensions);
  }

  private static LogicalPlan planOfAdded(ParserInterface parser, String text) {
    return CALL_OF_ADDED.matcher(text).matches()
        ? new IcebergSparkSqlExtensionsParser(parser).parsePlan(text + COMMENT_WITH_KNOWN_NAME)
        : null;
  }
}
