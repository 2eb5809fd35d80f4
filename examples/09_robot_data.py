"""A controller of your own on a humanoid: read RobotData, command a group of joints, beside the balance.

A task has init, enter, execute and exit, as in the vendor's tutorial. All tasks of a tick see one consistent instant.
"""

import math

import thenar
from thenar.humanoid import BodyController, PdStandTask, RobotData, StateTasks, Task, WholeBody


class NodTask(Task):
    """Nods. It comes after the balance in every tick, so the head is its own."""

    period_s = 0.0025

    def execute(self, data: RobotData) -> None:
        """Yaw stays, pitch goes to and fro."""
        data.hardware_data.set_control_group_pos_cmd("head", [0.0, 0.2 * math.sin(3.0 * data.stamp_s)])


body = thenar.BodyWorld(hands=("inspire_left", "inspire_right"))
mine = StateTasks(tasks=(PdStandTask(), NodTask()))  # the legs balance while the head nods
twin = thenar.BodyTwin(body, BodyController(body.robot, states={WholeBody.UserController_A: mine}))
twin.controller.change(WholeBody.PdStand)
twin.advance(1.0)
twin.controller.change(WholeBody.UserController_A)

head = body.robot.body.index_of("head_pitch_joint")  # joints by name, never by a number in your head
for _ in range(5):
    twin.advance(0.4)
    data = body.robot
    feet_n = data.contact_data.contact_force[:, 2]
    print(
        f"{data.stamp_s:4.1f} s  head {data.hardware_data.state.q[head]:+.2f} rad  "
        f"centre of mass {data.kindyn_data.Pc[2]:.3f} m up  feet {feet_n[0]:.0f} N and {feet_n[1]:.0f} N"
    )
