"""The sizes of data files that a rewrite leaves and writes, by Iceberg's rules."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class FileSizes:
    """A rewrite's size limits, and how many files it writes.

    Examples
    --------
    >>> FileSizes.around(100)
    FileSizes(target=100, least=75, most=180, compression_factor=1.0)
    """

    target: int  # of new files, in bytes
    # The size range of files that are left, in bytes.
    least: int
    most: int
    compression_factor: float = 1.0  # bytes of new files for each byte of their input, above 0

    @staticmethod
    def around(target: int, compression_factor: float = 1.0) -> FileSizes:
        """Return the limits around a target by Iceberg's default ratios."""
        return FileSizes(target, int(target * 0.75), int(target * 1.8), compression_factor)

    @property
    def largest_planned(self) -> int:
        """Largest planned file in bytes: half way from the target to the maximum."""
        return int(self.target + (self.most - self.target) * 0.5)

    def expected_files(self, size: int) -> int:
        """Return the number of files for ``size`` bytes; a small remainder is spread over the other files.

        Examples
        --------
        >>> [FileSizes.around(100).expected_files(size) for size in (1, 99, 109, 111, 175, 176, 1009)]
        [1, 1, 1, 2, 2, 2, 10]
        """
        scaled = int(size * self.compression_factor)
        if scaled < self.target:
            return 1
        whole, remainder = divmod(scaled, self.target)
        is_spread = remainder <= self.least and scaled // whole < min(1.1 * self.target, float(self.largest_planned))
        return whole if is_spread else whole + (remainder > 0)
