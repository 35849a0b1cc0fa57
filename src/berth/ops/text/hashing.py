"""Hash functions of strings: FarmHash's fingerprint of 64 bits, and SipHash-2-4."""

from __future__ import annotations

_MASK = 2**64 - 1
_K0, _K1, _K2 = 0xC3A5C85C97CB3127, 0xB492B66FBE98F273, 0x9AE16A3B2F90404F
Pair = tuple[int, int]


def _word(text: bytes, at: int) -> int:
    return int.from_bytes(text[at : at + 8], "little")


def _turn(value: int, by: int) -> int:
    value &= _MASK
    return (value >> by | value << (64 - by)) & _MASK


def _mix(value: int) -> int:
    value &= _MASK
    return value ^ value >> 47


def _join(first: int, second: int, by: int) -> int:
    low = _mix((first ^ second) * by)
    return _mix((second ^ low) * by) * by & _MASK


def farmhash64(text: bytes) -> int:
    """Return FarmHash's fingerprint.

    >>> farmhash64(b"a")
    12917804110809363939
    """
    size = len(text)
    if size > 64:
        return _long(text)
    if size > 32:
        return _to_64(text)
    return _to_32(text) if size > 16 else _to_16(text)


def _to_16(text: bytes) -> int:
    size = len(text)
    by = _K2 + size * 2
    if size >= 8:
        a, b = _word(text, 0) + _K2, _word(text, size - 8)
        c = _turn(b, 37) * by + a
        d = (_turn(a, 25) + b) * by
        return _join(c & _MASK, d & _MASK, by)
    if size >= 4:
        a, b = (int.from_bytes(text[at : at + 4], "little") for at in (0, size - 4))
        return _join(size + (a << 3), b, by)
    if not size:
        return _K2
    y = text[0] + (text[size >> 1] << 8)
    z = size + (text[-1] << 2)
    return _mix(y * _K2 ^ z * _K0) * _K2 & _MASK


def _to_32(text: bytes) -> int:
    size = len(text)
    by = _K2 + size * 2
    a, b = _word(text, 0) * _K1 & _MASK, _word(text, 8)
    c, d = _word(text, size - 8) * by, _word(text, size - 16) * _K2
    first = _turn(a + b, 43) + _turn(c, 30) + d
    return _join(first & _MASK, a + _turn(b + _K2, 18) + c & _MASK, by)


def _to_64(text: bytes) -> int:
    size = len(text)
    by = _K2 + size * 2
    a, b = _word(text, 0) * _K2, _word(text, 8)
    c, d = _word(text, size - 8) * by, _word(text, size - 16) * _K2
    y = _turn(a + b, 43) + _turn(c, 30) + d & _MASK
    z = _join(y, a + _turn(b + _K2, 18) + c & _MASK, by)
    e, f = _word(text, 16) * by, _word(text, 24)
    g, h = (y + _word(text, size - 32)) * by, (z + _word(text, size - 24)) * by
    first = _turn(e + f, 43) + _turn(g, 30) + h
    return _join(first & _MASK, e + _turn(f + a, 18) + g & _MASK, by)


def _weak(text: bytes, at: int, a: int, b: int) -> Pair:
    w, x, y, z = (_word(text, at + 8 * k) for k in range(4))
    a += w
    b = _turn(b + a + z, 21)
    c = a
    a += x + y
    b += _turn(a, 44)
    return a + z & _MASK, b + c & _MASK


def _round(
    text: bytes, at: int, state: tuple[int, ...], by: int, often: int
) -> tuple[int, ...]:
    """Mix 64 bytes into the state: x, y, z, and two pairs."""
    x, y, z, v0, v1, w0, w1 = state
    x = _turn(x + y + v0 + _word(text, at + 8), 37) * by
    y = _turn(y + v1 + _word(text, at + 48), 42) * by
    x ^= w1 * often
    y += v0 * often + _word(text, at + 40)
    z = _turn(z + w0, 33) * by & _MASK
    v = _weak(text, at, v1 * by, x + w0)
    w = _weak(text, at + 32, z + w1, y + _word(text, at + 16))
    return z, y & _MASK, x & _MASK, *v, *w


def _long(text: bytes) -> int:
    size, seed = len(text), 81
    y = seed * _K1 + 113 & _MASK
    z = _mix(y * _K2 + 113) * _K2 & _MASK
    state: tuple[int, ...] = (seed * _K2 + _word(text, 0) & _MASK, y, z, 0, 0, 0, 0)
    end = (size - 1) // 64 * 64
    for at in range(0, end, 64):
        state = _round(text, at, state, _K1, 1)
    x, y, z, v0, v1, w0, w1 = state
    by = _K1 + ((z & 0xFF) << 1)
    w0 += size - 1 & 63
    v0 += w0
    w0 += v0
    state = (x, y, z, v0 & _MASK, v1, w0 & _MASK, w1)
    x, y, z, v0, v1, w0, w1 = _round(text, size - 64, state, by, 9)
    first = _join(v0, w0, by) + _mix(y) * _K0 + z
    return _join(first & _MASK, _join(v1, w1, by) + x & _MASK, by)


def siphash(text: bytes, key: Pair) -> int:
    """Return SipHash-2-4, a hash with a key, without which collisions cannot be looked for.

    >>> hex(siphash(bytes(range(15)), (0x0706050403020100, 0x0F0E0D0C0B0A0908)))
    '0xa129ca6149be45e5'
    """
    k0, k1 = (part & _MASK for part in key)
    state = [
        k0 ^ 0x736F6D6570736575,
        k1 ^ 0x646F72616E646F6D,
        k0 ^ 0x6C7967656E657261,
        k1 ^ 0x7465646279746573,
    ]
    padded = text + bytes(7 - len(text) % 8) + bytes([len(text) & 0xFF])
    for at in range(0, len(padded), 8):
        word = _word(padded, at)
        state[3] ^= word
        _sip_rounds(state, 2)
        state[0] ^= word
    state[2] ^= 0xFF
    _sip_rounds(state, 4)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _sip_rounds(state: list[int], n_rounds: int) -> None:
    a, b, c, d = state
    for _ in range(n_rounds):
        a = a + b & _MASK
        b = _turn(b, 51) ^ a
        a = _turn(a, 32)
        c = c + d & _MASK
        d = _turn(d, 48) ^ c
        a = a + d & _MASK
        d = _turn(d, 43) ^ a
        c = c + b & _MASK
        b = _turn(b, 47) ^ c
        c = _turn(c, 32)
    state[:] = a, b, c, d
