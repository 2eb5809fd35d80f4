"""Unitree G1 with 29 joints (``mode_machine`` 5): 33.0 kg without hands, 33.3 kg with its rubber ones.

Frame of ``pelvis``: x forward, y left, z up, its origin at the waist's yaw axis. Every number of the tables is from
the maker's URDF g1_29dof_rev_1_0; armatures are those of mjlab and MuJoCo Menagerie. Tables of arms and legs are those
of the left side; the right side is its mirror image but for `ASYMMETRIC`. Shapes are in `g1_shapes`.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from math import atan, degrees, pi

from thenar.hands.catalog.rows import Inertial, X, Y, Z, weighed_link
from thenar.hands.spec import Link
from thenar.humanoid.model import body_rows
from thenar.humanoid.model.body_rows import Drive, Row, both_sides
from thenar.humanoid.model.body_spec import BodySpec, Eye, Fixed, HandFlange, Hinge, Roles
from thenar.humanoid.model.g1_shapes import COLLISION, PALETTE, SOLE_M, VISUALS

URDF = "maker's URDF g1_29dof_rev_1_0"
# Not published. The maker's simulator has 0.05 N m s/rad and 0.2 N m; at an arm's stiffness those are 2.5 mrad.
DAMPING_NMS_RAD = FRICTION_NM = 0.0
SIDES = ("left", "right")
MODE_MACHINE = 5
"""How the robot calls this model of itself."""
STANDING_RAD = {
    f"{side}_{joint}_joint": angle
    for side in SIDES
    for joint, angle in (("hip_pitch", -0.14), ("knee", 0.3), ("ankle_pitch", -0.16))
}
"""Pose in which it stands on its feet: the home of MuJoCo Menagerie's model, leaning back until its centre of mass is
over the middle of its soles."""

# fmt: off
TRUNK_INERTIALS: dict[str, Inertial] = {
    "pelvis": (3.813, (0.0, 0.0, -0.07605), (0.010549, 0.0093089, 0.0079184, 0.0, 2.1e-06, 0.0)),
    "pelvis_contour_link": (0.001, (0.0, 0.0, 0.0), (1e-07, 1e-07, 1e-07, 0.0, 0.0, 0.0)),
    "waist_yaw_link": (0.214, (0.003494, 0.000233, 0.018034),
                       (0.00010673, 0.00010422, 0.0001625, 2.703e-06, -7.631e-06, -2.01e-07)),
    "waist_roll_link": (0.086, (0.0, 2.3e-05, 0.0), (7.079e-06, 6.339e-06, 8.245e-06, 0.0, 0.0, 0.0)),
    "torso_link": (6.78, (0.000931, 0.000346, 0.15082),
                   (0.05905, 0.047014, 0.025652, 3.3302e-05, -0.0017715, -2.2399e-05)),
    "logo_link": (0.001, (0.0, 0.0, 0.0), (1e-07, 1e-07, 1e-07, 0.0, 0.0, 0.0)),
    "head_link": (1.036, (0.005267, 0.000299, 0.449869),
                  (0.004085051, 0.004185212, 0.001807911, -2.543e-06, -6.9455e-05, -3.726e-06)),
}
LEG_INERTIALS: dict[str, Inertial] = {
    "hip_pitch_link": (1.35, (0.002741, 0.047791, -0.02606),
                       (0.001811, 0.0014193, 0.0012812, 3.68e-05, -3.44e-05, 0.000171)),
    "hip_roll_link": (1.52, (0.029812, -0.001045, -0.087934),
                      (0.0023773, 0.0024123, 0.0016595, -3.8e-06, -0.0003908, 1.84e-05)),
    "hip_yaw_link": (1.702, (-0.057709, -0.010981, -0.15078),
                     (0.0057774, 0.0076124, 0.003149, -0.0005411, -0.0023948, -0.0007072)),
    "knee_link": (1.932, (0.005457, 0.003964, -0.12074),
                  (0.011329, 0.011277, 0.0015168, 4.82e-05, -4.49e-05, -0.0007146)),
    "ankle_pitch_link": (0.074, (-0.007269, 0.0, 0.011137), (8.4e-06, 1.89e-05, 1.26e-05, 0.0, -2.9e-06, 0.0)),
    "ankle_roll_link": (0.608, (0.026505, 0.0, -0.016425),
                        (0.0002231, 0.0016161, 0.0016667, 2e-07, 8.91e-05, -1e-07)),
}
ARM_INERTIALS: dict[str, Inertial] = {
    "shoulder_pitch_link": (0.718, (0.0, 0.035892, -0.011628),
                            (0.0004291, 0.000453, 0.000423, -9.2e-06, 6.4e-06, 2.26e-05)),
    "shoulder_roll_link": (0.643, (-0.000227, 0.00727, -0.063243),
                           (0.0006177, 0.0006912, 0.0003894, -1e-06, 8.7e-06, -5.3e-06)),
    "shoulder_yaw_link": (0.734, (0.010773, -0.002949, -0.072009),
                          (0.0009988, 0.0010605, 0.0004354, 7.9e-06, 0.0001412, -2.86e-05)),
    "elbow_link": (0.6, (0.064956, 0.004454, -0.010062),
                   (0.0002891, 0.0004152, 0.0004197, 6.53e-05, 1.72e-05, -5.6e-06)),
    "wrist_roll_link": (0.08544498, (0.01713944778, 0.00053759094, 4.8864e-07),
                        (4.821544023e-05, 3.722899093e-05, 5.482106541e-05, -4.24511021e-06, 5.10599e-09,
                         -1.23525e-09)),
    "wrist_pitch_link": (0.48404956, (0.02299989837, -0.00111685314, -0.00111658096),
                         (0.00016579646273, 0.0004295405741, 0.00042953697654, -1.231206746e-05, 1.231699194e-05,
                          8.1417712e-07)),
    "wrist_yaw_link": (0.08457647, (0.02200381568, 0.00049485096, 0.00053861123),
                       (4.929128828e-05, 5.973338134e-05, 3.928083826e-05, -4.5735494e-07, 4.45867591e-06,
                        4.3217198e-07)),
}
RUBBER_HAND: dict[str, Inertial] = {
    "rubber_hand": (0.17, (0.05361310808, -0.0029590524, 0.00215413091),
                    (0.00010099485234748, 0.00028135871571621, 0.00021894770413514, 3.618590790516e-05,
                     -7.4301518642e-07, 3.30189743286e-06)),
}

# Names are those of the motors. Of the parallel joints the maker's MJCF has 50 N m, its URDF 35.
M7520_14, M7520_22 = Drive(88.0, 32.0, 0.01017752004), Drive(139.0, 20.0, 0.025101925)
TWO_5020, M5020, M4010 = Drive(35.0, 30.0, 0.00721945), Drive(25.0, 37.0, 0.003609725), Drive(5.0, 22.0, 0.00425)
LEG = (
    Row("hip_pitch", "pelvis", "hip_pitch", (0.0, 0.064452, -0.1027), Y, (-2.5307, 2.8798), M7520_14),
    Row("hip_roll", "hip_pitch", "hip_roll", (0.0, 0.052, -0.030465), X, (-0.5236, 2.9671), M7520_22,
        (0.0, -0.1749, 0.0)),
    Row("hip_yaw", "hip_roll", "hip_yaw", (0.025001, 0.0, -0.12412), Z, (-2.7576, 2.7576), M7520_14),
    Row("knee", "hip_yaw", "knee", (-0.078273, 0.0021489, -0.17734), Y, (-0.087267, 2.8798), M7520_22,
        (0.0, 0.1749, 0.0)),
    Row("ankle_pitch", "knee", "ankle_pitch", (0.0, -9.4445e-05, -0.30001), Y, (-0.87267, 0.5236), TWO_5020),
    Row("ankle_roll", "ankle_pitch", "ankle_roll", (0.0, 0.0, -0.017558), X, (-0.2618, 0.2618), TWO_5020),
)
WAIST = (
    Row("waist_yaw", "pelvis", "waist_yaw", (0.0, 0.0, 0.0), Z, (-2.618, 2.618), M7520_14),
    Row("waist_roll", "waist_yaw", "waist_roll", (-0.0039635, 0.0, 0.044), X, (-0.52, 0.52), TWO_5020),
    Row("waist_pitch", "waist_roll", "torso", (0.0, 0.0, 0.0), Y, (-0.52, 0.52), TWO_5020),
)
ARM = (
    Row("shoulder_pitch", "torso", "shoulder_pitch", (0.0039563, 0.10022, 0.24778), Y, (-3.0892, 2.6704), M5020,
        (0.27931, 5.4949e-05, -0.00019159)),
    Row("shoulder_roll", "shoulder_pitch", "shoulder_roll", (0.0, 0.038, -0.013831), X, (-1.5882, 2.2515), M5020,
        (-0.27925, 0.0, 0.0)),
    Row("shoulder_yaw", "shoulder_roll", "shoulder_yaw", (0.0, 0.00624, -0.1032), Z, (-2.618, 2.618), M5020),
    Row("elbow", "shoulder_yaw", "elbow", (0.015783, 0.0, -0.080518), Y, (-1.0472, 2.0944), M5020),
    Row("wrist_roll", "elbow", "wrist_roll", (0.1, 0.00188791, -0.01), X, (-1.972222054, 1.972222054), M5020),
    Row("wrist_pitch", "wrist_roll", "wrist_pitch", (0.038, 0.0, 0.0), Y, (-1.614429558, 1.614429558), M4010),
    Row("wrist_yaw", "wrist_pitch", "wrist_yaw", (0.046, 0.0, 0.0), Z, (-1.614429558, 1.614429558), M4010),
)
ASYMMETRIC = {"right_shoulder_pitch_joint": {"pos_m": (0.0039563, -0.10021, 0.24778)}}
"""Joints of the right side that the maker's file has elsewhere than the mirror image of the left."""
INERTIALS = TRUNK_INERTIALS | both_sides(LEG_INERTIALS) | both_sides(ARM_INERTIALS) | {
    # The mirror image of the left would have ixz -4.49e-05.
    "right_knee_link": (1.932, (0.005457, -0.003964, -0.12074),
                        (0.011329, 0.011277, 0.0015168, -4.82e-05, 4.49e-05, 0.0007146)),
}

