"""Random numbers that are the same on every device: Philox 4x32-10, as TensorFlow draws.

Philox (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011) is a cipher. A
128-bit counter, encrypted with a 64-bit key, gives four random words of 32 bits; the next
counter gives the next four. No value depends on the one before, so a kernel may fill its
output in any pieces, in any order, and on any device.

Of its two seeds TensorFlow makes the key (`seed`) and the upper half of the counter
(`seed2`). What it makes of the words, found by experiment with TensorFlow 2.21 on a CPU:

    uniform     float32: the low 23 bits of a word; float16: the low 10; float64: the low
                20 of a word above the 32 of the next
    integers    int32: low + word % range; int64: of two words, the first one the lower
    normal      Box-Muller of two uniforms, sine first; float16 is rounded from float32
    truncated   each group of 4 outputs (float64: 2) has counters of its own, 64 for each
                output, and takes the first normals of them that lie within (-2, 2)

Invariants:
  1. Uniforms and integers are TensorFlow's, bit for bit.
  2. Normals come from a logarithm, a sine and a cosine, which no two libraries round alike.
     For float32 they are computed in float64 and rounded, so that all devices agree: 98.5 %
     of the values are TensorFlow's (of float16 99.99 %), the others within 3 ulp. Those of
     float64 were TensorFlow's bit for bit where both used glibc.
  3. Values depend on the generator and their index alone, not on the size of `scratch`.
  4. What a fill allocates is bounded by its scratch memory, whatever the size of `out`.

Words are laid out as on little-endian machines, like everything that CUDA runs on.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from berth.backends.base import Array

BLOCK_COUNTERS = 2**14
"""How many counters are encrypted at a time: what is worked on then fits a CPU's cache."""

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_ROUNDS = 10
_COUNTERS_PER_SAMPLE = 256
_GROUP_COUNTERS_PER_SAMPLE = 64
_WORDS_PER_COUNTER = 5
_WORDS_PER_GROUP = 10

_LOW32, _LOW64, _LOW128 = 2**32 - 1, 2**64 - 1, 2**128 - 1
_HALF = np.uint64(32)


class Generator(NamedTuple):
    """Position in a sequence of random words."""

    key: int
    """64 bits."""
    counter: int
    """128 bits: the next one to be encrypted."""

    @classmethod
    def seeded(cls, seed: int, seed2: int) -> Generator:
        """Start position of an operation with these seeds. They may be negative.

        >>> Generator.seeded(1, 2) == Generator(key=1, counter=2 << 64)
        True
        """
        return cls(seed & _LOW64, (seed2 & _LOW64) << 64)

    def after(self, n_samples: int) -> Generator:
        """Position after so many samples.

        TensorFlow sets 256 counters aside for each, of whatever type and distribution.

        >>> Generator(key=1, counter=7).after(2)
        Generator(key=1, counter=519)
        """
        return self.skip(_COUNTERS_PER_SAMPLE * n_samples)

    def skip(self, n_counters: int) -> Generator:
        """Skip counters; after the last one comes the first."""
        return Generator(self.key, (self.counter + n_counters) & _LOW128)


