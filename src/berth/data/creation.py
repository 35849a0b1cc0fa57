"""How datasets are made: from tensors, slices, ranges, generators and files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from berth.data.files import MatchingFiles
from berth.data.pipeline import Node
from berth.data.shuffling import random_seeds, random_words
from berth.data.sources import FromGenerator, Random, Range, Tensors, TensorSlices
from berth.data.structure import as_input, map_leaves, spec_of, with_dims
from berth.dtypes import as_dtype, int64, string
from berth.graph.nest import flatten, pack_sequence_as
from berth.ops.random.seeded import get_seed
from berth.ops.shape import Dims, TensorShape
from berth.ops.type_spec import TensorSpec


class DatasetCreation:
    """The class methods of `Dataset` that make datasets."""

    def __init__(self, node: Node) -> None:
        self._node = node

    @classmethod
    def from_tensors(cls, tensors: Any, name: str | None = None) -> Any:
        """Make a dataset of one element."""
        components = map_leaves(as_input, tensors)
        spec = map_leaves(spec_of, components)
        return cls(Node(Tensors, spec, inputs=flatten(components)))

    @classmethod
    def from_tensor_slices(cls, tensors: Any, name: str | None = None) -> Any:
        """Make a dataset of the rows of tensors: the slices along their first axis.

        >>> import berth as tf
        >>> [int(x) for x in tf.data.Dataset.from_tensor_slices([1, 2])]
        [1, 2]
        """
        components = map_leaves(as_input, tensors)
        leaves = flatten(components)
        sizes = set()
        for leaf in leaves:
            dims = leaf.shape if not hasattr(leaf, "dims") else leaf.dims
            if dims is not None and not len(dims):
                raise ValueError("Unbatching a tensor is only supported for rank >= 1")
            if dims is not None and dims[0] is not None:
                sizes.add(dims[0])
        if len(sizes) > 1:
            first, second = [
                size for k, size in enumerate(_sizes(leaves)) if size not in _sizes(leaves)[:k]
            ][:2]
            raise ValueError(f"Dimensions {first} and {second} are not compatible")
        if not leaves:
            raise ValueError("Invalid `tensors`. `tensors` should not be empty.")
        spec = with_dims(map_leaves(spec_of, components), _without_first)
        return cls(Node(TensorSlices, spec, inputs=leaves))

    @classmethod
    def range(
        cls, *args: Any, output_type: Any = None, name: str | None = None, **options: Any
    ) -> Any:
        """Make a dataset of the numbers of a range: stop; start, stop; or start, stop, step."""
        if not 1 <= len(args) <= 3:
            raise ValueError(
                "Invalid `args`. The length of `args` should be between 1 and 3 but was "
                f"{len(args)}."
            )
        start, stop, step = (0, args[0], 1) if len(args) == 1 else (*args, 1)[:3]
        dtype = as_dtype(output_type or int64)
        inputs = [as_input(value, int64) for value in (start, stop, step)]
        return cls(Node(Range, TensorSpec([], dtype), inputs=inputs, dtype=dtype.np_dtype))

    @classmethod
    def from_generator(
        cls,
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Any:
        """Make a dataset of what a Python generator yields; it is called for each iteration."""
        if not callable(generator):
            raise TypeError("`generator` must be a Python callable.")
        if output_signature is not None:
            if output_types is not None or output_shapes is not None:
                raise TypeError(
                    "The `output_types` and `output_shapes` arguments can not be used together "
                    "with the `output_signature` argument."
                )
            spec = output_signature
        elif output_types is None:
            raise TypeError(
                "To specify the output signature you need to provide either the "
                "`output_signature` argument or the `output_types` argument."
            )
        else:
            spec = spec_of_types(output_types, output_shapes)
        for leaf in flatten(spec):
            if not isinstance(leaf, TensorSpec):
                raise TypeError(
                    "`output_signature` must contain objects that are subclass of "
                    f"`tf.TypeSpec` but found {type(leaf)} which is not."
                )
        return cls(
            Node(
                FromGenerator,
                spec,
                inputs=[as_input(value) for value in args or ()],
                generator=generator,
                flatten=_flattener(spec),
                specs=flatten(spec),
            )
        )

    @classmethod
    def random(
        cls,
        seed: int | None = None,
        rerandomize_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Any:
        """Make a dataset of pseudorandom integers, without end."""
        seeds = get_seed(seed)
        words = lambda: random_words(*(seeds if any(seeds) else random_seeds()))  # noqa: E731
        return cls(Node(Random, TensorSpec([], int64), words=words))

    @classmethod
    def list_files(
        cls,
        file_pattern: Any,
        shuffle: bool | None = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Any:
        """Make a dataset of the names of files that match a pattern; shuffled by default."""
        inputs = [as_input(file_pattern, string)]
        found = cls(Node(MatchingFiles, TensorSpec([], string), inputs=inputs))
        if shuffle is None or shuffle:
            return found.shuffle(-2, seed=seed)  # type: ignore[attr-defined]
        return found


def _without_first(dims: Dims) -> Dims:
    return None if dims is None else dims[1:]


def _sizes(leaves: Sequence[Any]) -> list[int]:
    return [spec_of(leaf).dims[0] for leaf in leaves if spec_of(leaf).dims]


def spec_of_types(types: Any, shapes: Any = None, classes: Any = None) -> Any:
    """Return the specs for TensorFlow 1's `output_types` and `output_shapes`."""
    dtypes = map_leaves(as_dtype, types)
    leaves = flatten(dtypes)
    if shapes is None:
        found = [TensorShape(None)] * len(leaves)
    elif len(leaves) == 1:
        found = [
            TensorShape(shapes if not isinstance(shapes, dict) else next(iter(shapes.values())))
        ]
    else:
        found = _shapes_like(dtypes, shapes)
    specs = [TensorSpec(shape, dtype) for shape, dtype in zip(found, leaves, strict=True)]
    return pack_sequence_as(dtypes, specs)


def _shapes_like(structure: Any, shapes: Any) -> list[TensorShape]:
    """Flatten shapes in the structure of others; a shape may be a tuple itself."""
    if isinstance(structure, dict):
        return [
            s for key in sorted(structure) for s in _shapes_like(structure[key], shapes[key])
        ]
    if isinstance(structure, tuple):
        return [
            s
            for part, shape in zip(structure, shapes, strict=True)
            for s in _shapes_like(part, shape)
        ]
    return [TensorShape(shapes)]


def _flattener(spec: Any) -> Callable[[Any], list[Any]]:
    """Return what flattens values like a spec; TypeError where they are of other structure."""

    def flat(value: Any) -> list[Any]:
        found: list[Any] = []
        try:
            _flatten_up_to(spec, value, found)
        except (TypeError, ValueError, KeyError):
            raise TypeError(
                "`generator` yielded an element that did not match the expected structure. The "
                f"expected structure was {spec}, but the yielded element was {value}."
            ) from None
        return found

    return flat


def _flatten_up_to(spec: Any, value: Any, found: list[Any]) -> None:
    if isinstance(spec, dict):
        if set(spec) != set(value):
            raise KeyError(spec)
        for key in sorted(spec):
            _flatten_up_to(spec[key], value[key], found)
    elif isinstance(spec, tuple):
        for part, each in zip(spec, value, strict=True):
            _flatten_up_to(part, each, found)
    else:
        found.append(value)
