"""Operations on strings: case, parts, patterns, numbers, hashes."""
