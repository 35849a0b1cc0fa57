"""Deprecated names: logged once, and not inside of `silence`."""

from __future__ import annotations

from berth.front import deprecation


def test_deprecated_name_is_logged_once(caplog, monkeypatch):
    monkeypatch.setattr(deprecation, "_warned", set())
    with deprecation.silence():
        deprecation.warn_deprecated("tf.old", "tf.new")
    assert caplog.messages == []
    for _ in range(2):
        deprecation.warn_deprecated("tf.old", "tf.new")
    assert caplog.messages == ["tf.old is deprecated. Use tf.new instead."]
