"""Device names as Python programs write them: DeviceSpec of both APIs.

A spec is a possibly partial name: any of job, replica, task, device type and index.
This is the lenient of TensorFlow's two languages, the one that ``tf.device`` reads;
`full_name` has the strict one, which the runtime reads.

Invariants:
  1. ``from_string(s.to_string()) == s`` if the fields of s hold no ``/`` and no ``:``.
  2. Merging is field by field and associative, and the empty spec changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from berth.errors import did_you_mean, explain
from berth.public import public_v1, public_v2

SHORT_TYPES = ("CPU", "GPU", "TPU", "CUSTOM", "EPU")
"""Types that may stand without ``device:`` in front, in any case."""

_NAMES = ("job", "replica", "task", "device_type", "device_index")
Fields = tuple[str | None, int | None, int | None, str | None, int | None]
"""The five fields in the order of `_NAMES`; None is open."""

Spec = TypeVar("Spec", bound="DeviceSpecV2")


def _canonical_type(device_type: Any) -> str:
    # Only the exact lower-case words: TensorFlow keeps "Gpu", which matches no device.
    name = str(device_type)
    return name.upper() if name in ("cpu", "gpu") else name


_CONVERT: tuple[Callable[[Any], Any], ...] = (str, int, int, _canonical_type, int)


@public_v2("DeviceSpec")
class DeviceSpecV2:
    """A possibly partial device name that cannot be changed.

    >>> DeviceSpecV2.from_string("/job:worker/gpu:1").to_string()
    '/job:worker/device:GPU:1'
    """

    __slots__ = ("_fields", "_text")
    _fields: Fields
    _text: str | None
    """The canonical form, once it was asked for."""

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: Any = None,
        device_index: Any = None,
    ) -> None:
        self._set(_converted((job, replica, task, device_type, device_index)))

    def _set(self, fields: Fields) -> None:
        self._fields, self._text = fields, None

    @property
    def job(self) -> str | None:
        return self._fields[0]

    @property
    def replica(self) -> int | None:
        return self._fields[1]

    @property
    def task(self) -> int | None:
        return self._fields[2]

    @property
    def device_type(self) -> str | None:
        return self._fields[3]

    @property
    def device_index(self) -> int | None:
        return self._fields[4]

    @classmethod
    def from_string(cls: type[Spec], spec: str) -> Spec:
        """Read a name; ValueError if it is not one."""
        return cls._of(_parse(spec))

    def parse_from_string(self: Spec, spec: str) -> Spec:
        """Read a name into a new spec."""
        return self.from_string(spec)

    def to_string(self) -> str:
        """Write the canonical form, leaving out what is not known."""
        if self._text is None:
            self._text = _write(self._fields)
        return self._text

    def make_merged_spec(self: Spec, dev: DeviceSpecV2) -> Spec:
        """Return this spec with every field that `dev` has taken from `dev`."""
        return self._of(_merge(self._fields, dev._fields))

    def replace(self: Spec, **fields: Any) -> Spec:
        """Return this spec with some fields changed."""
        return type(self)(**{**dict(zip(_NAMES, self._fields, strict=True)), **fields})

    @classmethod
    def _of(cls: type[Spec], fields: Fields) -> Spec:
        """Make a spec of fields that are known to be good."""
        spec = cls.__new__(cls)
        spec._set(fields)
        return spec

    # Subclasses compare as different in both directions, as in TensorFlow: Python asks
    # the subclass first, and an instance of the base is none of its own.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        pairs = zip(_NAMES, self._fields, strict=True)
        return f"<DeviceSpec({', '.join(f'{name}={value}' for name, value in pairs)})>"


def _settable(name: str) -> Any:
    """Give a field of DeviceSpecV2 a setter."""
    at = _NAMES.index(name)

    def write(spec: DeviceSpecV2, value: Any) -> None:
        spec._set(_converted((*spec._fields[:at], value, *spec._fields[at + 1 :])))

    return property(getattr(DeviceSpecV2, name).fget, write)


@public_v1("DeviceSpec")
class DeviceSpecV1(DeviceSpecV2):
    """A possibly partial device name that can be changed, as in TensorFlow 1.

    >>> spec = DeviceSpecV1(job="ps")
    >>> spec.device_type = "gpu"
    >>> spec.to_string()
    '/job:ps/device:GPU:*'
    """

    __slots__ = ()

    job = _settable("job")
    replica = _settable("replica")
    task = _settable("task")
    device_type = _settable("device_type")
    device_index = _settable("device_index")

    def parse_from_string(self, spec: str) -> DeviceSpecV1:
        """Read a name into this spec, and return it."""
        self._set(_parse(spec))
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Take every field that `dev` has from `dev`."""
        self._set(_merge(self._fields, dev._fields))


