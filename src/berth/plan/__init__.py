"""Where and in what order: pure, without threads or bytes."""
