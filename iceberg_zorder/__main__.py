"""``python -m iceberg_zorder`` is the command ``iceberg-zorder``."""

from iceberg_zorder.cli.app import main

if __name__ == "__main__":
    main()
