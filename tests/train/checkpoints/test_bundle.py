"""Checkpoints: read as TensorFlow wrote them, written as TensorFlow would, and damaged."""

from __future__ import annotations

import os
import shutil
import tracemalloc

import numpy as np
import pytest

from berth import errors
from berth.train.checkpoints.bundle_reader import BundleReader
from berth.train.checkpoints.bundle_writer import SavedTensor, merge_bundles, write_bundle
from berth.train.checkpoints.protos import BundleHeaderProto, Endianness
from berth.train.checkpoints.table import write_table
from berth.train.checkpoints.tensor_slice import ShapeAndSlice
from tests.train.checkpoints.files import (
    EVERY_TYPE,
    PART,
    TWO_FILES,
    VALUES,
    contents,
    every_type,
)


def same(array: np.ndarray, expected: np.ndarray) -> bool:
    return (
        array.dtype == expected.dtype
        and array.shape == expected.shape
        and (array == expected).all()
    )


# --- TensorFlow's files ------------------------------------------------------------------------


def test_every_type_that_tensorflow_wrote():
    with BundleReader(EVERY_TYPE) as reader:
        assert reader.names() == sorted([*VALUES, "part"])
        for name, expected in VALUES.items():
            assert same(reader.read(name), expected), name
        assert same(reader.read("part"), PART)


def test_files_are_equal_to_tensorflows(tmp_path):
    prefix = str(tmp_path / "mine")
    write_bundle(prefix, every_type())
    assert contents(prefix) == contents(EVERY_TYPE)
    write_bundle(prefix, every_type())  # now in place of another
    assert contents(prefix) == contents(EVERY_TYPE)


def test_two_data_files_are_read_and_merged(tmp_path):
    with BundleReader(TWO_FILES) as reader:
        assert reader.read("a").tolist() == [1, 2]
        assert reader.read("b") == 7
        assert reader.read("w").tolist() == [0, 1, 2, 3]
    halves = {n: ShapeAndSlice.parse(f"4 {n},2") for n in (0, 2)}
    parts = [str(tmp_path / "part0"), str(tmp_path / "part1")]
    w = np.arange(4, dtype=np.float32)
    first = [SavedTensor("a", np.int32([1, 2])), SavedTensor("w", w[:2], halves[0])]
    second = [SavedTensor("b", np.array(7)), SavedTensor("w", w[2:], halves[2])]
    write_bundle(parts[0], first)
    write_bundle(parts[1], second)
    merge_bundles(parts, str(tmp_path / "merged"))
    assert contents(str(tmp_path / "merged")) == contents(TWO_FILES)
    assert {name.partition(".")[0] for name in os.listdir(tmp_path)} == {"merged"}


@pytest.mark.parametrize("part", ["1,3:-", "0,3:0,2", "2,2:1,1", "5,0:-", "0,5:0,2"])
@pytest.mark.parametrize("name", ["part", "whole"])
def test_any_part_of_a_tensor(tmp_path, part, name):
    prefix = str(tmp_path / "m")
    parts = [tensor for tensor in every_type() if tensor.name == "part"]
    write_bundle(prefix, [*parts, SavedTensor("whole", PART)])
    wanted = ShapeAndSlice.parse(f"5 2 {part}")
    (a, b), (c, d) = wanted.slice.bounds((5, 2))
    with BundleReader(prefix) as reader:
        assert same(reader.read_slice(name, wanted), PART[a:b, c:d])


def test_tensors_of_other_byte_orders(tmp_path):
    prefix = str(tmp_path / "big")
    write_bundle(prefix, [SavedTensor("c", np.array([1 + 2j, 3]).byteswap())])
    reader = BundleReader(prefix)
    reader.header.endianness = Endianness.BIG
    assert reader.read("c").tolist() == [1 + 2j, 3]


