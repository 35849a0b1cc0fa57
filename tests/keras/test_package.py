"""How Keras is found, and what an installation without it says. Keras itself need not be there."""

from __future__ import annotations

import json
import sys
from types import ModuleType

import pytest

import berth as tf
import berth.keras
from berth.keras import package

SUPPORTED = 'berth runs Keras 3.12 or newer, below 4.0: pip install "berth[keras]".'


@pytest.mark.parametrize("version", ["2.15.0", "3.11.3", "4.0.0", "5.1"])
def test_unsupported_versions_are_refused(version):
    with pytest.raises(ImportError) as raised:
        package.check_version(version)
    assert str(raised.value) == f"Keras {version} is not supported.\n  {SUPPORTED}"


@pytest.mark.parametrize("version", ["3.12.0", "3.15.1", "3.99.0rc1"])
def test_supported_versions_are_accepted(version):
    package.check_version(version)


@pytest.mark.parametrize("name", ["keras", "losses", "metrics", "optimizers"])
def test_without_keras_it_says_what_to_install(monkeypatch, name):
    monkeypatch.setattr(package, "api_folder", list)
    monkeypatch.delitem(
        vars(berth.keras), name, raising=False
    )  # another test may have loaded it
    with pytest.raises(ImportError) as raised:
        _ = getattr(tf, name).Sequential
    assert str(raised.value) == (
        "No module named 'keras'\n  tf.keras is the package Keras: "
        'pip install "berth[keras]".'
    )


def test_another_tensorflow_is_not_replaced(monkeypatch):
    monkeypatch.setitem(sys.modules, "tensorflow", ModuleType("tensorflow"))
    monkeypatch.setattr(package, "api_folder", lambda: ["/somewhere"])
    with pytest.raises(
        ImportError, match=r"^tf.keras would run on TensorFlow, and not on berth"
    ):
        package.load()
    monkeypatch.setattr(package, "become_tensorflow", lambda: pytest.fail("replaced"))
    package.prepare()


def test_choice_of_backend_is_kept(sim, tmp_path, monkeypatch):
    sim(KERAS_HOME=str(tmp_path))
    assert package.chosen_backend() is None
    (tmp_path / "keras.json").write_text(json.dumps({"backend": "jax"}))
    assert package.chosen_backend() == "jax"
    sim(KERAS_HOME=str(tmp_path), KERAS_BACKEND="torch")
    assert package.chosen_backend() == "torch"
    monkeypatch.setattr(package, "become_tensorflow", lambda: pytest.fail("replaced"))
    package.prepare()
