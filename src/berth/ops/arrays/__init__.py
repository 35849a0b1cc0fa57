"""Operations on arrays as a whole: made, joined, cut, rearranged, indexed."""