def test_many_large_tensors_at_once(tmp_path):
    """Threads read and compute checksums; blocks end within tensors."""
    arrays = {f"v{n}": np.arange(n, n + 700_001, dtype=np.float32) for n in range(3)}
    prefix = str(tmp_path / "m")
    write_bundle(prefix, [SavedTensor(name, array) for name, array in arrays.items()])
    with BundleReader(prefix) as reader:
        read = reader.read_all([(name, None) for name in arrays])
    assert all(same(one, other) for one, other in zip(read, arrays.values(), strict=True))


def test_arrays_that_are_not_contiguous(tmp_path):
    array = np.arange(12, dtype=np.int16).reshape(3, 4)
    prefix = str(tmp_path / "m")
    write_bundle(prefix, [SavedTensor("t", array.T), SavedTensor("u", array[::2, 1:])])
    with BundleReader(prefix) as reader:
        assert same(reader.read("t"), array.T)
        assert same(reader.read("u"), array[::2, 1:])


# --- errors ------------------------------------------------------------------------------------


@pytest.fixture
def copy(tmp_path):
    """A copy of `EVERY_TYPE` that may be damaged."""
    for end in contents(EVERY_TYPE):
        shutil.copy(f"{EVERY_TYPE}{end}", tmp_path / f"m{end}")
    return tmp_path / "m"


def damage(path, change):
    data = bytearray(path.read_bytes())
    path.write_bytes(change(data) or data)


def data_of(copy):
    return copy.with_name("m.data-00000-of-00001")


def index_of(copy):
    return copy.with_name("m.index")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda data: b"\0", "file is too short to be an sstable"),
        (lambda data: data[:-1], "not an sstable (bad magic number)"),
        (lambda data: data[:99] + b"x" + data[100:], "Unable to read file ("),
        (lambda data: write_table([(b"a", b"")]), "failed to seek to header entry"),
        (lambda data: write_table([(b"", b"\x08")]), "unable to parse header"),
        (lambda data: write_table([(b"", b"")]), "0 data files"),
    ],
)
def test_damaged_index_is_named(copy, change, words):
    damage(index_of(copy), change)
    with pytest.raises(errors.DataLossError) as raised:
        BundleReader(copy)
    assert words in str(raised.value)
    assert str(index_of(copy)) in str(raised.value)


def test_newer_formats_are_refused(copy):
    header = BundleHeaderProto(num_shards=1, version={"producer": 2, "min_consumer": 2})
    index_of(copy).write_bytes(write_table([(b"", header.SerializeToString())]))
    with pytest.raises(errors.InvalidArgumentError, match="min consumer version 2 above"):
        BundleReader(copy)


def test_missing_files_are_named(copy):
    with pytest.raises(errors.NotFoundError, match=r"nope\.index; No such file or directory"):
        BundleReader(copy.with_name("nope"))
    os.unlink(data_of(copy))
    with pytest.raises(errors.NotFoundError, match=r"m\.data-00000-of-00001; No such file"):
        BundleReader(copy).read("scalar")


def test_missing_tensors_are_named(copy):
    with pytest.raises(
        errors.NotFoundError, match=r"^Key types/float not found in checkpoint$"
    ):
        BundleReader(copy).read("types/float")


@pytest.mark.parametrize("name", sorted([*VALUES, "part"]))
def test_damaged_data_is_never_returned(copy, name):
    damage(data_of(copy), lambda data: bytes(byte ^ 1 for byte in data))
    if np.size(VALUES.get(name, PART)):
        with pytest.raises(
            errors.DataLossError, match=r"hecksum does not match|length is cut"
        ) as raised:
            BundleReader(copy).read(name)
        assert f"TensorBundle at {copy} shard 0" in str(raised.value)
        assert str(data_of(copy)) in str(raised.value)


def test_truncated_data_is_never_returned(copy):
    damage(data_of(copy), lambda data: data[:300])
    with pytest.raises(errors.DataLossError, match="Read less bytes than requested"):
        BundleReader(copy).read("text")


