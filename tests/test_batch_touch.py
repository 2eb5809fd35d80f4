"""Touch of many worlds: the GPU's own code, run by an emulator, beside the CPU's answers on the same contacts."""

import shutil
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import thenar
from thenar import batch, hands
from thenar.batch.device import without_visuals
from thenar.errors import BadValue
from thenar.touch.sensor.calibration import profile_of

wp = pytest.importorskip("warp", reason="the extra gpu is not installed")
if shutil.which("g++") is None:
    pytest.skip("no C++ compiler for the emulator", allow_module_level=True)

from bench.gpu_frames import HAND, Frames, Kind, device_data, press_world, random_frames  # noqa: E402
from tests.gpu_emulator import EmulatedTouch  # noqa: E402
from thenar.batch.touch.device_touch import Solver, Touch  # noqa: E402
from thenar.batch.touch.skin_tables import inverse_stencils, skin_tables  # noqa: E402
from thenar.batch.touch.window_kernels import neighbors_kernel, solve_kernel  # noqa: E402


def emulated(
    frames: Frames, folder: Path, hand: str = HAND, *, kind: Kind = "curved", form: type[EmulatedTouch] = EmulatedTouch
) -> EmulatedTouch:
    spec = without_visuals(hands.load(hand))
    return form(press_world(spec, kind)[0].model, spec, *device_data(frames, 0, device="cpu"), folder=folder)


def errors(touch: Touch, frames: Frames, steps: int = 3) -> list[float]:
    """Of the worst world at every step."""
    worst = []
    for step in range(steps):
        touch._m, touch._d = device_data(frames, step, device="cpu")
        touch.update()
        worst.append(float(error(touch, frames, step).max()))
    return worst


def error(touch: Touch, frames: Frames, step: int) -> np.ndarray:
    got, want = touch.arrays.pressure_pa.numpy(), frames["pressure_pa"][:, step]
    return np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)


def test_curved_objects_on_every_link_are_felt_as_on_the_cpu(tmp_path: Path):
    frames = random_frames(1, 3)
    touch = emulated(frames, tmp_path)
    for step in range(3):  # new windows, then lasting ones
        touch._m, touch._d = device_data(frames, step, device="cpu")
        touch.update()
        assert error(touch, frames, step).max() < 1e-3
        force_n = frames["force"][:, step, :, 0].sum(axis=1)
        np.testing.assert_allclose(touch.arrays.contact_n.numpy(), force_n, rtol=1e-5)
        pads, bare = touch.arrays.pad_force_n.numpy(), touch.arrays.bare_skin_n.numpy()
        np.testing.assert_allclose(pads.sum(axis=1) + bare, force_n, rtol=1e-5)
        np.testing.assert_allclose(pads, frames["pad_force_n"][:, step], atol=2e-3)
        shear, rub = touch.arrays.shear_pa.numpy(), frames["shear_pa"][:, step]
        assert np.linalg.norm(shear - rub) < 1e-3 * np.linalg.norm(rub)
        assert not touch.flags.numpy().any()
        counts = frames["counts"][:, step]
        np.testing.assert_allclose(touch.arrays.counts.numpy(), counts, rtol=2e-3, atol=2.0)
    assert touch.queued.numpy()[2] < 2, "lasting windows should not be laid anew"
    # The order in which contacts arrive is chance; what is felt is the same to the bit.
    felt = touch.arrays.pressure_pa.numpy().copy()
    again = emulated(frames, tmp_path)
    for step in range(3):
        again._m, d = device_data(frames, step, device="cpu")
        order = np.random.default_rng(step).permutation(d.contact.pos.shape[0])
        for name in ("pos", "frame", "geom", "efc_address", "worldid", "geomcollisionid"):
            array = getattr(d.contact, name)
            array.assign(array.numpy()[order])
        again._d = d
        again.update()
    np.testing.assert_array_equal(again.arrays.pressure_pa.numpy(), felt)


def test_barometers_feel_stress_under_the_rubber_as_on_the_cpu(tmp_path: Path):
    frames = random_frames(1, 6, hand="reflex")
    touch = emulated(frames, tmp_path, "reflex")
    touch.update()
    got, want = touch.arrays.stress_pa.numpy()[0], frames["stress_pa"][0, 0]
    # A capsule and a cylinder reach beyond the narrow fingers: edges cut their patches.
    across = {"finger_1_proximal", "finger_2_distal", "finger_2_tip"}
    cut = np.concatenate([np.full(pad.taxels, pad.name in across) for pad in hands.load("reflex").pads])
    assert touch.flags.numpy()[0] == 0
    assert touch.queued.numpy()[10] == 3
    assert want[~cut].max() > 1e4
    np.testing.assert_allclose(got[~cut], want[~cut], rtol=1e-3, atol=1.0)
    np.testing.assert_allclose(got[cut], want[cut], atol=2e-3 * want.max())
    np.testing.assert_allclose(touch.arrays.counts.numpy()[0], np.round(got), atol=1.0)
    touch.forget(wp.ones(1, dtype=bool, device="cpu"))
    assert not touch.arrays.stress_pa.numpy().any()


