"""Which device works, and how a world of `thenar.sim` becomes a model that MuJoCo Warp takes."""

from __future__ import annotations

import copy
import math
from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from thenar.errors import BadCommand, BadValue, MissingExtra
from thenar.hands.spec import HandSpec
from thenar.signals import HandCommand
from thenar.sim.physics import Physics

# Of friction over the normal direction. One world has 3e5; in single precision the engine breaks from 1e5 on, see
# "Holding things" in docs/motors.md.
IMPEDANCE_RATIO = 1e4
# One world has 1e-10. With this, float32 finds depths to 0.2 um and may miss contacts up to 13 um deep; 1e-8 gives 0.02
# and 5 um, but an egg then takes 13 % longer on the CPU backend.
CONTACT_TOLERANCE_M = 1e-6
MAX_DENSE = 60  # degrees of freedom
DRY_RUN_S = 0.8  # in which a hand closes
SPARE, SPARE_CONTACTS = 1.5, 8  # contacts of the dry run times the one, plus the other
JOINT_EQUALITY = int(mujoco.mjtEq.mjEQ_JOINT)


def load_warp() -> tuple[Any, Any]:
    """The modules ``warp`` and ``mujoco_warp``, or an error that says what to install."""
    try:
        import mujoco_warp
        import warp
    except ImportError as error:
        raise MissingExtra("thenar.batch", error.name or "mujoco-warp", "gpu") from error
    return warp, mujoco_warp


def open_device(name: str | None) -> Any:
    """The device of that name; None: the first GPU, or the CPU where there is none."""
    warp, _ = load_warp()
    warp.init()
    gpus = [device.alias for device in warp.get_cuda_devices()]
    if name is None:
        return warp.get_device(gpus[0] if gpus else "cpu")
    if name == "cpu":
        return warp.get_device("cpu")
    if name == "cuda" and gpus:
        return warp.get_device(gpus[0])
    if name not in gpus:
        found = ", ".join(gpus) or "no GPU: is the NVIDIA driver installed (nvidia-smi)?"
        raise BadValue("device", name, f"'cpu' or one of the GPUs found ({found})")
    return warp.get_device(name)


def without_visuals(hand: HandSpec) -> HandSpec:
    """A hand that is only what collides: every world would else move its looks."""
    return replace(hand, links=tuple(replace(link, visuals=()) for link in hand.links))


def device_model(model: mujoco.MjModel) -> mujoco.MjModel:
    """A copy with the options that MuJoCo Warp can follow."""
    made = copy.copy(model)
    fit_to_device(made)
    return made


def fit_to_device(made: mujoco.MjModel) -> None:
    """Give a model the options that MuJoCo Warp can follow."""
    made.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_AUTORESET)  # it never starts a world again by itself
    made.opt.impratio = min(made.opt.impratio, IMPEDANCE_RATIO)
    made.opt.ccd_tolerance = max(made.opt.ccd_tolerance, CONTACT_TOLERANCE_M)
    if made.nv > MAX_DENSE:
        made.opt.jacobian = mujoco.mjtJacobian.mjJAC_SPARSE
    # Whether tendons are damped is looked at once; motors damp them later on.
    made.tendon_damping[:] = np.maximum(made.tendon_damping, 1e-6)


def capacity(physics: Physics, contacts: int | None) -> tuple[int, int]:
    """Contacts and rows of constraints that a world should have room for.

    Args:
        physics: One of the worlds, at time 0; it is there again afterwards.
        contacts: Contacts as wished; None: those of hands that close, and spare ones.
    """
    if contacts is None:
        for hand in physics.hand_names:
            physics.motors.command(hand, HandCommand.closing(1.0), physics.time_s)
        most = 0
        for _ in range(round(DRY_RUN_S / 0.01)):
            physics.advance(0.01)
            most = max(most, physics.data.ncon)
        physics.reset()
        contacts = math.ceil(SPARE * most) + SPARE_CONTACTS
    model = physics.model
    # A contact has at most four rows (condim 4), an equality up to six; joints are rarely all at their limits.
    return contacts, 4 * contacts + model.njnt // 2 + int(np.sum(np.where(model.eq_type == JOINT_EQUALITY, 1, 6)))


def on_device(name: str, value: Any, shape: tuple[int, ...], device: Any, *, dtype: type = float) -> Any:
    """An array of Warp, torch, jax or numpy as one of Warp on a device; one that does not fit is refused.

    Numbers for one world count for all of them.
    """
    warp, _ = load_warp()
    if not isinstance(value, warp.array):
        if not isinstance(value, np.ndarray) and hasattr(value, "__dlpack__"):
            value = warp.from_dlpack(value)
        else:
            rows = np.asarray(value, dtype=np.bool_ if dtype is bool else np.float32)
            if dtype is float and rows.shape == shape[1:]:
                rows = np.broadcast_to(rows, shape)
            if rows.shape == shape:
                return warp.array(np.ascontiguousarray(rows), dtype=dtype, device=device)
            value = rows
    if tuple(value.shape) != shape:
        raise BadCommand(f"{name} has shape {tuple(value.shape)}; wanted {shape}: a row per world")
    wanted = (bool, warp.bool, warp.uint8) if dtype is bool else (float, warp.float32)
    if value.dtype not in wanted:
        raise BadCommand(f"{name} holds {value.dtype.__name__}; wanted {wanted[1].__name__}")
    value = value.contiguous() if value.device == device else value.to(device)
    return value.view(warp.bool) if dtype is bool else value