# Ref: the maker's robots with each hand. Poses of the hand's root on the last link of the arm, left and right.
MOUNTS: dict[str, tuple[HandFlange, HandFlange]] = {
    "dex3": (HandFlange((0.0415, 0.003, 0.0)), HandFlange((0.0415, -0.003, 0.0))),
    # The maker's URDF of the whole robot has the gripper's own frame turned: its fingers are along x.
    "dex1": (HandFlange((0.0415, 0.0, 0.0), (0.0, 0.0, -pi / 2)), HandFlange((0.0415, 0.0, 0.0), (0.0, 0.0, -pi / 2))),
    "inspire_dfx": (HandFlange((0.0415, 0.0, 0.0), (0.0, 0.0, pi / 2)),
                    HandFlange((0.0415, 0.0, 0.0), (pi, 0.0, -pi / 2))),
    "inspire": (HandFlange((0.0415, 0.0, 0.0), (pi, -pi / 2, 0.0)), HandFlange((0.0415, 0.0, 0.0), (0.0, pi / 2, 0.0))),
    # On an adapter of 17.6 mm.
    "brainco": (HandFlange((0.0591, 0.0, 0.0), (-pi / 2, 0.0, -pi / 2)),
                HandFlange((0.0591, 0.0, 0.0), (pi / 2, 0.0, pi / 2))),
}
# fmt: on

