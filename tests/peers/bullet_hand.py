"""PyBullet with exported hands: each hangs on its fixed root for some seconds, its motors off. No thenar here.

``python bullet_hand.py SECONDS FILE...`` prints JSON: by file how far beyond its range a joint was at most [rad], and
the largest speed in the last tenth of the time [rad/s].
"""

import json
import math
import sys

import pybullet

STEP_S = 1e-3


def hang(path: str, seconds: float) -> tuple[float, float]:
    pybullet.connect(pybullet.DIRECT)
    pybullet.setTimeStep(STEP_S)
    pybullet.setGravity(0.0, 0.0, -9.81)
    body = pybullet.loadURDF(path, useFixedBase=True, flags=pybullet.URDF_USE_INERTIA_FROM_FILE)
    infos = [pybullet.getJointInfo(body, joint) for joint in range(pybullet.getNumJoints(body))]
    moving = [(info[0], info[8], info[9]) for info in infos if info[2] != pybullet.JOINT_FIXED]
    for joint, _, _ in moving:
        pybullet.setJointMotorControl2(body, joint, pybullet.VELOCITY_CONTROL, force=0.0)
    beyond, speed, steps = 0.0, 0.0, round(seconds / STEP_S)
    for step in range(steps):
        pybullet.stepSimulation()
        if step % 5 == 0:
            for joint, lower, upper in moving:
                q, qd = pybullet.getJointState(body, joint)[:2]
                beyond = max(beyond, lower - q, q - upper) if math.isfinite(q) else math.inf
                speed = max(speed, abs(qd)) if step > 0.9 * steps else speed
    pybullet.disconnect()
    return beyond, speed


if __name__ == "__main__":
    print(json.dumps({path: hang(path, float(sys.argv[1])) for path in sys.argv[2:]}))
