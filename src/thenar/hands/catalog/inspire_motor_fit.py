"""The lead-screw motors of the Inspire hands, fitted to what was measured on a real RH56DFX.

The spring between screw and finger (a linear and a cubic part), the stall force and the torque-speed droop
are fitted to the published table of force-stop peaks (correlllab/rh56_controller, arXiv 2603.08988: middle
finger, rigid contact, 7 speeds x 5 limits, 20 trials a cell). One reported count is one gram-force.

The same table is taken for the RH56DFTP, for which nobody has published one: equal speed and limit counts
then give equal peaks, and the drive gives at least 1.1 times the limit so that the 3000 g of its manual are
reached.
"""

from __future__ import annotations

from thenar.hands.spec import LeadScrew
from thenar.units import GRAM_FORCE_N

MEASURED = "correlllab/rh56_controller, arXiv 2603.08988"

# Fit of F = a x + b x^3 [counts], x = screw travel past contact in (speed counts x seconds).
SPRING_A = 4.342
SPRING_B = 0.01941
STALL_COUNTS = 1678.0
REACTION_S = 0.066  # the measured latency; the sheet's "60 to 70 ms"
TOP_SPEED_COUNTS = 1000.0

# Real newtons per count, and fingertip travel per radian of the motor joint at mid stroke [m] of RH56DFTP and RH56DFX.
# Ref: linear fits N = slope * counts of a single hand's index, middle and thumb bend; ring and little were not measured
# and take the mean of index and middle. Levers: the hands' own kinematics, but the rotation's at zero bend, which is of
# rh56_controller. Of the fits' offsets only the index finger's is used: the middle finger's (0.018 N) is within the
# noise, and the thumb's (0.384 N) has one sign in the paper and the other in the program.
_MOTORS = {
    "little": (0.006965, 0.1148, 0.1033),
    "ring": (0.006965, 0.1352, 0.1196),
    "middle": (0.006452, 0.1424, 0.1257),
    "index": (0.007478, 0.1352, 0.1197),
    "thumb_bend": (0.012547, 0.1677, 0.1778),
    "thumb_rotation": (GRAM_FORCE_N, 0.0919, 0.0919),
}
_OFFSET_N = {"index": 0.414}  # N = slope * counts - this, from 102 counts on

IDLE_A = 0.2 / 6  # Ref: RH56DFTP manual, whole hand at 24 V: idle 0.2 A,
FREE_A = 1.2 / 6  # free motion 1.2 A on average,
GRIP_A = 4.5 / 6  # largest grip 4.5 A.


def _motor(
    name: str, *, full_stroke_s: float, lever_m: float, force_max_n: float, grip_n: float, source: str
) -> LeadScrew:
    newton_per_reported = _MOTORS[name][0] / GRAM_FORCE_N
    # Travel per full stroke in (speed counts x seconds) turns the fit into "per stroke".
    stroke = TOP_SPEED_COUNTS * full_stroke_s
    return LeadScrew(
        full_stroke_s=full_stroke_s,
        latency_s=0.054,  # with the 12 ms in which the finger gets going: first motion after 66 ms, as measured
        latency_spread_s=0.0022,  # p90 is 3 ms and p99 4 ms above the median
        reaction_s=REACTION_S,
        stop_s=0.010,  # from the same fit: the motor brakes at once
        stiffness_n=SPRING_A * stroke * GRAM_FORCE_N,
        stiffening_n=SPRING_B * stroke**3 * GRAM_FORCE_N,
        stall_n=STALL_COUNTS * GRAM_FORCE_N,
        stall_over_limit=1.1,
        lever_m=lever_m,
        newton_per_reported=newton_per_reported,
        loaded_offset_n=_OFFSET_N.get(name, 0.0) / newton_per_reported,
        force_max_n=force_max_n,
        default_force_n=1000 * GRAM_FORCE_N,
        damping_nms_rad=0.02,  # assumed: about critical for the lightest finger
        idle_a=IDLE_A,
        drive_a=FREE_A - IDLE_A,
        amps_per_n=(GRIP_A - FREE_A) / grip_n,
        current_limit_a=1.5,  # assumed: twice the largest grip; CURRENT is reported up to 2 A
        # Heat: no public figure. Free motion warms by 10 C; stalls at the default limit trip within two minutes.
        heating_c_per_a2=250.0,
        cooling_s=60.0,
        trip_c=70.0,
        recover_c=60.0,
        angle_noise=0.002,  # "a few counts" of 1000 at rest
        force_noise_n=5 * GRAM_FORCE_N,  # assumed: half of the manual's 0.1 N resolution
        zeroing_s=10.0,  # register 1009 takes "6 to 15 s"
        source=source,
    )


FTP_MOTORS = {
    name: _motor(
        name,
        full_stroke_s=0.6,  # Ref: RH56DFTP manual, speed 1000
        lever_m=lever,
        force_max_n=3000 * GRAM_FORCE_N,  # Ref: RH56DFTP manual, FORCE_SET 0..3000 g
        grip_n=3000 * GRAM_FORCE_N,
        source=f"RH56DFTP manual (stroke time, force, current); {MEASURED} (latency, force stop, N per count)",
    )
    for name, (_, lever, _) in _MOTORS.items()
}

DFX_MOTORS = {
    name: _motor(
        name,
        full_stroke_s=0.8,  # often quoted for the DFX generation; no public manual confirms it
        lever_m=lever,
        force_max_n=1000 * GRAM_FORCE_N,  # Ref: DFX register map, FORCE_SET 0..1000 g
        grip_n=STALL_COUNTS * GRAM_FORCE_N,
        source=f"DFX register map (force); RH56DFTP manual (current); {MEASURED} (latency, force stop)",
    )
    for name, (_, _, lever) in _MOTORS.items()
}
