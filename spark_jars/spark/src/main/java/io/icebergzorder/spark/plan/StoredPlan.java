package io.icebergzorder.spark.plan;

import com.fasterxml.jackson.annotation.JsonSetter;
import com.fasterxml.jackson.annotation.Nulls;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.IntNode;
import io.icebergzorder.core.Reason;
import io.icebergzorder.core.ZOrderOptions;
import io.icebergzorder.spark.plan.StartingPoint.PlannedFile;
import io.icebergzorder.spark.spec.CatalogTable;
import io.icebergzorder.spark.spec.ResolvedSpec;
import io.icebergzorder.spark.spec.RewriteSpec;
import io.icebergzorder.spark.spec.Workload;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
import org.apache.iceberg.FileScanTask;
import org.apache.iceberg.Table;

/** Reads a plan from its JSON: only the keys that are needed to execute it. */
public record StoredPlan(
    UUID tableUuid,
    String branch,
    Long snapshotId,
    int schemaId,
    int specId,
    boolean caseSensitive,
    long plannedAtMs,
    String sortOrder,
    String where,
    Map<String, String> options,
    Long targetFileSizeBytes,
    String targetFileSizeFrom,
    String message,
    List<Group> fileGroups,
    List<LeftGroup> left) {
  /** The version of the plan's JSON; other versions are refused. */
  public static final int VERSION = 1;

  private static final int MOST_EXTENT = 1000;

  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
          .disable(DeserializationFeature.FAIL_ON_UNKNOWN_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_MISSING_CREATOR_PROPERTIES)
          .enable(DeserializationFeature.FAIL_ON_NULL_FOR_PRIMITIVES)
          .defaultSetterInfo(JsonSetter.Value.forContentNulls(Nulls.FAIL))
          .build();

  /** A file group. */
  public record Group(
      List<PlannedFile> dataFiles,
      int specId,
      long maxOutputFileSizeBytes,
      int expectedDataFilesCount,
      Map<String, Integer> extents,
      boolean mustRewrite,
      List<Reason> reasons) {
    /** Takes copies of the lists. */
    public Group {
      dataFiles = List.copyOf(dataFiles);
      reasons = List.copyOf(reasons);
      if (extents.values().stream().anyMatch(extent -> extent < 1 || extent > MOST_EXTENT)) {
        throw new IllegalArgumentException("the extents of a file group are not from 1 to " + MOST_EXTENT);
      }
      if (dataFiles.isEmpty() || expectedDataFilesCount < 1) {
        throw new IllegalArgumentException("a file group has no data file");
      }
    }
  }

  /** Refuses missing values, duplicate files, and queries that may have changed. */
  public StoredPlan {
    Objects.requireNonNull(tableUuid, "table_uuid is null");
    Objects.requireNonNull(branch, "branch is null");
    Objects.requireNonNull(options, "options is null");
    Objects.requireNonNull(left, "left is null");
    boolean isKnown = snapshotId != null && targetFileSizeBytes != null && targetFileSizeFrom != null;
    if (fileGroups.isEmpty() ? message == null : !isKnown) {
      throw new IllegalArgumentException("it has neither file groups of a snapshot nor a message");
    }
    List<String> paths = fileGroups.stream().flatMap(group -> group.dataFiles.stream()).map(PlannedFile::path).toList();
    if (Set.copyOf(paths).size() < paths.size()) {
      throw new IllegalArgumentException("a data file appears twice");
    }
    if (left.stream().anyMatch(each -> each.dataFilesCount() < 1)) {
      throw new IllegalArgumentException("its left has a group without a data file");
    }
    if (options.containsKey("spill-directory")) {
      throw new IllegalArgumentException("its option spill-directory is for who executes it to choose: use TMPDIR");
    }
    if (!Workload.isInline(options.getOrDefault(ZOrderOptions.WORKLOAD, "{"))) {
      throw new IllegalArgumentException("its option workload names a file, whose queries may have changed: plan again");
    }
  }

  /**
   * Reads the JSON of a plan.
   *
   * @param table the table's name, for messages
   * @throws IllegalArgumentException if the text is not a plan, or of another version
   */
  public static StoredPlan read(String table, String json) {
    try {
      JsonNode plan = MAPPER.readTree(json);
      if (!plan.isObject() || !plan.path("version").equals(IntNode.valueOf(VERSION))) {
        throw refused(table, "it is not the JSON of a plan of version " + VERSION, null);
      }
      if (!plan.path("where_is_sql").asBoolean(true)) {
        throw refused(table, "its where is a PyIceberg expression, which has no JSON form: plan with SQL", null);
      }
      return MAPPER.treeToValue(plan, StoredPlan.class);
    } catch (JsonProcessingException e) {
      throw refused(table, "it is not the JSON of a plan: " + e.getOriginalMessage(), e);
    }
  }

  private static IllegalArgumentException refused(String table, String why, Throwable cause) {
    return new IllegalArgumentException("Cannot read the plan of %s, because %s".formatted(table, why), cause);
  }

  /**
   * Resolves the plan's files on the table, whose column names are {@link #caseSensitive} as the plan's.
   *
   * @throws IllegalStateException if the plan is stale, or for another table
   */
  public TablePlan on(CatalogTable target) {
    Table table = target.table();
    StartingPoint start = new StartingPoint(tableUuid, branch, snapshotId, schemaId, specId, plannedAtMs);
    long head = start.check(table);
    ResolvedSpec spec = ResolvedSpec.ofPlanned(target, spec(target.name()), where);
    long bytes = targetFileSizeBytes == null ? 0 : targetFileSizeBytes;
    if (fileGroups.isEmpty()) {
      TargetSize size = new TargetSize(bytes, targetFileSizeFrom, targetFileSizeFrom);
      return TablePlan.of(table, spec, start, RewriteHistory.of(table, null), size, List.of(), left, message, Optional.empty());
    }
    List<FileScanTask> listed = listed(table, spec, head);
    if (where != null && !hasAll(listed)) {
      // The filter may select other files here: timestamps as text use the session's time zone.
      spec = ResolvedSpec.ofPlanned(target, spec(target.name()), null);
      listed = listed(table, spec, head);
    }
    List<FileGroup> groups = groups(table, start, listed);
    // Files of the plan's snapshot are listed again only if they may differ.
    int inQuestion = head == snapshotId ? listed.size() : start.list(table, spec.scope()).size();
    long counted = left.stream().mapToLong(LeftGroup::dataFilesCount).sum();
    int planned = groups.stream().mapToInt(group -> group.files().size()).sum();
    if (where != null && inQuestion < planned + counted) {
      // The filter may select fewer files here.
      spec = ResolvedSpec.ofPlanned(target, spec(target.name()), null);
      inQuestion = start.list(table, spec.scope()).size();
    }
    if (inQuestion < planned + counted) {
      throw refused(
          target.name(),
          String.format(
              Locale.ROOT,
              "its left counts %,d data files, but its snapshot has %,d besides those to rewrite",
              counted, inQuestion - planned),
          null);
    }
    RewriteHistory history = RewriteHistory.of(table, snapshotId);
    TargetSize size = TargetSize.stored(bytes, targetFileSizeFrom, history);
    return TablePlan.of(table, spec, start, history, size, groups, leftOf(inQuestion - planned - (int) counted), message, Optional.empty());
  }

  /** The files that are left, including files missing from the plan: if groups were removed from it, a later rewrite must find their files. */
  private List<LeftGroup> leftOf(int missing) {
    List<LeftGroup> all = new ArrayList<>(left);
    if (missing != 0) {
      all.add(LeftGroup.notInPlan(missing));
    }
    return all;
  }

  RewriteSpec spec(String table) {
    Map<String, String> known = new LinkedHashMap<>(options);
    // It is for the machine that the other engine runs on.
    known.remove("memory-limit-bytes");
    return new RewriteSpec(table, sortOrder, known, where, branch, false);
  }

  private boolean hasAll(List<FileScanTask> listed) {
    Set<String> paths = listed.stream().map(task -> task.file().location()).collect(Collectors.toSet());
    return fileGroups.stream().flatMap(group -> group.dataFiles.stream()).map(PlannedFile::path).allMatch(paths::contains);
  }

  /** The data files that may be rewritten, after a check of the plan's partition specs. */
  private List<FileScanTask> listed(Table table, ResolvedSpec spec, long head) {
    int outputSpec = ResolvedSpec.outputSpec(table, spec.options()).specId();
    for (Group group : fileGroups) {
      if (group.specId != outputSpec) {
        throw refused(
            table.name(), "a file group has partition spec %d, but its options have %d".formatted(group.specId, outputSpec), null);
      }
    }
    return StartingPoint.list(table, spec.scope(), head);
  }

  private List<FileGroup> groups(Table table, StartingPoint start, List<FileScanTask> listed) {
    List<PlannedFile> files = fileGroups.stream().flatMap(group -> group.dataFiles.stream()).toList();
    Iterator<FileScanTask> next = start.find(table, listed, files).iterator();
    List<FileGroup> groups = new ArrayList<>();
    for (Group group : fileGroups) {
      List<FileScanTask> ofGroup = group.dataFiles.stream().map(each -> next.next()).toList();
      groups.add(
          new FileGroup(
              table,
              ofGroup,
              group.specId,
              group.maxOutputFileSizeBytes,
              group.expectedDataFilesCount,
              group.reasons,
              group.extents,
              group.mustRewrite));
    }
    return FileGroup.numbered(table, groups);
  }
}
