"""Any hand from a URDF or MJCF file: `from_file`.

A table says which link of the file ends which finger of a person; the rest is read from the file. The hand begins at
the link that all fingers hang on, so the file may hold a whole robot.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias, get_args

import mujoco
import numpy as np
from numpy.typing import ArrayLike

from thenar.arrays import FloatArray, finite_vector
from thenar.errors import BadFile, BadValue, UnknownName
from thenar.hands.build import on_body
from thenar.hands.model_parts import compile_model, couplings_of, left_alone, link_of, read_model, tendons_of, walk
from thenar.hands.rotations import matrix_from_rpy, rpy_from_matrix
from thenar.hands.shapes import as_vec3
from thenar.hands.spec import Actuator, HandSpec, Palette, PalmFrame, Servo, Side, Tip
from thenar.signals import FINGERS

FingerEnd: TypeAlias = str | tuple[str, ArrayLike]
"""The link at the end of a finger; with a point in it [m] where its origin is not the fingertip."""
BASES = ("base", "hand_base", "base_of_the_hand")  # what it is called where the fingers hang on the world itself
MIN_BONE_M = 0.003  # from the axis of a finger's last joint to its tip
CENTRED_M = 0.005  # a thumb no farther to a side than this belongs to neither
ONE_SIDED = 1.5  # a joint that goes this much farther one way closes that way; any other moves a finger sideways
UNNAMED = "MuJoCo Model"  # what MuJoCo calls a model without a name
PALETTE = Palette(body=(0.35, 0.36, 0.38), skin=(0.75, 0.75, 0.73), dark=(0.12, 0.12, 0.13))


def from_file(
    path: Path | str,
    fingers: Mapping[str, FingerEnd],
    *,
    side: Side | None = None,
    base: str | None = None,
    name: str | None = None,
    speed_rad_s: float | Mapping[str, float] | None = None,
    palm: tuple[ArrayLike, ArrayLike] | None = None,
) -> HandSpec:
    """A hand from a file of yours.

    Args:
        path: A URDF or MJCF file.
        fingers: By the person's finger (thumb, index, middle, ring, little) the link at its end: a link whose origin
            is the fingertip, or a link and the fingertip in it [m]. A thumb and a finger at least.
        side: Which hand it is; None finds out by where the thumb is, ``none`` is neither.
        base: Link that the hand begins at; None: the one that all fingers hang on.
        name: What to call it; None: as the file.
        speed_rad_s: Top speed of the motors, or of each by the name of its joint [rad/s]; None: as a URDF says.
        palm: Directions towards the fingers and out of the palm, in the base; None finds out by how the fingers bend.
    """
    path = Path(path)
    unknown = [finger for finger in fingers if finger not in FINGERS]
    if unknown or "thumb" not in fingers or len(fingers) < 2:
        raise BadValue("fingers", ", ".join(fingers) or "none", f"a thumb and at least one of {', '.join(FINGERS[1:])}")
    if side is not None and side not in get_args(Side):
        raise BadValue("side", side, f"None or one of {', '.join(get_args(Side))}")
    spec, speeds = read_model(path)
    model = compile_model(path, spec)
    moved = {element.name for element in (*spec.joints, *spec.tendons, *spec.actuators)}
    for named in speed_rad_s if isinstance(speed_rad_s, Mapping) else ():
        if named not in moved:
            raise UnknownName(f"joint or motor of {path.name}", named, moved)
    ends = {finger: _end(path, model, fingers[finger]) for finger in FINGERS if finger in fingers}
    root = _common_body(model, [body for body, _ in ends.values()]) if base is None else _body(path, model, base)
    if root == 0:  # the fingers hang on the world itself, which stays what it is
        names = {body.name for body in spec.bodies}
        model = compile_model(path, on_body(spec, next(name for name in BASES if name not in names)))
        root, ends = 1, {finger: (body + 1, tip) for finger, (body, tip) in ends.items()}
    parts = walk(path, model, root)
    for finger, (body, _) in ends.items():
        if body not in parts.places:
            raise BadValue(
                f"fingers[{finger!r}]", model.body(body).name, f"a link that hangs on {model.body(root).name}"
            )
    tips = {finger: (parts.places[body].link, parts.places[body].point(tip)) for finger, (body, tip) in ends.items()}
    axes = {joint.child: np.asarray(joint.axis) for joint in parts.joints}
    for finger, (link, tip_m) in tips.items():
        body = model.body(ends[finger][0]).name
        if link not in axes:
            raise BadValue(f"fingers[{finger!r}]", body, "a link that joints move")
        if float(np.linalg.norm(np.cross(axes[link], tip_m))) < MIN_BONE_M:
            wanted = f"the fingertip's place in it as well: ({body!r}, (x, y, z)) [m]"
            raise BadValue(f"fingers[{finger!r}]", f"a point of {body} on the axis of its last joint", wanted)
    tendons, couplings = tendons_of(model, parts.joints), couplings_of(path, model, parts.joints)
    hand = HandSpec(
        name=name or (path.stem if spec.modelname in ("", UNNAMED) else spec.modelname),
        maker="",
        model=path.name,
        side="none",
        summary=f"A hand of your own, from {path.name}.",
        root=parts.places[root].link,
        links=tuple(link_of(path, name, parts, tips) for name in parts.masses),
        joints=tuple(parts.joints),
        couplings=couplings,
        tendons=tendons,
        actuators=(),
        tips=tuple(Tip(finger=finger, link=link, pos_m=as_vec3(tip_m)) for finger, (link, tip_m) in tips.items()),
        palm=PalmFrame(pos_m=(0.0, 0.0, 0.0), rpy_rad=(0.0, 0.0, 0.0)),
        palette=PALETTE,
        no_contact=left_alone(model, parts, tips),
    )
    speeds = {joint.name: speed_rad_s for joint in hand.joints} if isinstance(speed_rad_s, int | float) else speeds
    speeds = {**speeds, **speed_rad_s} if isinstance(speed_rad_s, Mapping) else speeds
    hand = replace(hand, actuators=_actuators(path, model, hand, speeds))
    return _with_palm(path, hand, side, palm)


def _body(path: Path, model: mujoco.MjModel, name: str) -> int:
    names = [model.body(body).name for body in range(model.nbody)]
    if name not in names:
        raise UnknownName(f"link of {path.name}", name, names[1:])
    return names.index(name)


def _end(path: Path, model: mujoco.MjModel, end: FingerEnd) -> tuple[int, FloatArray]:
    """Body and point of a fingertip."""
    match end:
        case str():
            return _body(path, model, end), np.zeros(3)
        case (str(name), tip_m):
            return _body(path, model, name), finite_vector(f"tip of {name} [m]", tip_m)
        case _:
            raise BadValue("end of a finger", end, "a link, or a link and a point in it: ('link', (x, y, z)) [m]")


def _chain(model: mujoco.MjModel, body: int) -> list[int]:
    """Bodies from the world to a body."""
    chain = [body]
    while chain[0] != 0:
        chain.insert(0, int(model.body_parentid[chain[0]]))
    return chain


def _common_body(model: mujoco.MjModel, bodies: list[int]) -> int:
    """The body nearest to the fingers that all of them hang on."""
    chains = [_chain(model, body) for body in bodies]
    return [body for body in chains[0] if all(body in chain for chain in chains)][-1]


def _actuators(
    path: Path, model: mujoco.MjModel, hand: HandSpec, speed_rad_s: Mapping[str, float]
) -> tuple[Actuator, ...]:
    """Motors of the file; where it has none, one for every joint of a finger that follows no other."""
    kinds, joints = mujoco.mjtTrn, {joint.name: joint for joint in hand.joints}
    tendons = {tendon.name: tendon for tendon in hand.tendons}
    driven: dict[str, tuple[str, int]] = {}  # what a motor drives: its name and number
    for number in range(model.nu):
        target = int(model.actuator_trnid[number, 0])
        if model.actuator_trntype[number] == kinds.mjTRN_JOINT:
            drives = model.joint(target).name
        elif model.actuator_trntype[number] == kinds.mjTRN_TENDON:
            drives = model.tendon(target).name
        else:
            continue
        if drives in joints or drives in tendons:
            driven[drives] = (model.actuator(number).name or drives, number)
    if not driven:
        follows = {coupling.joint for coupling in hand.couplings}
        driven = {name: (name, -1) for name in _finger_joints(hand) if name not in follows}
    made = []
    for drives, (name, number) in driven.items():
        pulled = tendons[drives].joints if drives in tendons else ((drives, 1.0),)
        lower = sum(min(w * joints[j].lower_rad, w * joints[j].upper_rad) for j, w in pulled)
        upper = sum(max(w * joints[j].lower_rad, w * joints[j].upper_rad) for j, w in pulled)
        speeds = [speed_rad_s.get(j) for j, _ in pulled]
        whole = None if None in speeds else sum(abs(w) * s for (_, w), s in zip(pulled, speeds, strict=True) if s)
        speed = speed_rad_s.get(name, whole)
        if speed is None or not 0.0 < speed < math.inf:
            raise BadValue(
                f"speed_rad_s of {name}",
                speed,
                f"the top speed of its motor; {path.name} does not say it: from_file(..., speed_rad_s=3.0)",
            )
        rest = min(max(0.0, lower), upper)
        up, down = upper - rest, rest - lower
        closed = upper if up > ONE_SIDED * down else lower if down > ONE_SIDED * up else rest
        made.append(
            Actuator(
                name=name,
                drives=drives,
                open_rad=rest,
                closed_rad=closed,
                lower_rad=lower,
                upper_rad=upper,
                motor=_servo(model, number, pulled[0][0], speed),
            )
        )
    return tuple(made)


def _servo(model: mujoco.MjModel, number: int, joint: str, speed_rad_s: float) -> Servo:
    """A motor of the file as a position servo; what the file does not say is assumed."""
    forces = model.jnt_actfrcrange[model.joint(joint).id]
    effort_nm = float(forces[1]) if model.jnt_actfrclimited[model.joint(joint).id] and forces[1] > 0.0 else 1.0
    stiffness, damping, source = 0.0, 0.0, "the file"
    if number >= 0:
        gear, bias = abs(float(model.actuator_gear[number, 0])), model.actuator_biastype[number]
        plain = bias == mujoco.mjtBias.mjBIAS_NONE and model.actuator_gaintype[number] == mujoco.mjtGain.mjGAIN_FIXED
        if model.actuator_forcelimited[number]:
            effort_nm = gear * float(np.abs(model.actuator_forcerange[number]).max()) or effort_nm
        elif plain and model.actuator_ctrllimited[number]:
            signal = float(np.abs(model.actuator_ctrlrange[number]).max())
            effort_nm = gear * signal * abs(float(model.actuator_gainprm[number, 0])) or effort_nm
        if bias == mujoco.mjtBias.mjBIAS_AFFINE:
            stiffness, damping = (-float(gain) * gear**2 + 0.0 for gain in model.actuator_biasprm[number, 1:3])
    if stiffness <= 0.0:
        stiffness, damping, source = effort_nm / 0.2, effort_nm / 20.0, "assumed: full torque at 0.2 rad"
    return Servo(
        stiffness_nm_rad=stiffness,
        damping_nms_rad=damping,
        top_speed_rad_s=speed_rad_s,
        effort_nm=effort_nm,
        lever_m=0.05,
        source=source,
    )


def _finger_joints(hand: HandSpec) -> list[str]:
    moving = {joint.name for tip in hand.tips for joint in hand.joints_to(tip.link)}
    return [name for name in hand.joint_names if name in moving]


def _with_palm(path: Path, hand: HandSpec, side: Side | None, palm: tuple[ArrayLike, ArrayLike] | None) -> HandSpec:
    """The hand with its palm's frame and side, seen from how its fingers lie and bend."""
    lines = {tip.finger: _finger_line(hand, tip) for tip in hand.tips}
    others = [line for finger, line in lines.items() if finger != "thumb"]
    if palm is None:
        along = np.mean([(tip - knuckle) / np.linalg.norm(tip - knuckle) for knuckle, tip, _ in others], axis=0)
        out = np.cross(np.mean([axis for _, _, axis in others], axis=0), along)
    else:
        if len(palm) != 2:
            raise BadValue("palm", palm, "two directions: towards the fingers, and out of the palm")
        along, out = (finite_vector("a direction of palm", direction) for direction in palm)
    y = along / max(float(np.linalg.norm(along)), 1e-12)
    z = out - (out @ y) * y
    if not np.linalg.norm(along) > 0.3 or not np.linalg.norm(z) > 0.3:
        raise BadFile(
            path,
            "the fingers do not show where the palm is: give palm=(towards the fingers, out of the palm), "
            f"two directions of length 1 in {hand.root}",
        )
    z = z / np.linalg.norm(z)
    R = np.stack([np.cross(y, z), y, z], axis=1)
    middle = np.mean([knuckle for knuckle, _, _ in others], axis=0)
    # With the fingers up and the palm towards you, the thumb of a right hand is on the right.
    knuckle, tip, _ = lines["thumb"]
    thumb_m = float((0.5 * (knuckle + tip) - middle) @ R[:, 0])
    seen: Side = "none" if abs(thumb_m) < CENTRED_M else "right" if thumb_m > 0.0 else "left"
    if side in ("left", "right") and seen not in ("none", side):
        raise BadValue("side", side, f"{seen}: the thumb of {path.name} is where that of a {seen} hand is")
    return replace(hand, side=side or seen, palm=PalmFrame(pos_m=as_vec3(middle), rpy_rad=rpy_from_matrix(R)))


def _finger_line(hand: HandSpec, end: Tip) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Knuckle and tip of a finger with all joints at 0, and the axis about which it closes, in the root."""
    R, at, joints = np.eye(3), np.zeros(3), list[tuple[FloatArray, FloatArray]]()
    for joint in hand.joints_to(end.link):
        at = at + R @ np.asarray(joint.pos_m)
        R = R @ matrix_from_rpy(joint.rpy_rad)
        closes = 1.0 if joint.upper_rad > -joint.lower_rad else -1.0
        joints.append((at, closes * R @ np.asarray(joint.axis)))
    last = joints[-1][1]
    return next(at for at, axis in joints if abs(axis @ last) > 0.9), at + R @ np.asarray(end.pos_m), last