def rewritten(copy, change):
    """Change the entries of an index, whose checksums stay right."""
    reader = BundleReader(copy)
    entries = {key: reader.entry(key) for key in reader.keys}
    change({key.decode(errors="replace"): entry for key, entry in entries.items()})
    items = {b"": reader.header, **entries}
    index_of(copy).write_bytes(
        write_table((key, items[key].SerializeToString()) for key in sorted(items))
    )
    return BundleReader(copy)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("size", 1 << 60, "Invalid size in bundle entry: key types/int32; stored size"),
        ("size", -24, "Invalid size in bundle entry"),
        ("offset", 1 << 60, "Read less bytes than requested"),
        ("offset", -4, "Read less bytes than requested"),
        ("shard_id", 1, "there are 1 data files"),
        ("shard_id", -1, "there are 1 data files"),
        ("dtype", 1, "Checksum does not match|DT_FLOAT"),
        ("dtype", 2, "Invalid size in bundle entry"),
        ("crc32c", 0, "Checksum does not match: stored"),
    ],
)
def test_lying_entries_are_errors(copy, field, value, words):
    reader = rewritten(copy, lambda entries: setattr(entries["types/int32"], field, value))
    if (field, value) == ("dtype", 1):  # of the same size: it is what the file says
        assert reader.read("types/int32").dtype == np.float32
        return
    with pytest.raises(errors.DataLossError, match=words):
        reader.read("types/int32")


@pytest.mark.parametrize("sizes", [[-1], [1 << 40, 1 << 40], [1] * 40])
def test_lying_shapes_are_errors(copy, sizes):
    def change(entries):
        entries["scalar"].shape.dim.extend({"size": size} for size in sizes)

    reader = rewritten(copy, change)
    with pytest.raises(
        errors.DataLossError, match="Entry for 'scalar' is not valid: bad shape"
    ):
        reader.read("scalar")


def test_huge_tensors_allocate_nothing(copy):
    """A shape of terabytes, whole and in slices: refused before memory is asked for."""

    def change(entries):
        for name in ("types/int32", "part", "text"):
            entries[name].shape.dim[0].size = 1 << 40
        entries["types/int32"].size = 12 << 40
        entries["text"].size = 4 << 40

    reader = rewritten(copy, change)
    tracemalloc.start()
    for name in ("types/int32", "part", "text"):
        with pytest.raises(errors.DataLossError):
            reader.read(name)
    assert tracemalloc.get_traced_memory()[1] < 200_000
    tracemalloc.stop()


def test_slices_that_leave_holes(copy):
    reader = rewritten(copy, lambda entries: entries["part"].slices.__delitem__(0))
    with pytest.raises(errors.DataLossError, match="slices of 'part' in the checkpoint do not"):
        reader.read("part")


def test_types_that_berth_lacks_are_named(copy):
    reader = rewritten(copy, lambda entries: setattr(entries["types/int16"], "dtype", 15))
    with pytest.raises(errors.UnimplementedError, match="DT_QINT16, which berth does not"):
        reader.read("types/int16")
    assert reader.shape("types/int16") == (2, 3)


def test_slices_that_do_not_fit(tmp_path):
    reader = BundleReader(EVERY_TYPE)
    with pytest.raises(errors.InvalidArgumentError, match=r"\[5, 2\] for 'part'"):
        reader.read_slice("part", ShapeAndSlice.parse("6 2 0,3:-"))
    for text in ("5 2 3,3:-", "5 x -:-", "5 2", "0,1", "5 1,-2"):
        with pytest.raises(errors.InvalidArgumentError, match="list of sizes and a slice"):
            ShapeAndSlice.parse(text)
    bad = SavedTensor("p", PART, ShapeAndSlice.parse("5 2 0,3:-"))
    with pytest.raises(errors.InvalidArgumentError, match="does not match the shape"):
        write_bundle(str(tmp_path / "m"), [bad])
    twice = [SavedTensor("a", PART), SavedTensor("a", PART)]
    with pytest.raises(errors.InvalidArgumentError, match="Adding duplicate key: a"):
        write_bundle(str(tmp_path / "m"), twice)
    assert os.listdir(tmp_path) == []
