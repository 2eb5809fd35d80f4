"""The person beside the robot, as a page and as a film."""

import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import thenar
from thenar.cli import main
from thenar.retarget.batch import retarget_recording, time_steps
from thenar.retarget.model.hand_model import build_model
from thenar.twin.reports.retarget_view import FAR_MM, FILM_FPS, Followed, film_follow, thumb_gap_mm, write_page


@pytest.fixture(scope="module")
def followed() -> Followed:
    log = thenar.make_log(("pinch_index",))
    model = build_model(thenar.hands.load("shadow_right"))
    angles = retarget_recording(model, log.finger_m, time_steps(log.stamp_s))
    seen = {"nodes_m": log.finger_m, "variable_rad": angles, "error_mm": np.linspace(0.0, 5.0, len(log))}
    return Followed(title="a <!-- <script> </script> title", model=model, time_s=log.stamp_s - log.stamp_s[0], **seen)


def test_the_page_has_both_hands_and_both_curves_over_time(followed: Followed, tmp_path: Path):
    write_page(tmp_path / "view.html", followed)
    text = (tmp_path / "view.html").read_text()
    found = re.search(r"const d = (\{.*?\}), c = document", text)
    assert found is not None
    data, frames = json.loads(found[1]), len(followed.time_s)
    assert [len(data[name]) for name in ("seconds", "person", "robot", "error", "gap")] == [frames] * 5
    assert (text.count("</script>"), text.count("<script"), text.count("<!--")) == (1, 1, 0)  # whatever it is called
    assert all(max(a, b) < len(data["robot"][0]) for a, b, _ in data["robotBones"])
    # Robot and person are seen in the same axes: their middle fingers point the same way in the open hand.
    person, robot = (np.array(data[name][0]) for name in ("person", "robot"))
    middle = [b for _, b, finger in data["robotBones"] if finger == 2]
    one, other = person[12] - person[9], robot[middle[-1]] - robot[middle[0]]
    assert one @ other > 0.95 * np.linalg.norm(one) * np.linalg.norm(other)


def test_contact_over_time_shows_the_pinch(followed: Followed):
    gap_mm = thumb_gap_mm(followed)
    assert gap_mm[0] == FAR_MM
    assert gap_mm.min() < 3.0
    assert gap_mm.min() > -1.0


def test_the_film_moves(followed: Followed, tmp_path: Path):
    av = pytest.importorskip("av")
    rows = np.array([0, 20, 40, 60])
    film_follow(tmp_path / "film.gif", replace(followed.every(rows), time_s=np.arange(4) / FILM_FPS))
    with av.open(str(tmp_path / "film.gif")) as film:
        pictures = [frame.to_ndarray(format="rgb24").astype(int) for frame in film.decode(video=0)]
    assert 3 <= len(pictures) <= 4
    person, robot = (np.abs(pictures[-1] - pictures[0])[:400, part].mean() for part in (slice(400), slice(400, 800)))
    assert person > 1.0
    assert robot > 1.0


def test_names_that_are_no_page_or_film_are_refused_before_anything_is_done(tmp_path: Path, capsys):
    for words, why in ((["--view", "a.png"], "ends in .html"), (["--film", "a.avi"], ".gif or .mp4")):
        with pytest.raises(SystemExit):
            main(["retarget", str(tmp_path / "person.csv"), *words])
        assert why in capsys.readouterr().err
