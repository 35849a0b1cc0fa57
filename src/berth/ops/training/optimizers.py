"""The operations by which optimizers update variables, one declaration each."""

from __future__ import annotations

from berth.ops.training import rules
from berth.ops.training.updates import update

GRADIENT_DESCENT = update(
    "GradientDescent", rules.gradient_descent, "var", "alpha delta", 1, is_sparse=False
)
MOMENTUM = update(
    "Momentum",
    rules.momentum,
    "var accum",
    "lr grad momentum",
    2,
    attrs={"use_nesterov": False},
)
ADAM = update(
    "Adam",
    rules.adam,
    "var m v",
    "beta1_power beta2_power lr beta1 beta2 epsilon grad",
    3,
    is_sparse=False,
    attrs={"use_nesterov": False},
)
RMS_PROP = update("RMSProp", rules.rms_prop, "var ms mom", "lr rho momentum epsilon grad", 2)
CENTERED_RMS_PROP = update(
    "CenteredRMSProp",
    rules.centered_rms_prop,
    "var mg ms mom",
    "lr rho momentum epsilon grad",
    2,
)
ADAGRAD = update(
    "Adagrad", rules.adagrad, "var accum", "lr grad", 2, attrs={"update_slots": True}
)
ADADELTA = update(
    "Adadelta", rules.adadelta, "var accum accum_update", "lr rho epsilon grad", 2
)
FTRL = update(
    "Ftrl",
    rules.ftrl,
    "var accum linear",
    "grad lr l1 l2 lr_power",
    3,
    attrs={"multiply_linear_by_lr": False},
)
FTRL_V2 = update(
    "FtrlV2",
    rules.ftrl_v2,
    "var accum linear",
    "grad lr l1 l2 l2_shrinkage lr_power",
    4,
    attrs={"multiply_linear_by_lr": False},
)
PROXIMAL_GRADIENT_DESCENT = update(
    "ProximalGradientDescent",
    rules.proximal_gradient_descent,
    "var",
    "alpha l1 l2 delta",
    2,
)
PROXIMAL_ADAGRAD = update(
    "ProximalAdagrad", rules.proximal_adagrad, "var accum", "lr l1 l2 grad", 3
)
ADAGRAD_DA = update(
    "AdagradDA",
    rules.adagrad_da,
    "var gradient_accumulator gradient_squared_accumulator",
    "grad lr l1 l2 global_step",
    2,
)