def test_a_frame_after_a_past_was_forgotten_leaves_nothing_of_what_was_put_back(tmp_path: Path):
    touch = emulated(random_frames(1, 3), tmp_path)
    touch.update()
    pressed = touch.arrays.pressure_pa.numpy().copy()
    assert pressed.any()
    touch._d.nacon.zero_()
    for _ in range(2):
        touch.update()
    touch.forget(wp.ones(1, dtype=bool, device="cpu"))
    touch.arrays.pressure_pa.assign(pressed)  # as worlds that are restored have it
    touch.update()
    assert not touch.arrays.pressure_pa.numpy().any()


def test_windows_are_laid_on_edges_as_on_the_cpu(tmp_path: Path):
    frames = random_frames(1, 7, kind="edged")
    touch = emulated(frames, tmp_path, kind="edged")
    assert max(errors(touch, frames)) < 1e-2
    assert touch.queued.numpy()[9] > 4, "blocks and standing cylinders have edges"
    assert not touch.flags.numpy().any()
    touch.update()  # where nothing moves edges are not looked for again
    assert error(touch, frames, 2).max() < 1e-2

    class WithoutEdges(EmulatedTouch):
        def solve(self, solver: Solver) -> None:
            if not solver.edged:
                super().solve(solver)

    assert errors(emulated(frames, tmp_path, kind="edged", form=WithoutEdges), frames, 1)[0] > 2e-2


def test_meshes_are_felt_as_on_the_cpu(tmp_path: Path):
    frames = random_frames(1, 5, kind="hulls")
    touch = emulated(frames, tmp_path, kind="hulls")
    assert max(errors(touch, frames)) < 1e-2
    assert not touch.flags.numpy().any()
    without = emulated(frames, tmp_path, kind="hulls")
    without._skin["first_part"].zero_()  # a body without shapes
    assert errors(without, frames, 1)[0] > 0.5
    assert without.flags.numpy()[0] == batch.Flag.POINT


def test_patches_close_together_make_room_as_on_the_cpu(tmp_path: Path):
    frames = random_frames(1, 9, kind="crowded")
    touch = emulated(frames, tmp_path, kind="crowded")
    new, *lasting = errors(touch, frames)
    assert new < 1e-4
    assert max(lasting) < 2e-3
    assert not touch.flags.numpy().any()

    class Alone(EmulatedTouch):
        def make_room(self) -> None:
            pass

    assert errors(emulated(frames, tmp_path, kind="crowded", form=Alone), frames, 1)[0] > 5e-2


@pytest.mark.soak
def test_objects_that_lie_on_two_points_lean_as_on_the_cpu(tmp_path: Path):
    frames = random_frames(2, 5, kind="lying")
    touch = emulated(frames, tmp_path)
    assert max(errors(touch, frames)) < 1e-3


def test_without_a_gpu_the_solver_of_one_world_feels_every_world():
    frames = random_frames(1, 4)
    spec = without_visuals(hands.load(HAND))
    m, d = device_data(frames, 0, device="cpu", repeat=2)
    model = press_world(spec)[0].model
    model.geom_size[:] = frames["geom_size"][0, 0]
    touch = Touch(model, spec, m, d)
    touch.update()
    np.testing.assert_allclose(touch.arrays.pressure_pa.numpy()[1], frames["pressure_pa"][0, 0], rtol=1e-3, atol=50.0)


def test_kernels_compile_for_a_gpu_that_is_not_there(tmp_path: Path):
    options = {"next_grid": 0, "slot": 576, "iterations": 3, "hulls": True}
    for kernel in (
        solve_kernel(14, cold=False, leans=False, edged=False, **options),
        solve_kernel(24, cold=False, leans=True, edged=True, **options),
        neighbors_kernel(24, hulls=True, slot=576),
    ):
        wp.compile_aot_module(kernel.module, arch=90, module_dir=tmp_path)
    assert len(list(tmp_path.glob("*.cubin"))) == 3


def test_skins_that_the_device_cannot_do_are_refused_by_name():
    spec = hands.load("fourier_right")
    with pytest.raises(BadValue, match="has none"):
        skin_tables(thenar.World("fourier_right").model, spec, profile_of(spec, "ideal"), prefix="fourier_right/")
    world = thenar.World(HAND)
    world.model.opt.cone = 0
    with pytest.raises(BadValue, match="mjCONE_ELLIPTIC"):
        Touch(world.model, HAND, None, SimpleNamespace(nworld=1))


def test_stencils_nearly_undo_the_influence_of_every_aspect():
    from thenar.touch.solver.influence import half_space_tables

    for aspect in (20, 96, 150):
        love, (_, row, column, corner) = half_space_tables()[aspect, :15, :15], inverse_stencils(14)[aspect]
        far = np.abs(np.arange(-7, 8))
        spread = love[far[:, None], far]  # of one cell's pressure
        through = spread[1:-1, 1:-1] + row * (spread[2:, 1:-1] + spread[:-2, 1:-1])
        through += column * (spread[1:-1, 2:] + spread[1:-1, :-2])
        through += corner * (spread[2:, 2:] + spread[2:, :-2] + spread[:-2, 2:] + spread[:-2, :-2])
        middle = through[6, 6]
        assert np.abs(through).sum() < 2.5 * middle
        assert np.abs(spread).sum() > 5.0 * spread[7, 7]