def canonical_name(device: str | DeviceSpecV2 | None) -> str:
    """Write a device in canonical form; None is no device at all.

    >>> canonical_name("gpu:0"), canonical_name(None)
    ('/device:GPU:0', '')
    """
    if device is None:
        return ""
    if isinstance(device, DeviceSpecV2):
        return device.to_string()
    return DeviceSpecV2.from_string(device).to_string()


def check_valid(spec: str) -> None:
    """Raise ValueError if a text is not a device name."""
    DeviceSpecV2.from_string(spec)


def _converted(values: tuple[Any, ...]) -> Fields:
    job, replica, task, device_type, device_index = (
        None if value is None else convert(value)
        for value, convert in zip(values, _CONVERT, strict=True)
    )
    return job, replica, task, device_type, device_index


# Programs use few names, and use them often: every step on them is remembered.
@lru_cache(maxsize=1024)
def _write(fields: Fields) -> str:
    job, replica, task, device_type, device_index = fields
    text = ""
    if job is not None:
        text += f"/job:{job}"
    if replica is not None:
        text += f"/replica:{replica}"
    if task is not None:
        text += f"/task:{task}"
    if device_type is not None:
        text += f"/device:{device_type}:{'*' if device_index is None else device_index}"
    return text


@lru_cache(maxsize=1024)
def _merge(base: Fields, over: Fields) -> Fields:
    return _converted(tuple(b if o is None else o for b, o in zip(base, over, strict=True)))


@lru_cache(maxsize=1024)
def _parse(spec: str | None) -> Fields:
    """Read a name into fields. Pieces between slashes may come in any order.

    As in TensorFlow, a piece without a word before its colon is ignored, an index is converted
    where it is met, and replica and task after all pieces: of several the last counts.
    """
    found: dict[str, Any] = {}
    for piece in (spec or "").split("/"):
        new = _parse_piece(piece.split(":"))
        if new is None:
            raise ValueError(_unknown(piece.split(":")[0], str(spec)))
        if "device_type" in new and "device_type" in found:
            raise ValueError(
                f"Multiple device types are not allowed while parsing the device spec: {spec}."
            )
        found.update(new)
        index = new.get("device_index")
        if index is not None:
            found["device_index"] = _whole(index, spec, piece, " or '*'")
    for field in ("replica", "task"):
        if field in found:
            found[field] = _whole(found[field], spec, f"{field}:{found[field]}")
    return _converted(tuple(found.get(name) for name in _NAMES))


def _parse_piece(parts: list[str]) -> dict[str, str | None] | None:
    """Read what stands between two slashes, or return None if it is nothing known."""
    match parts:
        case ["", *_]:
            return {}
        case ["job" | "replica" | "task" as field, value]:
            return {field: value}
        case [short] | [short, _] if short.upper() in SHORT_TYPES:
            index = parts[1] if len(parts) == 2 else "*"
            return {"device_type": short.upper(), "device_index": _open(index)}
        case ["device", device_type, index]:
            return {"device_type": _canonical_type(device_type), "device_index": _open(index)}
    return None


def _open(index: str) -> str | None:
    return None if index == "*" else index


def _whole(text: str, spec: str | None, piece: str, or_star: str = "") -> int:
    try:
        return int(text)
    except ValueError as error:  # int()'s own words, as in TensorFlow
        raise ValueError(
            explain(
                str(error),
                f"In the device name {spec!r}: {piece!r} must end in a whole number{or_star}.",
            )
        ) from None


def _unknown(attribute: str, spec: str) -> str:
    short_types = [*SHORT_TYPES, *map(str.lower, SHORT_TYPES)]
    known = ["job", "replica", "task", "device", *short_types]
    word = attribute.strip()
    return explain(
        f"Unknown attribute '{attribute}' is encountered while parsing the device "
        f"spec: '{spec}'.",
        "" if word in known else did_you_mean(word, known),
        "Names look like '/gpu:0', '/device:GPU:0' or '/job:worker/task:1/cpu:0'.",
    )
