package io.icebergzorder.spark.spec;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.StreamReadFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.icebergzorder.core.select.RequestKey.WeightedFilter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The queries of a workload in JSON, as {@code docs/do/workload.md} describes it; of the rest only the keys are checked. */
final class WorkloadJson {
  private static final int VERSION = 1;
  private static final List<String> KEYS = List.of("version", "queries", "columns-only", "not-understood", "elsewhere", "joins");
  private static final List<String> QUERY_KEYS = List.of("filter", "weight", "weaker");
  private static final Pattern DUPLICATE = Pattern.compile("Duplicate field '(.*)'");

  private static final JsonMapper MAPPER =
      JsonMapper.builder()
          .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
          .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS, DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS)
          .build();

  private WorkloadJson() {}

  static List<WeightedFilter> queries(String text) {
    JsonNode json = json(text);
    checkKeys(json, "it", KEYS, List.of("version", "queries"));
    JsonNode version = json.get("version");
    if (!version.isIntegralNumber() || !version.bigIntegerValue().equals(BigDecimal.valueOf(VERSION).toBigInteger())) {
      throw refused("version must be %d and is %s", VERSION, version);
    }
    if (!json.get("queries").isArray()) {
      throw refused("queries is not a list");
    }
    List<WeightedFilter> queries = new ArrayList<>();
    for (JsonNode each : json.get("queries")) {
      queries.add(query(each, place(queries.size())));
    }
    return merged(queries);
  }

  private static String place(int number) {
    return "queries[" + number + "]";
  }

  private static JsonNode json(String text) {
    try {
      JsonNode json = MAPPER.readTree(text);
      if (json.isMissingNode()) {
        throw refused("it is not valid JSON: there is nothing in it");
      }
      return json;
    } catch (JsonProcessingException e) {
      Matcher duplicate = DUPLICATE.matcher(e.getOriginalMessage());
      throw duplicate.find()
          ? refused("key %s appears twice in an object", duplicate.group(1))
          : refused("it is not valid JSON: %s", e.getOriginalMessage());
    }
  }

  private static void checkKeys(JsonNode json, String place, List<String> known, List<String> required) {
    if (!json.isObject()) {
      throw refused("%s is not an object", place);
    }
    String before = place.equals("it") ? "" : place + ".";
    json.fieldNames().forEachRemaining(key -> {
      if (!known.contains(key)) {
        throw refused("%s%s is unknown: known are %s", before, key, String.join(", ", known));
      }
    });
    for (String key : required) {
      if (!json.has(key)) {
        throw refused("%s%s is missing", before, key);
      }
    }
  }

  private static WeightedFilter query(JsonNode json, String place) {
    checkKeys(json, place, QUERY_KEYS, List.of("filter", "weight"));
    if (!json.get("filter").isTextual()) {
      throw refused("%s.filter is not text", place);
    }
    double weight = weight(json, "weight", place);
    if (json.has("weaker") && weight(json, "weaker", place) > weight) {
      throw refused("%s.weaker is more than its weight", place);
    }
    return new WeightedFilter(json.get("filter").textValue().strip(), weight);
  }

  private static double weight(JsonNode json, String key, String place) {
    JsonNode weight = json.get(key);
    if (!weight.isNumber()
        || weight.decimalValue().signum() < 0
        || weight.decimalValue().compareTo(BigDecimal.valueOf(Double.MAX_VALUE)) > 0) {
      throw refused("%s.%s: %s is not a number of at least 0", place, key, weight.isTextual() ? weight.textValue() : weight);
    }
    return weight.doubleValue();
  }

  private static List<WeightedFilter> merged(List<WeightedFilter> queries) {
    Map<String, BigDecimal> weights = new LinkedHashMap<>();
    queries.forEach(each -> weights.merge(each.filter(), new BigDecimal(each.weight()), BigDecimal::add));
    // The sum that is nearest to the exact one, as Python's fsum finds it.
    List<WeightedFilter> merged =
        weights.entrySet().stream().map(each -> new WeightedFilter(each.getKey(), each.getValue().doubleValue())).toList();
    if (merged.stream().anyMatch(each -> Double.isInfinite(each.weight()))) {
      throw refused("its weights add up to infinity");
    }
    return merged.stream()
        .filter(each -> each.weight() > 0)
        .sorted(
            Comparator.comparingDouble(WeightedFilter::weight)
                .reversed()
                .thenComparing(each -> each.filter().getBytes(StandardCharsets.UTF_8), Arrays::compareUnsigned))
        .toList();
  }

  static IllegalArgumentException refused(String why, Object... of) {
    return new IllegalArgumentException(String.format(why, of));
  }
}
