package io.icebergzorder.spark.run;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.apache.iceberg.DataFile;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Table;
import org.apache.iceberg.io.LocationProvider;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The data files of a job that has rewritten file groups, and where to find what attempts of its tasks left that lost.
 *
 * <p>Spark runs a task again when it is slow or its executor is lost, and takes the result of the first attempt to end well. The
 * others wrote the same rows in the same order, as far as they came, to files that are named alike but for the number of the
 * attempt: {@code <number>-<attempt>-<operation>-<count>}. So their names follow from those of the files that are kept, even
 * where the attempt told nothing: its executor died, or Spark dropped what it had returned.
 */
final class KeptFiles {
  private static final Logger LOG = LoggerFactory.getLogger(KeptFiles.class);
  private static final Pattern NAME = Pattern.compile("(\\d+)-(\\d+)-([^/]*)");

  private final Table table;
  private final LocationProvider directory;
  private final Set<String> locations;
  private final List<List<DataFile>> filesOfPartitions = new ArrayList<>();

  /** Takes the files that are kept, by the number of the partition of Spark's that they were written in. */
  KeptFiles(Table table, List<List<DataFile>> files) {
    this.table = table;
    this.directory = table.locationProvider();
    this.locations = files.stream().flatMap(List::stream).map(DataFile::location).collect(Collectors.toUnmodifiableSet());
    for (List<DataFile> ofPartition : files) {
      // Of a writer that names its files in another way nothing follows.
      filesOfPartitions.add(ofPartition.stream().filter(this::isNamedAsExpected).toList());
    }
  }

  private boolean isNamedAsExpected(DataFile file) {
    Matcher name = NAME.matcher(name(file));
    return name.matches() && location(file, name, name.group(2)).equals(file.location());
  }

  /**
   * Where an attempt has written what is not kept, if it has; nowhere, if it is the one whose files are kept.
   *
   * @param partition the number of the partition of Spark's that the attempt was for
   * @param attempt the number of the attempt, unique in the application
   */
  Set<String> others(int partition, long attempt) {
    Set<String> others = new HashSet<>();
    List<DataFile> files = partition < filesOfPartitions.size() ? filesOfPartitions.get(partition) : List.of();
    for (DataFile file : files) {
      Matcher name = NAME.matcher(name(file));
      if (name.matches()) {
        others.add(location(file, name, String.valueOf(attempt)));
      }
    }
    others.removeAll(locations);
    return others;
  }

  /** Deletes a file if it is there and is not kept. */
  void deleteOther(String location) {
    if (locations.contains(location)) {
      return;
    }
    try {
      // A store that keeps versions would note the deletion of what never was.
      if (table.io().newInputFile(location).exists()) {
        table.io().deleteFile(location);
        LOG.info("Deleted {}, which another attempt of its task has written, too", location);
      }
    } catch (RuntimeException e) {
      LOG.warn("Failed to delete {} of a task that Spark ran more than once; remove_orphan_files collects it", location, e);
    }
  }

  private String location(DataFile file, Matcher name, String attempt) {
    String other = name.group(1) + "-" + attempt + "-" + name.group(3);
    PartitionSpec spec = table.specs().get(file.specId());
    String location =
        spec.isUnpartitioned()
            ? directory.newDataLocation(other)
            : directory.newDataLocation(spec, file.partition(), other);
    // As writers are told where they write: Hadoop spells file:///a as file:/a.
    return table.io().newOutputFile(location).location();
  }

  private static String name(DataFile file) {
    return file.location().substring(file.location().lastIndexOf('/') + 1);
  }
}
