"""Sorted string tables: TensorFlow's own, written again; any keys; damaged ones."""

from __future__ import annotations

import io
import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from berth.crc32c import crc32c, mask
from berth.train.checkpoints import table
from berth.train.checkpoints.snappy import decompress
from berth.train.checkpoints.table import Table, TableError, write_table
from tests.train.checkpoints.files import EVERY_TYPE, TWO_FILES


def read_table(data: bytes) -> dict[bytes, bytes]:
    return dict(Table(io.BytesIO(data)).items())


@pytest.mark.parametrize("prefix", [EVERY_TYPE, TWO_FILES], ids=["every_type", "two_files"])
def test_tensorflows_tables_are_written_alike(prefix):
    data = Path(f"{prefix}.index").read_bytes()
    assert write_table(read_table(data).items()) == data


KEYS = st.binary(max_size=6) | st.builds(lambda n: b"long/shared/" + n, st.binary(max_size=3))


@given(
    st.dictionaries(KEYS, st.binary(max_size=20), max_size=50), st.sampled_from([40, 262_144])
)
def test_any_keys_come_back_in_order(items, block_size):
    ordered = sorted(items.items())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_BLOCK_SIZE", block_size)
        data = write_table(ordered)
    assert list(read_table(data).items()) == ordered


@pytest.mark.parametrize(
    ("before", "after", "separator"),
    [
        (b"abcdef", b"abzz", b"abd"),
        (b"abc", b"abd", b"abc"),
        (b"ab", b"abc", b"ab"),
        (b"a\xff", b"b", b"a\xff"),
        (b"a\xfe", b"b\x00", b"a\xfe"),
    ],
)
def test_separators_of_blocks_are_short(before, after, separator):
    assert table._separator(before, after) == separator
    assert before <= separator < after


def test_successors_skip_bytes_that_cannot_grow():
    assert table._successor(b"weights") == b"x"
    assert table._successor(b"\xff\xffa") == b"\xff\xffb"
    assert table._successor(b"\xff") == b"\xff"


def with_block(block: bytes, kind: int = 0) -> bytes:
    """A table whose only data block is this one."""
    contents = block + bytes([kind])
    stored = contents + struct.pack("<I", mask(crc32c(contents)))
    index = table._BlockBuilder(1)
    handle = bytearray()
    table.wire.write_varint(handle, 0)
    table.wire.write_varint(handle, len(block))
    index.add(b"z", bytes(handle))
    out = bytearray(stored)
    footer = b"\0\0" + table._append_block(out, index.finish())
    return bytes(out) + footer.ljust(40, b"\0") + (0xDB4775248B80FB57).to_bytes(8, "little")


ONE_RESTART = struct.pack("<II", 0, 1)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"", "file is too short to be an sstable"),
        (b"x" * 200, r"not an sstable \(bad magic number\)"),
        (with_block(b""), "bad block contents"),
        (with_block(struct.pack("<I", 9)), "bad block contents"),
        (with_block(b"\x05\x01\x01ab" + ONE_RESTART), "bad entry in block"),
        (with_block(b"\x00\x09\x01ab" + ONE_RESTART), "bad entry in block"),
        (with_block(b"\x00\x01\xff\xff\x03ab" + ONE_RESTART), "bad entry in block"),
        (with_block(b"\x80\x80" + ONE_RESTART), "bad entry in block"),
        (with_block(b"\x00\x01\x01bx\x00\x01\x01ay" + ONE_RESTART), "keys are not in order"),
        (with_block(b"\x00\x01\x01bx\x00\x01\x01by" + ONE_RESTART), "keys are not in order"),
        (with_block(b"", kind=1), "the length of a compressed block is cut off"),
        (with_block(b"\xff\x7f\x00a", kind=1), "longer than it can be"),
        (with_block(b"\x08\x1cabc", kind=1), "a compressed block is cut off"),
        (with_block(b"\x08\x00a\x01", kind=1), "a compressed block is cut off"),
        (with_block(b"\x08\x00a\x11\x02", kind=1), "copies what is not there"),
        (with_block(b"\x08\x00a\x11\x00", kind=1), "copies what is not there"),
        (with_block(b"\x08\x00a", kind=1), "not as long as it says"),
        (with_block(b"\x02\x00a\x11\x01", kind=1), "not as long as it says"),
        (with_block(ONE_RESTART, kind=7), "bad block type"),
    ],
)
def test_damaged_tables_are_errors(data, words):
    with pytest.raises(TableError, match=words):
        read_table(data)


def test_changed_bytes_are_noticed_or_unused():
    good = Path(f"{TWO_FILES}.index").read_bytes()
    n_noticed = 0
    for position in range(len(good)):
        data = bytearray(good)
        data[position] ^= 0x41
        try:
            assert read_table(bytes(data)) == read_table(good)
        except TableError:
            n_noticed += 1
    # Not used are the place of the empty block, that block, and the padding of the footer.
    assert n_noticed == len(good) - 2 - 13 - (40 - 5)


def test_repeated_prefixes_cannot_fill_memory():
    """Ten thousand keys of 60 kB each, in a block of 130 kB."""
    key = b"a" * 60_000
    block = b"\x00\xe0\xd4\x03\x00" + key
    block += b"".join(b"\xe0\xd4\x03\x02\x00" + struct.pack(">H", n) for n in range(10_000))
    with pytest.raises(TableError, match="bad entry in block"):
        read_table(with_block(block + ONE_RESTART))


def test_snappy_blocks_are_read():
    """Text that TensorFlow compressed, and a table whose block a Snappy element repeats."""
    names = b"".join(b"weights/layer_%d/kernel;" % (k % 7) for k in range(40))
    compressed = (Path(EVERY_TYPE).parent / "text.snappy").read_bytes()
    assert decompress(memoryview(compressed)) == names + bytes(range(256)) + b"z" * 5000
    elements = b"\x15\x14\x00\x01\x09kab" + b"\x0d\x02\x1c" + ONE_RESTART
    assert read_table(with_block(elements, kind=1)) == {b"k": b"ababababa"}


def test_values_are_found_by_key():
    items = {b"k%04d" % k: b"v%d" % k for k in range(500)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(table, "_BLOCK_SIZE", 200)
        found = Table(io.BytesIO(write_table(items.items())))
    assert {key: found.get(key) for key in items} == items
    assert [found.get(key) for key in (b"", b"k", b"k0001x", b"z")] == [None] * 4
