"""A made-up hand of two fingers that close towards each other: what a new hand needs, in one file.

Frame of ``base``: z out of the palm, which is the plate's upper face, y towards the left finger. A finger stands on the
plate and bends about its own x; its pad looks at the other finger. Every number is invented.
"""

from thenar.hands.catalog.rows import DRIVEN, NO_TURN, X, actuator, hinge
from thenar.hands.shapes import Box, Capsule, Loft
from thenar.hands.spec import HandSpec, Link, Pad, Palette, PalmFrame, Servo, Tip

MADE_UP = "made up for the tests"
PLATE_M = 0.01
# Finger: place of its root along y [m], and which way it bends.
FINGERS = {"left": (0.025, 1.0), "right": (-0.025, -1.0)}

SERVO = Servo(
    stiffness_nm_rad=2.0, damping_nms_rad=0.02, top_speed_rad_s=3.0, effort_nm=1.0, lever_m=0.07, source=MADE_UP
)

HAND = HandSpec(
    name="pincer",
    maker="nobody",
    model="Pincer",
    side="none",
    summary="Two motors, two fingers, a pad on each.",
    root="base",
    links=(
        Link(
            name="base",
            mass_kg=0.2,
            source=MADE_UP,
            skin=Box(centre_m=(0.0, 0.0, PLATE_M / 2), half_m=(0.02, 0.04, PLATE_M / 2)),
            visuals=(
                Loft.through(X, (0.0, -0.04, 0.005, 0.02, 0.005), (0.0, 0.04, 0.005, 0.02, 0.005), squareness=4.0),
            ),
        ),
        *(
            Link(
                name=finger,
                mass_kg=0.03,
                source=MADE_UP,
                skin=Capsule(start_m=(0.0, 0.0, 0.01), end_m=(0.0, 0.0, 0.07), radius_m=0.008),
            )
            for finger in FINGERS
        ),
    ),
    joints=tuple(
        hinge(finger, "base", finger, (0.0, y, PLATE_M), NO_TURN, (bend, 0.0, 0.0), 0.0, 0.6, MADE_UP, **DRIVEN)
        for finger, (y, bend) in FINGERS.items()
    ),
    actuators=tuple(actuator(finger, finger, 0.6, SERVO) for finger in FINGERS),
    pads=tuple(
        Pad(
            name=f"{finger}_pad",
            link=finger,
            rows=6,
            cols=4,
            row_pitch_m=0.005,
            col_pitch_m=0.003,
            chart="cylinder",
            centre_m=(0.0, -bend * 0.008, 0.05),
            row_axis=(0.0, 0.0, -1.0),
            normal=(0.0, -bend, 0.0),
            source=MADE_UP,
        )
        for finger, (_, bend) in FINGERS.items()
    ),
    tips=tuple(Tip(finger=finger, link=finger, pos_m=(0.0, 0.0, 0.078)) for finger in FINGERS),
    palm=PalmFrame(pos_m=(0.0, 0.0, PLATE_M), rpy_rad=(0.0, 0.0, 0.0)),
    palette=Palette(body=(0.3, 0.3, 0.3), skin=(0.8, 0.8, 0.8), dark=(0.1, 0.1, 0.1)),
    no_contact=(("base", "left"), ("base", "right")),
    poses={"open": (0.0, 0.0), "fist": (1.0, 1.0)},
)
