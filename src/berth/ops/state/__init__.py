"""Operations that read and write variables."""
