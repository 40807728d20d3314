package io.icebergzorder.spark;

import java.nio.ByteBuffer;
import java.util.UUID;

/** UUIDs as Spark shows them (text) and as their keys are (16 bytes, most significant first). */
final class Uuids {
  private Uuids() {}

  static byte[] toBytes(String text) {
    UUID uuid = UUID.fromString(text);
    return ByteBuffer.allocate(16).putLong(uuid.getMostSignificantBits()).putLong(uuid.getLeastSignificantBits()).array();
  }

  static String toText(byte[] bytes) {
    ByteBuffer buffer = ByteBuffer.wrap(bytes);
    return new UUID(buffer.getLong(), buffer.getLong()).toString();
  }
}
