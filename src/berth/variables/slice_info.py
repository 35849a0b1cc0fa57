"""Which part of a larger variable a variable is, for checkpoints."""

from __future__ import annotations

from typing import NamedTuple


class SaveSliceInfo(NamedTuple):
    """Name and shape of the whole variable, and the offset and shape of the part."""

    full_name: str
    full_shape: list[int]
    var_offset: list[int]
    var_shape: list[int]

    @property
    def spec(self) -> str:
        """The part as the operations of savers name it.

        >>> SaveSliceInfo("w", [5, 4], [3, 0], [2, 4]).spec
        '5 4 3,2:0,4'
        """
        sizes = " ".join(map(str, self.full_shape))
        extents = zip(self.var_offset, self.var_shape, strict=True)
        return f"{sizes} " + ":".join(f"{start},{length}" for start, length in extents)


class SavedAsPart:
    """A variable that may be a part of a larger one."""

    _save_slice_info: SaveSliceInfo | None = None

    def _set_save_slice_info(self, save_slice_info: SaveSliceInfo | None) -> None:
        """Set which part of a larger variable it is saved as."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> SaveSliceInfo | None:
        return self._save_slice_info
