"""Fourier GR-2: 29 joints, 63 kg without hands.

Frame of ``base_link``: x forward, y left, z up, its origin between the hips' roots. Every number of the tables is from
the maker's URDF gr2v3_8_7 (09222025-alpha-1), whose limits equal those of the Aurora documentation. Tables of arms and
legs are those of the left side; the right side is its mirror image but for `ASYMMETRIC`. Shapes are in `gr2_shapes`.
"""

from __future__ import annotations

from functools import partial

from thenar.hands.catalog.rows import Inertial, X, Y, Z, weighed_link
from thenar.humanoid.model import body_rows
from thenar.humanoid.model.body_rows import Drive, Row, both_sides, fixed
from thenar.humanoid.model.body_spec import BodySpec, Fixed, Gains, Hinge, Roles
from thenar.humanoid.model.gr2_shapes import COLLISION, PALETTE, SOLE_M, VISUALS

URDF = "maker's URDF gr2v3_8_7"
DAMPING_NMS_RAD = FRICTION_NM = 0.01  # of every joint
SIDES = ("left", "right")

# Mass [kg], centre [m], ixx iyy izz ixy ixz iyz about the centre [kg m^2].
# fmt: off
TRUNK_INERTIALS: dict[str, Inertial] = {
    "base_link": (6.6598, (-0.0030357, 6.968e-05, -0.087284),
                  (0.048356, 0.030781, 0.041191, -1.314e-05, 0.00041517, -3.242e-05)),
    "waist_yaw_link": (0.67252, (-2.017e-05, 8.88e-05, 0.024104),
                       (0.0010622, 0.0010624, 0.00059099, 9e-08, -4.3e-07, 3.7e-07)),
    "torso_link": (14.058, (-0.0054214, 0.0010624, -0.12326),
                   (0.2545, 0.21565, 0.1107, 0.0001127, -0.0023, 0.00034939)),
    "head_yaw_link": (0.1402, (0.0, 0.0099543, 0.0065646),
                      (0.00012944, 0.00010676, 4.821e-05, 0.0, 0.0, -3.991e-05)),
    "head_pitch_link": (1.6096, (0.031582, 0.0012059, 0.072239),
                        (0.0077257, 0.010424, 0.0060799, -1.346e-05, -0.00055988, 0.00010711)),
}
ARM_INERTIALS: dict[str, Inertial] = {
    "upper_arm_pitch_link": (1.3432, (0.0022312, 0.040265, 3.797e-05),
                             (0.0031811, 0.0012561, 0.0030442, -7.306e-05, -1.5e-07, 9e-08)),
    "upper_arm_roll_link": (0.96142, (0.0087432, 0.0022878, -0.038787),
                            (0.0026111, 0.0028017, 0.00091191, 1.105e-05, -0.00033468, 2.91e-06)),
    "upper_arm_yaw_link": (1.3181, (-0.00056161, 0.0012137, -0.091108),
                           (0.0067903, 0.0068059, 0.0010853, 3.2e-07, -5.12e-06, 9.238e-05)),
    "lower_arm_pitch_link": (0.45807, (-0.0014862, 0.006973, -0.021097),
                             (0.00068974, 0.00057464, 0.00038897, -3.65e-06, -2.99e-06, -6.575e-05)),
    "hand_yaw_link": (1.0855, (0.00027991, 0.0038031, -0.062955),
                      (0.0023598, 0.002234, 0.00088838, -9.31e-06, 2.063e-05, 0.00013994)),
    "hand_pitch_link": (0.45716, (0.0038604, 2.7474e-05, 2.9411e-06),
                        (0.00021943, 0.00022813, 0.00023483, -3.7e-07, -8.6975e-08, -2.1e-07)),
    "hand_roll_link": (0.20259, (0.0087325, -2.8386e-05, -0.015719),
                       (0.0001134, 0.00019338, 0.0001471, -1.8583e-08, -2.4468e-05, -6.0314e-08)),
}
LEG_INERTIALS: dict[str, Inertial] = {
    "thigh_pitch_link": (2.61, (-0.035065, 0.036467, 0.0020083),
                         (0.0075932, 0.0085937, 0.011716, 0.0031974, -8.035e-05, -9.448e-05)),
    "thigh_roll_link": (1.3487, (0.027776, -0.00010848, -0.0074687),
                        (0.001181, 0.0026369, 0.0027651, -5.3e-06, 0.00034163, -3.01e-06)),
    "thigh_yaw_link": (5.1152, (0.0010147, -0.012758, -0.14387),
                       (0.042296, 0.043183, 0.0099198, -8.538e-05, 0.00038855, 0.00098874)),
    "shank_pitch_link": (3.7232, (0.0045396, 0.0037923, -0.17984),
                         (0.036992, 0.037957, 0.003922, 6.79e-05, -0.00012767, 0.00044476)),
    "foot_pitch_link": (0.18479, (0.028326, 1.186e-05, 0.0010629),
                        (1.263e-05, 0.0002444, 0.00024533, -9e-08, 5.55e-06, -1.8e-07)),
    "foot_roll_link": (1.1125, (0.027263, 0.0064312, -0.032367),
                       (0.0010746, 0.0052051, 0.0056239, 0.00020984, 0.00016736, -0.00019853)),
}
# fmt: on


