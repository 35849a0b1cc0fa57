"""Device names as Python programs write them: DeviceSpec of both APIs (§1.3, §1.8).

A spec is a possibly partial name: any of job, replica, task, device type and index.
This is the lenient of TensorFlow's two languages, the one that ``tf.device`` reads;
`full_name` has the strict one, which the runtime reads.

Invariants:
  1. ``from_string(s.to_string()) == s`` if the fields of s hold no ``/`` and no ``:``.
  2. Merging is field by field and associative, and the empty spec changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from berth.errors import did_you_mean, explain

SHORT_TYPES = ("CPU", "GPU", "TPU", "CUSTOM", "EPU")
"""Types that may stand without ``device:`` in front, in any case."""

_FIELDS = ("job", "replica", "task", "device_type", "device_index")
Spec = TypeVar("Spec", bound="DeviceSpecV2")


def _maybe(convert: Callable[[Any], Any], value: Any) -> Any:
    return None if value is None else convert(value)


def _canonical_type(device_type: Any) -> str:
    # Only the exact lower-case words: TensorFlow keeps "Gpu", which matches no device.
    name = str(device_type)
    return name.upper() if name in ("cpu", "gpu") else name


class DeviceSpecV2:
    """A possibly partial device name that cannot be changed.

    >>> DeviceSpecV2.from_string("/job:worker/gpu:1").to_string()
    '/job:worker/device:GPU:1'
    """

    __slots__ = ("_device_index", "_device_type", "_job", "_replica", "_task")

    def __init__(
        self,
        job: Any = None,
        replica: Any = None,
        task: Any = None,
        device_type: Any = None,
        device_index: Any = None,
    ) -> None:
        self._job: str | None = _maybe(str, job)
        self._replica: int | None = _maybe(int, replica)
        self._task: int | None = _maybe(int, task)
        self._device_type: str | None = _maybe(_canonical_type, device_type)
        self._device_index: int | None = _maybe(int, device_index)

    @property
    def job(self) -> str | None:
        return self._job

    @property
    def replica(self) -> int | None:
        return self._replica

    @property
    def task(self) -> int | None:
        return self._task

    @property
    def device_type(self) -> str | None:
        return self._device_type

    @property
    def device_index(self) -> int | None:
        return self._device_index

    @classmethod
    def from_string(cls: type[Spec], spec: str) -> Spec:
        """Read a name; ValueError if it is not one."""
        return cls(**_parse(spec))

    def parse_from_string(self: Spec, spec: str) -> Spec:
        """Read a name into a new spec."""
        return self.from_string(spec)

    def to_string(self) -> str:
        """Write the canonical form, leaving out what is not known."""
        parts = ""
        if self.job is not None:
            parts += f"/job:{self.job}"
        if self.replica is not None:
            parts += f"/replica:{self.replica}"
        if self.task is not None:
            parts += f"/task:{self.task}"
        if self.device_type is not None:
            index = "*" if self.device_index is None else self.device_index
            parts += f"/device:{self.device_type}:{index}"
        return parts

    def make_merged_spec(self: Spec, dev: DeviceSpecV2) -> Spec:
        """Return this spec with every field that `dev` has taken from `dev`."""
        return type(self)(**_merged(self, dev))

    def replace(self: Spec, **fields: Any) -> Spec:
        """Return this spec with some fields changed."""
        return type(self)(**{**_fields(self), **fields})

    # Subclasses compare as different in both directions, as in TensorFlow: Python asks
    # the subclass first, and an instance of the base is none of its own.
    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self.to_string() == other.to_string()

    def __hash__(self) -> int:
        return hash(self.to_string())

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value}" for name, value in _fields(self).items())
        return f"<DeviceSpec({fields})>"


def _settable(field: str, convert: Callable[[Any], Any]) -> Any:
    """Give a field of DeviceSpecV2 a setter."""

    def write(spec: DeviceSpecV2, value: Any) -> None:
        setattr(spec, "_" + field, _maybe(convert, value))

    return property(getattr(DeviceSpecV2, field).fget, write)


class DeviceSpecV1(DeviceSpecV2):
    """A possibly partial device name that can be changed, as in TensorFlow 1.

    >>> spec = DeviceSpecV1(job="ps")
    >>> spec.device_type = "gpu"
    >>> spec.to_string()
    '/job:ps/device:GPU:*'
    """

    __slots__ = ()

    job = _settable("job", str)
    replica = _settable("replica", int)
    task = _settable("task", int)
    device_type = _settable("device_type", _canonical_type)
    device_index = _settable("device_index", int)

    def parse_from_string(self, spec: str) -> DeviceSpecV1:
        """Read a name into this spec, and return it."""
        self._assign(_parse(spec))
        return self

    def merge_from(self, dev: DeviceSpecV2) -> None:
        """Take every field that `dev` has from `dev`."""
        self._assign(_merged(self, dev))

    def _assign(self, fields: dict[str, Any]) -> None:
        # All are converted before one is stored: a bad value changes nothing.
        converted = DeviceSpecV2(**fields)
        for name, value in _fields(converted).items():
            setattr(self, name, value)


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


def _fields(spec: DeviceSpecV2) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in _FIELDS}


def _merged(base: DeviceSpecV2, over: DeviceSpecV2) -> dict[str, Any]:
    given = {name: value for name, value in _fields(over).items() if value is not None}
    return {**_fields(base), **given}


def _parse(spec: str | None) -> dict[str, Any]:
    """Read a name into fields. Pieces between slashes may come in any order."""
    fields: dict[str, Any] = {}
    for piece in filter(None, (spec or "").split("/")):
        try:
            new = _parse_piece(piece.split(":"))
        except ValueError as error:  # int()'s own words, as in TensorFlow
            raise ValueError(
                explain(
                    str(error),
                    f"In the device name {spec!r}: {piece!r} must end in a whole "
                    f"number{_or_star(piece)}.",
                )
            ) from None
        if new is None:
            raise ValueError(_unknown(piece.split(":")[0], str(spec)))
        if "device_type" in new and "device_type" in fields:
            raise ValueError(
                "Multiple device types are not allowed while parsing the device spec: "
                f"{spec}."
            )
        fields.update(new)
    return fields


def _parse_piece(parts: list[str]) -> dict[str, Any] | None:
    """Read what stands between two slashes, or return None if it is nothing known."""
    match parts:
        case ["job", job]:
            return {"job": job}
        case ["replica" | "task" as field, number]:
            return {field: int(number)}
        case [short] | [short, _] if short.upper() in SHORT_TYPES:
            index = parts[1] if len(parts) == 2 else "*"
            return {"device_type": short.upper(), "device_index": _index(index)}
        case ["device", device_type, index]:
            return {
                "device_type": _canonical_type(device_type),
                "device_index": _index(index),
            }
    return None


def _index(text: str) -> int | None:
    return None if text == "*" else int(text)


def _or_star(piece: str) -> str:
    return "" if piece.startswith(("replica:", "task:")) else " or '*'"


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
