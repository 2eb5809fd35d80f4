"""Calibration of a real hand's skin: what to record, a fit to the recording, its score, and a file to keep.

`plan` says what to record on a pad and `check` how far a recording has come; `read_recording` loads it, or
`make_recording` makes one up. `fit_pad` fits a pad and says what cannot be known, `score_pad` holds a calibration
against a recording, and `write_calibration` keeps it for `thenar.World` and ``thenar serve --skin``.
"""

from thenar.touch.calibrate.checklist import Progress as Progress
from thenar.touch.calibrate.checklist import check as check
from thenar.touch.calibrate.pad_fit import OPTIONAL_GROUPS as OPTIONAL_GROUPS
from thenar.touch.calibrate.press_recording import Recording as Recording
from thenar.touch.calibrate.press_recording import RecordingRows as RecordingRows
from thenar.touch.calibrate.press_recording import read_recording as read_recording
from thenar.touch.calibrate.press_recording import write_recording as write_recording
from thenar.touch.calibrate.procedure import PadResult as PadResult
from thenar.touch.calibrate.procedure import fit_pad as fit_pad
from thenar.touch.calibrate.protocol import Press as Press
from thenar.touch.calibrate.protocol import Step as Step
from thenar.touch.calibrate.protocol import plan as plan
from thenar.touch.calibrate.score import Score as Score
from thenar.touch.calibrate.score import score_pad as score_pad
from thenar.touch.calibrate.synthetic import make_recording as make_recording
from thenar.touch.sensor.calibration import Calibration as Calibration
from thenar.touch.sensor.calibration import PadCalibration as PadCalibration
from thenar.touch.sensor.calibration import load_calibration as load_calibration
from thenar.touch.sensor.calibration import write_calibration as write_calibration