HIP_KNEE, HIP_ROLL = Drive(366.05, 6.4997, 0.592), Drive(95.472, 12.362, 0.121)
HIP_YAW_ANKLE, ANKLE_ROLL = Drive(54.33, 14.745, 0.165), Drive(29.835, 16.755, 0.031)
WAIST_SHOULDER, ELBOW = Drive(74.45, 7.7568, 0.606), Drive(42.75, 6.283, 0.222)
HEAD_WRIST = Drive(17.325, 9.1627, 0.111)
# fmt: off
LEG = (
    Row("hip_pitch", "base", "thigh_pitch", (0.0, 0.076867, -0.12355), Y, (-2.618, 2.618), HIP_KNEE,
        (-0.5236, 0.0, 0.0)),
    Row("hip_roll", "thigh_pitch", "thigh_roll", (-0.062, 0.0729, 0.0), X, (-0.59341, 1.5708), HIP_ROLL,
        (0.5236, 0.0, 0.0)),
    Row("hip_yaw", "thigh_roll", "thigh_yaw", (0.062, 0.0, -0.03495), Z, (-0.69813, 1.5708), HIP_YAW_ANKLE),
    Row("knee_pitch", "thigh_yaw", "shank_pitch", (0.0, 0.0, -0.34305), Y, (-0.087266, 2.3562), HIP_KNEE),
    Row("ankle_pitch", "shank_pitch", "foot_pitch", (0.0, 0.0, -0.406), Y, (-0.7854, 0.7854), HIP_YAW_ANKLE),
    Row("ankle_roll", "foot_pitch", "foot_roll", (0.0, 0.0, 0.0), X, (-0.38397, 0.38397), ANKLE_ROLL),
)
WAIST = Row("waist_yaw", "base", "waist_yaw", (0.0, 0.0, -0.0159), Z, (-2.618, 2.618), WAIST_SHOULDER)
HEAD = (
    Row("head_yaw", "torso", "head_yaw", (0.001, 0.0, 0.11061), Z, (-1.3963, 1.3963), HEAD_WRIST),
    Row("head_pitch", "head_yaw", "head_pitch", (0.0, 0.0, 0.044185), Y, (-0.5236, 0.5236), HEAD_WRIST),
)
ARM = (
    Row("shoulder_pitch", "torso", "upper_arm_pitch", (0.0, 0.15115, 0.0), Y, (-2.9671, 2.9671), WAIST_SHOULDER),
    Row("shoulder_roll", "upper_arm_pitch", "upper_arm_roll", (0.0, 0.078848, 0.0), X, (-0.5236, 2.7925),
        WAIST_SHOULDER),
    Row("shoulder_yaw", "upper_arm_roll", "upper_arm_yaw", (0.0, 0.0, -0.09438), Z, (-1.8326, 1.8326), ELBOW),
    Row("elbow_pitch", "upper_arm_yaw", "lower_arm_pitch", (0.0, 0.0, -0.16111), Y, (-1.5272, 0.47997), ELBOW,
        (0.0, -0.3926, 0.0)),
    Row("wrist_yaw", "lower_arm_pitch", "hand_yaw", (0.0, 0.0, -0.058525), Z, (-1.8326, 1.8326), HEAD_WRIST),
    Row("wrist_pitch", "hand_yaw", "hand_pitch", (0.0, 0.0, -0.16102), Y, (-0.61087, 0.61087), HEAD_WRIST),
    Row("wrist_roll", "hand_pitch", "hand_roll", (0.0, 0.0, 0.0), X, (-0.95993, 0.95993), HEAD_WRIST),
)
# fmt: on
ASYMMETRIC = {
    "right_shoulder_pitch_joint": {"pos_m": (0.0, -0.1585, 0.0)},
    "right_shoulder_roll_joint": {"pos_m": (0.0, -0.071498, 0.0)},
    "right_elbow_pitch_joint": {"rpy_rad": (0.0, -0.39265, 0.0)},
}
"""Joints of the right side that the maker's file has elsewhere than the mirror image of the left."""


