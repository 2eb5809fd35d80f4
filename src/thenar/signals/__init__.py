"""The values that flow between the rooms: small, frozen, stamped, in SI units and radians.

``stamp_s`` is the time of the measurement in seconds of the twin's clock. Vendor counts exist only in ``wire``. Every
signal pickles, prints, and compares by value.
"""

from thenar.arrays import FloatArray as FloatArray
from thenar.signals.body_signals import BodyReport as BodyReport
from thenar.signals.body_signals import BodyRequest as BodyRequest
from thenar.signals.body_signals import GroupCommand as GroupCommand
from thenar.signals.body_signals import GroupGains as GroupGains
from thenar.signals.body_signals import GroupReport as GroupReport
from thenar.signals.body_signals import ImuReading as ImuReading
from thenar.signals.body_signals import MotorReadings as MotorReadings
from thenar.signals.body_signals import MotorTargets as MotorTargets
from thenar.signals.body_signals import MoveRequest as MoveRequest
from thenar.signals.contact_signals import SOLID as SOLID
from thenar.signals.contact_signals import ContactSet as ContactSet
from thenar.signals.contact_signals import SolidContacts as SolidContacts
from thenar.signals.contact_signals import SolidKind as SolidKind
from thenar.signals.glove_frame import GloveFrame as GloveFrame
from thenar.signals.glove_frame import GloveSide as GloveSide
from thenar.signals.hand_signals import Closing as Closing
from thenar.signals.hand_signals import HandCommand as HandCommand
from thenar.signals.hand_signals import HandSettings as HandSettings
from thenar.signals.hand_signals import HandState as HandState
from thenar.signals.hand_signals import MotorError as MotorError
from thenar.signals.hand_signals import MotorStatus as MotorStatus
from thenar.signals.hand_signals import Request as Request
from thenar.signals.hand_signals import TorqueLaw as TorqueLaw
from thenar.signals.scene_signals import Pose as Pose
from thenar.signals.scene_signals import SceneRequest as SceneRequest
from thenar.signals.scene_signals import SceneState as SceneState
from thenar.signals.touch_frame import PadLayout as PadLayout
from thenar.signals.touch_frame import TouchFrame as TouchFrame
from thenar.signals.tracker_layouts import FINGER_INDEX as FINGER_INDEX
from thenar.signals.tracker_layouts import FINGER_NODES as FINGER_NODES
from thenar.signals.tracker_layouts import FINGERS as FINGERS
from thenar.signals.tracker_layouts import LAYOUT_OF as LAYOUT_OF
from thenar.signals.tracker_layouts import NODES as NODES
from thenar.signals.tracker_layouts import TRACKERS as TRACKERS
from thenar.signals.tracker_layouts import GloveLayout as GloveLayout
from thenar.signals.value import Value as Value
