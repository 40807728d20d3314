package io.icebergzorder.icebergtests;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import java.util.List;
import java.util.Map;
import org.apache.iceberg.ParameterizedTestExtension;
import org.apache.iceberg.spark.extensions.TestRewriteDataFilesProcedure;
import org.junit.jupiter.api.TestTemplate;
import org.junit.jupiter.api.extension.ExtendWith;

/**
 * Iceberg's tests of {@code rewrite_data_files}, all inherited as they are but for one message, in sessions that have the plugin. The
 * tests here show, in those very sessions and for each of their catalogs, that it is there: without it Iceberg's own would pass just as
 * well.
 */
@ExtendWith(ParameterizedTestExtension.class)
public class RewriteDataFilesProcedureWithPluginTest extends TestRewriteDataFilesProcedure {
  private static final boolean BUILTIN_IS_REPLACED = Boolean.getBoolean("spark.iceberg-zorder.replace-builtin");

  @TestTemplate
  public void zorderIsOurs() {
    assertThat(summaryOfRewrite("zorder")).containsEntry("zorder.columns", "c1,c2");
  }

  @TestTemplate
  public void sortByZorderIsOursWhereTheBuiltinIsReplaced() {
    Map<String, String> summary = summaryOfRewrite("sort");
    if (BUILTIN_IS_REPLACED) {
      assertThat(summary).containsEntry("zorder.columns", "c1,c2");
    } else {
      assertThat(summary).doesNotContainKey("zorder.columns");
    }
  }

  /** Those that the pom leaves out hold up to what they assert of Iceberg's own z-order. */
  @TestTemplate
  public void testsLeftOutDifferInTheOrderOfRowsOnly() {
    assumeThat(BUILTIN_IS_REPLACED).isTrue();
    failsBy(this::testRewriteDataFilesWithZOrder, "[Should have expected rows: row 1 ");
    failsBy(this::testRewriteDataFilesWithZOrderAndMultipleShufflePartitionsPerFile, "[Should have expected rows: row 1 ");
  }

  /** Iceberg's tests expect its own words for an unknown strategy, which do not name the plugin's. */
  @Override
  protected List<Object[]> sql(String query, Object... arguments) {
    try {
      return super.sql(query, arguments);
    } catch (IllegalArgumentException refused) {
      if (refused.getMessage().contains("because there is no strategy 'temp': there are 'zorder' (of iceberg-zorder)")) {
        throw new IllegalArgumentException("unsupported strategy: temp. Only binpack or sort is supported", refused);
      }
      throw refused;
    }
  }

  private void failsBy(Runnable test, String message) {
    assertThatThrownBy(test::run).isInstanceOf(AssertionError.class).hasMessageContaining(message);
    removeTable();
  }

  private Map<String, String> summaryOfRewrite(String strategy) {
    sql("CREATE TABLE %s (c1 int, c2 string, c3 string) USING iceberg", tableName);
    for (int file = 0; file < 2; file++) {
      sql("INSERT INTO %s VALUES (1, 'foo', null), (2, 'bar', null)", tableName);
    }
    sql(
        "CALL %s.system.rewrite_data_files(table => '%s', strategy => '%s', sort_order => 'zorder(c1, c2)',"
            + " options => map('rewrite-all', 'true'))",
        catalogName, tableIdent, strategy);
    return validationCatalog.loadTable(tableIdent).currentSnapshot().summary();
  }
}