_hinges = partial(
    body_rows.hinges,
    trunk={"base": "base_link", "torso": "torso_link"},
    asymmetric=ASYMMETRIC,
    source=URDF,
    damping_nms_rad=DAMPING_NMS_RAD,
    friction_nm=FRICTION_NM,
)

INERTIALS = TRUNK_INERTIALS | both_sides(ARM_INERTIALS) | both_sides(LEG_INERTIALS)
# Ref: the sequence is the one of the RobotData reference; the URDF's own order is another.
GROUPS = {
    "left_leg": _hinges(LEG, "left"),
    "right_leg": _hinges(LEG, "right"),
    "waist": _hinges((WAIST,)),
    "head": _hinges(HEAD),
    "left_manipulator": _hinges(ARM, "left"),
    "right_manipulator": _hinges(ARM, "right"),
}
JOINTS: tuple[Hinge | Fixed, ...] = (
    *GROUPS["left_leg"],
    *GROUPS["right_leg"],
    *GROUPS["waist"],
    fixed("torso", "waist_yaw", (0.0, 0.0, 0.39681)),
    *GROUPS["head"],
    fixed("camera", "head_pitch", (0.11296, 0.0, 0.09815)),
    *GROUPS["left_manipulator"],
    fixed("left_end_effector", "left_hand_roll", (0.0, 0.0, -0.045)),
    *GROUPS["right_manipulator"],
    fixed("right_end_effector", "right_hand_roll", (0.0, 0.0, -0.045)),
    fixed("imu", "base", (-0.059, 0.0, -0.068)),
)


def _gains(leg: str, waist: str, head: str, arm: str, source: str) -> Gains:
    return body_rows.gains((leg, leg, waist, head, arm, arm), source)


# fmt: off
GAINS = {
    "rl": _gains("90,180,120,90,30,60/19,10,9,19,5,3.5", "20/7", "30,30/2.4,2.4",
                 "45,45,25,25,10,10,10/4.5,4.5,2.5,2.5,.1,.1,.1", "Aurora SDK 1.1, SimpleLoco"),
    "client": _gains("200,200,120,200,90,120/20,20,12,20,9,12", "150/15", "30,30/2.4,2.4",
                     "90,90,90,90,10,10,10/9,9,9,9,.1,.1,.1", "Aurora SDK 1.1, client_usage"),
    "user_cmd": _gains("200,150,150,400,150,80/20,15,15,30,15,8", "200/10", "100,100/10,10",
                       "300,300,100,100,50,50,50/10,10,5,5,5,5,5", "Aurora SDK 1.3, UserCmd"),
}
# fmt: on

SOURCE = f"{URDF}: mass, centre and inertia; shape assumed"
GR2 = BodySpec(
    name="gr2",
    root="base_link",
    links=tuple(
        weighed_link(name, row, SOURCE, collision=COLLISION.get(name, ()), visuals=VISUALS[name])
        for name, row in INERTIALS.items()
    ),
    joints=JOINTS,
    groups={group: tuple(hinge.name for hinge in hinges) for group, hinges in GROUPS.items()},
    # The reference names no links for its parts; hips are taken as the links of the first hip joints.
    roles=Roles(
        feet=("left_foot_roll_link", "right_foot_roll_link"),
        hips=("left_thigh_pitch_link", "right_thigh_pitch_link"),
        hands=("left_end_effector_link", "right_end_effector_link"),
        base="base_link",
        head="head_pitch_link",
        torso="torso_link",
    ),
    # Ref: Aurora SDK, default_pos of GR-2.
    default_rad={
        f"{side}_{joint}_joint": angle
        for side in SIDES
        for joint, angle in (("hip_pitch", -0.1309), ("knee_pitch", 0.2618), ("ankle_pitch", -0.1309))
    },
    sole_m=SOLE_M,
    gains=GAINS,
    palette=PALETTE,
)