# Ref: Unitree's simulator: focal lengths over apertures of 20, at 4:3. Its wrist cameras hang in a frame of their own,
# which is not published; taken here: the last link of the arm, looking 29 degrees down as they do there.
HEAD_FOVY_DEG, WRIST_FOVY_DEG = (degrees(2 * atan(0.75 * 10.0 / focal)) for focal in (7.6, 12.0))
ALONG_X, ALONG_X_DOWN = (0.5, 0.5, -0.5, -0.5), (0.60902, 0.35929, -0.35929, -0.60902)
EYES = {
    "head": Eye("d435_link", (0.0, 0.0, 0.0), ALONG_X, HEAD_FOVY_DEG),
    "left_wrist": Eye("left_wrist_yaw_link", (-0.04012, -0.07441, 0.15711), ALONG_X_DOWN, WRIST_FOVY_DEG),
    "right_wrist": Eye("right_wrist_yaw_link", (-0.04012, 0.07441, 0.15711), ALONG_X_DOWN, WRIST_FOVY_DEG),
}

_hinges = partial(
    body_rows.hinges,
    trunk={"pelvis": "pelvis", "torso": "torso_link"},
    asymmetric=ASYMMETRIC,
    source=URDF,
    damping_nms_rad=DAMPING_NMS_RAD,
    friction_nm=FRICTION_NM,
)
GROUPS = {
    "left_leg": _hinges(LEG, "left"),
    "right_leg": _hinges(LEG, "right"),
    "waist": _hinges(WAIST),
    "left_manipulator": _hinges(ARM, "left"),
    "right_manipulator": _hinges(ARM, "right"),
}
"""In the order of the motors in the robot's messages."""
JOINTS: tuple[Hinge | Fixed, ...] = (
    *GROUPS["left_leg"],
    *GROUPS["right_leg"],
    *GROUPS["waist"],
    Fixed(name="pelvis_contour_joint", parent="pelvis", child="pelvis_contour_link", pos_m=(0.0, 0.0, 0.0)),
    body_rows.fixed("logo", "torso", (0.0039635, 0.0, -0.044)),
    body_rows.fixed("head", "torso", (0.0039635, 0.0, -0.044)),
    Fixed(name="imu_in_pelvis_joint", parent="pelvis", child="imu_in_pelvis", pos_m=(0.04525, 0.0, -0.08339)),
    Fixed(name="imu_in_torso_joint", parent="torso_link", child="imu_in_torso", pos_m=(-0.03959, -0.00224, 0.14792)),
    body_rows.fixed("d435", "torso", (0.0576235, 0.01753, 0.42987), (0.0, 0.8307767239493009, 0.0)),
    body_rows.fixed("mid360", "torso", (0.0002835, 3e-05, 0.428434), (pi, 0.05112069379091391, 0.0)),
    *GROUPS["left_manipulator"],
    *GROUPS["right_manipulator"],
)

