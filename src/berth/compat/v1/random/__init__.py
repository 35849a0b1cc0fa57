"""``tf.random``: random numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from berth.missing import LazyNames as _LazyNames
from berth.missing import explain_missing_names as _explain_missing_names

# --- written by dev/make_api.py: make api
# isort: split
from berth.ops.nn.candidate_sampling import (
    all_candidate_sampler,
    fixed_unigram_candidate_sampler,
    learned_unigram_candidate_sampler,
    log_uniform_candidate_sampler,
    uniform_candidate_sampler,
)
from berth.ops.random.distributions import random_gamma as gamma
from berth.ops.random.distributions import random_poisson as poisson
from berth.ops.random.distributions import (
    stateless_binomial,
    stateless_gamma,
    stateless_poisson,
)
from berth.ops.random.sampling import categorical, multinomial, shuffle
from berth.ops.random.seeded import random_normal as normal
from berth.ops.random.seeded import random_uniform as uniform
from berth.ops.random.seeded import set_random_seed, truncated_normal
from berth.ops.random.stateless import (
    stateless_categorical,
    stateless_normal,
    stateless_truncated_normal,
    stateless_uniform,
)

__all__ = [
    "Algorithm",
    "Generator",
    "all_candidate_sampler",
    "categorical",
    "create_rng_state",
    "fixed_unigram_candidate_sampler",
    "gamma",
    "get_global_generator",
    "learned_unigram_candidate_sampler",
    "log_uniform_candidate_sampler",
    "multinomial",
    "normal",
    "poisson",
    "set_global_generator",
    "set_random_seed",
    "shuffle",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "truncated_normal",
    "uniform",
    "uniform_candidate_sampler",
]

_LAZY_NAMES: _LazyNames = {
    "Algorithm": ("berth.eager.random_generator", "Algorithm"),
    "Generator": ("berth.eager.random_generator", "Generator"),
    "create_rng_state": ("berth.eager.random_generator", "create_rng_state"),
    "get_global_generator": ("berth.eager.random_generator", "get_global_generator"),
    "set_global_generator": ("berth.eager.random_generator", "set_global_generator"),
}

if TYPE_CHECKING:
    from berth.eager.random_generator import Algorithm as Algorithm
    from berth.eager.random_generator import Generator as Generator
    from berth.eager.random_generator import create_rng_state as create_rng_state
    from berth.eager.random_generator import get_global_generator as get_global_generator
    from berth.eager.random_generator import set_global_generator as set_global_generator
# --- end

__all__ += ["experimental"]

_explain_missing_names(__name__, __all__, ("experimental",), _LAZY_NAMES)
