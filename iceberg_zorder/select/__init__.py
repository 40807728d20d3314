"""Which data files a rewrite takes: pure functions of what metadata says of them; the Java core has the twin."""