GAINS = {
    "low_level": body_rows.gains(
        ("60,60,60,100,40,40/1,1,1,2,1,1",) * 2 + ("60,40,40/1,1,1",) + ("40,40,40,40,40,40,40/1,1,1,1,1,1,1",) * 2,
        "unitree_sdk2_python, g1_low_level_example",
    ),
    "teleop": body_rows.gains(
        ("300,300,300,300,80,300/3,3,3,3,3,3",) * 2
        + ("300,300,300/3,3,3",)
        + ("80,80,80,80,40,40,40/3,3,3,3,1.5,1.5,1.5",) * 2,
        "xr_teleoperate, G1_29_ArmController",
    ),
}


def _links(inertials: dict[str, Inertial]) -> tuple[Link, ...]:
    source = f"{URDF}: mass, centre and inertia; shape drawn into the boxes of its meshes"
    return tuple(
        weighed_link(name, row, source, collision=COLLISION.get(name, ()), visuals=VISUALS.get(name, ()))
        for name, row in inertials.items()
    )


G1 = BodySpec(
    name="g1",
    root="pelvis",
    links=_links(INERTIALS),
    joints=JOINTS,
    groups={group: tuple(hinge.name for hinge in hinges) for group, hinges in GROUPS.items()},
    roles=Roles(
        feet=("left_ankle_roll_link", "right_ankle_roll_link"),
        hips=("left_hip_pitch_link", "right_hip_pitch_link"),
        hands=("left_wrist_yaw_link", "right_wrist_yaw_link"),
        base="pelvis",
        head="head_link",
        torso="torso_link",
    ),
    default_rad={},
    sole_m=SOLE_M,
    gains=GAINS,
    palette=PALETTE,
    mounts={f"{hand}_{side}": pair[n] for hand, pair in MOUNTS.items() for n, side in enumerate(SIDES)},
    fingers_along=X,
    flange_m=0.0415,
    imus=("imu_in_pelvis", "imu_in_torso"),
    eyes=EYES,
)
"""Without hands."""

G1_RUBBER = replace(
    G1,
    links=(*G1.links, *_links(both_sides(RUBBER_HAND))),
    joints=(
        *G1.joints,
        *(
            Fixed(
                name=f"{side}_hand_palm_joint",
                parent=f"{side}_wrist_yaw_link",
                child=f"{side}_rubber_hand",
                pos_m=(0.0415, y, 0.0),
            )
            for side, y in (("left", 0.003), ("right", -0.003))
        ),
    ),
)
"""With the rubber hands it has where no other ones are."""
