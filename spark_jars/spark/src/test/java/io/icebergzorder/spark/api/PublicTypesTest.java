package io.icebergzorder.spark.api;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.lang.reflect.Executable;
import java.lang.reflect.Modifier;
import java.lang.reflect.Type;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The package that is promised to stay hands out no type of a package that is not. */
class PublicTypesTest {
  private static final Pattern OURS = Pattern.compile("io\\.icebergzorder\\.[\\w.$]+");

  @Test
  void allTypesOfItsSignaturesAreItsOwn() throws Exception {
    Path classes = Path.of(RewritePlan.class.getProtectionDomain().getCodeSource().getLocation().toURI());
    List<String> others = new ArrayList<>();
    try (Stream<Path> files = Files.list(classes.resolve(RewritePlan.class.getPackageName().replace('.', '/')))) {
      for (Path file : files.filter(each -> !each.endsWith("package-info.class")).toList()) {
        String name = file.getFileName().toString().replace(".class", "");
        Class<?> type = Class.forName(RewritePlan.class.getPackageName() + "." + name);
        if (Modifier.isPublic(type.getModifiers())) {
          Stream.concat(Arrays.stream(type.getMethods()), Arrays.stream(type.getConstructors()))
              .flatMap(PublicTypesTest::types)
              .flatMap(each -> OURS.matcher(each.getTypeName()).results().map(MatchResult::group))
              .filter(each -> !each.startsWith(RewritePlan.class.getPackageName() + "."))
              .forEach(each -> others.add(name + ": " + each));
        }
      }
    }
    assertEquals(List.of(), others);
  }

  private static Stream<Type> types(Executable member) {
    Type result = member instanceof java.lang.reflect.Method method ? method.getGenericReturnType() : void.class;
    return Stream.concat(Stream.of(result), Arrays.stream(member.getGenericParameterTypes()));
  }
}