def scratch_size(
    n_samples: int,
    dtype: Any,
    *,
    truncated: bool = False,
    block_counters: int = BLOCK_COUNTERS,
) -> int:
    """Return how many uint64 of scratch memory a fill of so many samples needs.

    Any number from 5 (truncated: 10) will do. More than this pays where calls are dear.
    """
    n_counters = -(-n_samples // _samples_per_counter(dtype))
    words = _WORDS_PER_GROUP if truncated else _WORDS_PER_COUNTER
    return words * max(1, min(n_counters, block_counters))


def fill_uniform(xp: Any, generator: Generator, out: Array, scratch: Array) -> None:
    """Fill with uniform floats from [0, 1)."""
    for part, state, spare in _blocks(xp, generator, out, scratch):
        floats = _floats_from_one(xp, out.dtype, state, spare)
        xp.subtract(floats[: part.size], floats.dtype.type(1), out=part)


def fill_normal(xp: Any, generator: Generator, out: Array, scratch: Array) -> None:
    """Fill with floats of the standard normal distribution."""
    for part, state, spare in _blocks(xp, generator, out, scratch):
        part[...] = _normals(xp, _working_type(out.dtype), state, spare)[: part.size]


def fill_integers(
    xp: Any, generator: Generator, out: Array, scratch: Array, *, low: int, high: int
) -> None:
    """Fill with uniform integers from [low, high); the caller checks ``low < high``."""
    unsigned = np.dtype(f"u{out.dtype.itemsize}").type
    span = unsigned(high - low)
    offset = unsigned(low % 2 ** (8 * out.dtype.itemsize))
    for part, state, spare in _blocks(xp, generator, out, scratch):
        words = _words(xp, state, spare).view(unsigned)
        multiples = state.reshape(-1).view(unsigned)
        # NumPy divides by a scalar much faster than it takes a remainder.
        xp.floor_divide(words, span, out=multiples)
        xp.multiply(multiples, span, out=multiples)
        xp.subtract(words, multiples, out=words)
        xp.add(words, offset, out=words)
        part.view(unsigned)[...] = words[: part.size]


def fill_bits(xp: Any, generator: Generator, out: Array, scratch: Array) -> None:
    """Fill with uniform integers of the type's whole range."""
    unsigned = np.dtype(f"u{out.dtype.itemsize}").type
    for part, state, spare in _blocks(xp, generator, out, scratch):
        part.view(unsigned)[...] = _words(xp, state, spare).view(unsigned)[: part.size]


def fill_truncated_normal(xp: Any, generator: Generator, out: Array, scratch: Array) -> None:
    """Fill with truncated normals: those two or more standard deviations away are redrawn."""
    work, each = _working_type(out.dtype), _samples_per_counter(out.dtype)
    flat = _flat(out)
    capacity = _capacity(flat.size, each, scratch, _WORDS_PER_GROUP)
    ramp = _ramp(xp, scratch[:capacity])
    for start in range(0, flat.size, max(capacity, 1) * each):
        part = flat[start : start + capacity * each]
        n_groups = -(-part.size // each)
        slots = scratch[5 * capacity : 5 * capacity + 4 * n_groups].view(work)
        ends = scratch[9 * capacity : 9 * capacity + n_groups].view(np.int64)
        xp.multiply(ramp[:n_groups].view(np.int64), np.int64(2 * each), out=ends)
        first = generator.skip(start * _GROUP_COUNTERS_PER_SAMPLE)
        _draw_within_two(xp, first, slots, ends, scratch[capacity : 5 * capacity])
        full, rest = divmod(part.size, each)
        rows = slots.reshape(n_groups, 2 * each)
        part[: full * each].reshape(full, each)[...] = rows[:full, :each]
        if rest:
            part[full * each :] = rows[full, :rest]


def draws_at(generator: Generator, offsets: Array, dtype: Any, normal: bool = False) -> Array:
    """Return the uniforms, or normals, of the counters that are so far on: a row for each."""
    dtype = np.dtype(dtype)
    state, spare = np.empty((2, 2, offsets.size), np.uint64)
    _set_counters(np, generator.counter, offsets, state, spare)
    _encrypt(np, _keys(generator), state, spare)
    if normal:
        return _normals(np, dtype, state, spare).reshape(offsets.size, -1)
    return _floats_from_one(np, dtype, state, spare).reshape(offsets.size, -1) - dtype.type(1)


def _draw_within_two(
    xp: Any, generator: Generator, slots: Array, ends: Array, scratch: Array
) -> None:
    """Fill the first half of each group's slots.

    `ends` holds the index of the next free slot of each group. Every normal is written
    there, and the index goes on only if it is kept. There are twice as many slots as
    samples, so a group can be given all the normals of a counter while it lacks one.
    """
    n_slots = 32 // slots.dtype.itemsize
    each = n_slots // 2
    keys = _keys(generator)
    while ends.size:
        state = scratch[: 2 * ends.size].reshape(2, -1)
        spare = scratch[2 * ends.size : 4 * ends.size].reshape(2, -1)
        offsets = xp.floor_divide(ends.view(np.uint64), np.uint64(n_slots), out=spare[1])
        xp.multiply(offsets, np.uint64(_GROUP_COUNTERS_PER_SAMPLE * each), out=offsets)
        _set_counters(xp, generator.counter, offsets, state, spare)
        _encrypt(xp, keys, state, spare)
        normals = _normals(xp, slots.dtype, state, spare).reshape(-1, each)
        size = state[0].view(slots.dtype)[: ends.size]
        kept = state[1].view(np.bool_)[: ends.size]
        for column in range(each):
            slots[ends] = normals[:, column]
            xp.absolute(normals[:, column], out=size)
            xp.less(size, slots.dtype.type(2), out=kept)
            xp.add(ends, kept, out=ends)
        n_kept = xp.remainder(ends, np.int64(n_slots), out=state[0].view(np.int64))
        ends = ends[xp.less(n_kept, np.int64(each), out=kept)]
        generator = generator.skip(1)


def _blocks(
    xp: Any, generator: Generator, out: Array, scratch: Array
) -> Iterator[tuple[Array, Array, Array]]:
    """Yield each block of an output, with its random words and scratch memory.

    The words are two rows of uint64: of each counter the first two, then the last two
    words. In both, the earlier word is the upper half.
    """
    flat, each = _flat(out), _samples_per_counter(out.dtype)
    capacity = _capacity(flat.size, each, scratch, _WORDS_PER_COUNTER)
    ramp = _ramp(xp, scratch[:capacity])
    keys = _keys(generator)
    for start in range(0, flat.size, max(capacity, 1) * each):
        part = flat[start : start + capacity * each]
        n_counters = -(-part.size // each)
        state = scratch[capacity : capacity + 2 * n_counters].reshape(2, n_counters)
        spare = scratch[3 * capacity : 3 * capacity + 2 * n_counters].reshape(2, n_counters)
        counter = generator.skip(start // each).counter
        _set_counters(xp, counter, ramp[:n_counters], state, spare)
        _encrypt(xp, keys, state, spare)
        yield part, state, spare


def _flat(out: Array) -> Array:
    if not out.flags.c_contiguous:
        raise ValueError("Cannot fill an array with random numbers: it is not C-contiguous.")
    return out.reshape(-1)


def _capacity(n_samples: int, each: int, scratch: Array, words: int) -> int:
    capacity = int(min(scratch.size // words, -(-n_samples // each)))
    if n_samples and not capacity:
        raise ValueError(
            f"Cannot make random numbers in {scratch.size} words of scratch memory: "
            f"they need {words} at least. See scratch_size."
        )
    return capacity


def _samples_per_counter(dtype: Any) -> int:
    return 2 if np.dtype(dtype).itemsize == 8 else 4


def _working_type(dtype: Any) -> Any:
    return np.dtype(np.float32) if dtype == np.float16 else dtype


def _ramp(xp: Any, memory: Array) -> Array:
    """Write 0, 1, 2, … by doubling: `arange` would allocate."""
    memory[:1] = 0
    done = 1
    while done < memory.size:
        more = memory[done : 2 * done]
        xp.add(memory[: more.size], np.uint64(done), out=more)
        done *= 2
    return memory


def _set_counters(xp: Any, counter: int, offsets: Array, state: Array, spare: Array) -> None:
    """Write ``counter + offset`` for each offset, the lowest of four words first."""
    low, high = counter & _LOW64, counter >> 64
    lows, highs = state
    xp.add(offsets, np.uint64(low), out=lows)
    highs[...] = np.uint64(_swapped(high))
    if low > _LOW64 // 2:  # only then can the sum have overflowed
        highs[lows < np.uint64(low)] = np.uint64(_swapped((high + 1) & _LOW64))
    xp.left_shift(lows, _HALF, out=spare[0])
    xp.right_shift(lows, _HALF, out=lows)
    xp.bitwise_or(lows, spare[0], out=lows)


def _swapped(word: int) -> int:
    return (word & _LOW32) << 32 | word >> 32


def _keys(generator: Generator) -> list[tuple[Any, Any]]:
    """Return the two halves of each round's key, each in the upper half of a word."""
    low, high = generator.key & _LOW32, generator.key >> 32
    return [
        (
            np.uint64((low + n * _WEYL[0] & _LOW32) << 32),
            np.uint64((high + n * _WEYL[1] & _LOW32) << 32),
        )
        for n in range(_ROUNDS)
    ]


def _encrypt(xp: Any, keys: list[tuple[Any, Any]], state: Array, spare: Array) -> None:
    """Convert counters to random words: the rounds of Philox.

    The paper's round takes words (a, b, c, d) to (hi(Nc) ^ b ^ k, lo(Nc), hi(Ma) ^ d ^ l,
    lo(Ma)). With (a, b) and (c, d) as the halves of 64-bit words that is: multiply the
    upper half of each, exchange the products, and xor them with lower halves and keys.
    """
    first, second = state
    product, other_product = spare
    for key, other_key in keys:
        xp.right_shift(state, _HALF, out=spare)
        xp.multiply(product, _MULTIPLIERS[0], out=product)
        xp.multiply(other_product, _MULTIPLIERS[1], out=other_product)
        xp.left_shift(state, _HALF, out=state)
        xp.bitwise_xor(first, key, out=first)
        xp.bitwise_xor(second, other_key, out=second)
        xp.bitwise_xor(first, other_product, out=first)
        xp.bitwise_xor(second, product, out=second)


def _words(xp: Any, state: Array, spare: Array) -> Array:
    """Put the words in order: uint64, with the earlier as the lower half."""
    for row, column in zip(state, spare.reshape(-1, 2).T, strict=True):
        xp.left_shift(row, _HALF, out=column)
        xp.right_shift(row, _HALF, out=row)
        xp.bitwise_or(column, row, out=column)
    return spare.reshape(-1)


def _floats_from_one(xp: Any, dtype: Any, state: Array, spare: Array) -> Array:
    """Make floats from [1, 2) by using random bits as their mantissas.

    Those for float16 come as float32, with the bits that it can hold.
    """
    if dtype == np.float64:
        spare.reshape(-1, 2)[...] = state.T
        bits = spare.reshape(-1)
        xp.bitwise_and(bits, np.uint64(2**52 - 1), out=bits)
        xp.bitwise_or(bits, np.uint64(0x3FF << 52), out=bits)
        return bits.view(np.float64)
    bits = _words(xp, state, spare)
    if dtype == np.float16:
        xp.left_shift(bits, np.uint64(13), out=bits)
    mask = 0x3FF << 13 if dtype == np.float16 else 0x7FFFFF
    xp.bitwise_and(bits, np.uint64(mask << 32 | mask), out=bits)
    xp.bitwise_or(bits, np.uint64(0x3F800000 << 32 | 0x3F800000), out=bits)
    return bits.view(np.float32)


def _normals(xp: Any, dtype: Any, state: Array, spare: Array) -> Array:
    """Convert pairs of uniforms to normals by the Box-Muller transform."""
    floats = _floats_from_one(xp, dtype, state, spare)
    xp.subtract(floats, dtype.type(1), out=floats)
    even, odd = floats[0::2], floats[1::2]
    radius = state.reshape(-1).view(dtype)[: even.size]
    xp.maximum(even, dtype.type(1e-7), out=even)
    xp.log(even, out=radius, dtype=np.float64)
    xp.multiply(radius, dtype.type(-2), out=radius)
    xp.sqrt(radius, out=radius)
    xp.multiply(odd, np.float64(2 * np.pi), out=odd, dtype=np.float64)
    xp.sin(odd, out=even, dtype=np.float64)
    xp.cos(odd, out=odd, dtype=np.float64)
    xp.multiply(even, radius, out=even)
    xp.multiply(odd, radius, out=odd)
    return floats
