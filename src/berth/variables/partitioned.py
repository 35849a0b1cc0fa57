"""`PartitionedVariable`: one variable, divided along an axis into variables of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from berth.dtypes import DType, as_dtype
from berth.graph.default_graph import get_default_graph
from berth.graph.tensor import SymbolicTensor
from berth.ops.arrays.array import identity
from berth.ops.arrays.joining import concat, split
from berth.ops.arrays.slicing import slice as slice_of
from berth.ops.nn.embedding import TableInParts
from berth.ops.shape import TensorShape
from berth.ops.types import Tensor
from berth.variables.creation import make_variable, regularize
from berth.variables.initializers import known_dims
from berth.variables.slice_info import SaveSliceInfo
from berth.variables.store import VariableStore
from berth.variables.variable import Variable


class PartitionInfo(NamedTuple):
    """What an initializer gets beside the shape of a part: the whole, and where the part is."""

    full_shape: list[int]
    var_offset: list[int]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the axis along which the variable is divided; None if it is not."""
        axes = [axis for axis, size in enumerate(self.full_shape) if int(shape[axis]) != size]
        if len(axes) > 1:
            raise ValueError(
                f"Cannot use single_slice_dim() with shape {shape} and full_shape "
                f"{self.full_shape}: it is divided along several axes"
            )
        return axes[0] if axes else None

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return where the part begins, along the axis that is divided."""
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]


class PartitionedVariable(TableInParts):
    """Variable in parts, which `tf.get_variable` returns for a `partitioner`.

    As a tensor it is the parts, joined. Each part is a variable of its own.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        variable_list: Sequence[Any],
        partitions: Sequence[int],
    ) -> None:
        self._name = name
        self._shape = TensorShape(shape)
        self._dtype = as_dtype(dtype)
        self._variable_list = sorted(
            variable_list, key=lambda part: part._save_slice_info.var_offset
        )
        self._partitions = list(partitions)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._variable_list)

    def __len__(self) -> int:
        return len(self._variable_list)

    @property
    def name(self) -> str:
        """``weights``, without the number of an output."""
        return self._name

    @property
    def dtype(self) -> DType:
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        return self._shape

    def get_shape(self) -> TensorShape:
        """Return the shape of the whole."""
        return self._shape

    def _get_variable_list(self) -> list[Any]:
        return self._variable_list

    def _get_partitions(self) -> list[int]:
        return self._partitions

    def _partition_axes(self) -> list[int]:
        return [axis for axis, n in enumerate(self._partitions) if n > 1] or [0]

    def as_tensor(self) -> Tensor:
        """Return the parts, joined."""
        graph = get_default_graph()
        with graph.name_scope(None):
            if len(self) == 1:
                return identity(self._variable_list[0], name=self._name)
            with graph.name_scope(f"{self._name}/ConcatPartitions/"):
                joined = concat(list(self), self._partition_axes()[0])
            return identity(joined, name=self._name)

    # --- writing ------------------------------------------------------------------------------

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Assign a value of the whole shape, or a list of the parts' values."""
        return self._write("assign", value, use_locking, name, read_value)

    def assign_add(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Add a value of the whole shape, or a list of the parts' values."""
        return self._write("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:
        """Subtract a value of the whole shape, or a list of the parts' values."""
        return self._write("assign_sub", value, use_locking, name, read_value)

    def _write(
        self, method: str, value: Any, use_locking: bool, name: str | None, read_value: bool
    ) -> list[Any]:
        axis = self._partition_axes()[0]
        if isinstance(value, list | tuple) and len(value) == len(self):
            values = list(value)
        else:
            values = split(value, [int(part.shape[axis]) for part in self], axis=axis)
        return [
            getattr(part, method)(each, use_locking, name, read_value)
            for part, each in zip(self, values, strict=True)
        ]


# --- getting ----------------------------------------------------------------------------------


def get_partitioned(
    store: VariableStore,
    name: str,
    shape: Any,
    dtype: Any,
    initializer: Any,
    regularizer: Any,
    reuse: Any,
    partitioner: Any,
    options: dict[str, Any],
) -> PartitionedVariable:
    """Get or create the partitioned variable of a full name."""
    if partitioner is not None and not callable(partitioner):
        raise ValueError(f"Partitioner must be callable, but received: {partitioner}")
    name, declared = name.removesuffix("/"), TensorShape(shape)
    if isinstance(initializer, SymbolicTensor | Variable):
        declared = initializer.shape
    if name in store.variables:
        raise ValueError(
            "A partitioner was provided, but an unpartitioned version of the variable was "
            f"found: {name}.  Perhaps a variable of the same name was already created without "
            "partitioning?"
        )
    wanted = as_dtype(dtype).base_dtype
    partitions = None
    if not reuse or partitioner is not None:
        partitions = _partitions(partitioner, declared, wanted)
    found = store.partitioned.get(name)
    if found is not None:
        return _reused(found, declared, wanted, partitions, reuse)
    if reuse is True or partitions is None:
        raise ValueError(
            f"PartitionedVariable {name} does not exist, or was not created with "
            "tf.get_variable(). Did you mean to set reuse=False or reuse=tf.AUTO_REUSE in "
            "VarScope?"
        )
    sizes = list(known_dims(declared))
    parts = [
        _make_part(store, f"{name}/part_{k}", info, wanted, initializer, regularizer, options)
        for k, info in enumerate(_slices(name, sizes, partitions))
    ]
    made = PartitionedVariable(name, declared, wanted, parts, partitions)
    store.partitioned[name] = made
    return made


def _reused(
    found: PartitionedVariable, shape: TensorShape, dtype: DType, partitions: Any, reuse: Any
) -> PartitionedVariable:
    name = found.name
    if not reuse:
        raise ValueError(
            f"Partitioned variable with name {name} already exists. Did you mean to set "
            "reuse=True or reuse=tf.AUTO_REUSE in VarScope?"
        )
    trying = f"Trying to reuse partitioned variable {name}, but specified"
    if not shape.is_compatible_with(found.shape):
        raise ValueError(f"{trying} shape {shape} and found shape {found.shape}.")
    if not dtype.is_compatible_with(found.dtype):
        raise ValueError(f"{trying} dtype {dtype.name} and found dtype {found.dtype.name}.")
    if partitions is not None and partitions != found._get_partitions():
        raise ValueError(
            f"{trying} partitions {partitions} and found partitions {found._get_partitions()}."
        )
    return found


def _partitions(partitioner: Any, shape: TensorShape, dtype: DType) -> list[int]:
    """Ask a partitioner for the number of parts on each axis, of which one has several."""
    if not shape.is_fully_defined():
        raise ValueError(
            "Shape of a new partitioned variable must be fully defined, but instead was "
            f"{shape}."
        )
    partitions = partitioner(shape=shape, dtype=dtype)
    if not isinstance(partitions, Sequence):
        raise ValueError(f"Partitioner must return a sequence, but saw: {partitions}")
    if len(partitions) != shape.ndims:
        raise ValueError(
            "Partitioner returned a partition list that does not match the Variable's rank: "
            f"{partitions} vs. {shape}"
        )
    if any(n < 1 for n in partitions):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {partitions}")
    if sum(n > 1 for n in partitions) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {shape}, partitioning: "
            f"{partitions}"
        )
    return [int(n) for n in partitions]


def _slices(name: str, sizes: list[int], partitions: list[int]) -> Iterator[SaveSliceInfo]:
    """Yield the parts of a variable; if they are not equal, the first have one row more."""
    axis = next((axis for axis, n in enumerate(partitions) if n > 1), 0)
    n_rows, n_larger = divmod(sizes[axis], partitions[axis])
    start = 0
    for k in range(partitions[axis]):
        length = n_rows + (k < n_larger)
        offset, shape = [0] * len(sizes), list(sizes)
        offset[axis], shape[axis] = start, length
        yield SaveSliceInfo(name, list(sizes), offset, shape)
        start += length


def _make_part(
    store: VariableStore,
    name: str,
    info: SaveSliceInfo,
    dtype: DType,
    initializer: Any,
    regularizer: Any,
    options: dict[str, Any],
) -> Any:
    if initializer is None or callable(initializer):
        whole = PartitionInfo(info.full_shape, info.var_offset)
        part = make_variable(name, info.var_shape, dtype, initializer, options, whole)
    else:
        with get_default_graph().name_scope(f"{name}/PartitionedInitializer/"):
            value = slice_of(initializer, info.var_offset, info.var_shape)
        part = make_variable(name, None, dtype, value, options)
    part._set_save_slice_info(info)
    store.variables[name] = part
    if regularizer is not None:
        regularize(part, name, regularizer)
    return part
