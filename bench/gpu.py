"""Thousands of hands on one GPU: rates beside bare MuJoCo Warp, and touch beside the CPU's answers.

python -m bench.gpu frames edged_0.npz --kind edged   # random frames with the CPU's answers; no GPU needed
python -m bench.gpu run --frames A.npz B.npz     # on the GPU: judges those frames, then measures rates
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, get_args

import numpy as np

import thenar
from bench.gpu_frames import HAND, Kind, device_data, press_world, random_frames
from thenar import hands
from thenar.batch.device import load_warp, without_visuals

PROPS = {
    "ball": thenar.Sphere(name="ball", radius_m=0.0416, mass_kg=0.08, pos_m=(0.0, 0.03, 0.0446)),
    "rod": thenar.Capsule(
        name="rod", radius_m=0.024, length_m=0.10, mass_kg=0.08, pos_m=(0.0, 0.05, 0.027), rpy_rad=(0.0, np.pi / 2, 0.0)
    ),
}
MAX_CONTACTS = 20  # of a world: what a dry run asks for
REPORT: list[dict[str, Any]] = []


def note(out: Path | None, **values: Any) -> None:
    """Print a row, and keep it."""
    short = {k: float(f"{v:.4g}") if isinstance(v, float) else v for k, v in values.items()}
    REPORT.append(short)
    print(json.dumps(short), flush=True)
    if out:
        (out / "gpu.json").write_text(json.dumps(REPORT, indent=1))


def capture(work: Callable[[], None]) -> Any:
    """Work as a graph; it has run once before."""
    wp, _ = load_warp()
    work()
    wp.synchronize()
    with wp.ScopedCapture() as captured:
        work()
    return captured.graph


def seconds(graph: Any, repeats: int) -> float:
    """Median of three times that a graph takes [s]."""
    wp, _ = load_warp()
    wp.capture_launch(graph)
    times = []
    for _ in range(3):
        wp.synchronize()
        start = time.perf_counter()
        for _ in range(repeats):
            wp.capture_launch(graph)
        wp.synchronize()
        times.append((time.perf_counter() - start) / repeats)
    return float(np.median(times))


def kind_of(file: Path) -> Kind:
    """What presses in the frames of a file, by its name."""
    return next(kind for kind in get_args(Kind) if file.stem.startswith(kind))


def judge_frames(out: Path | None, file: Path, iterations: int) -> None:
    """Frames of the device beside those of the CPU, new and lasting ones; and whether the bits are the same again."""
    from thenar.batch import Touch

    spec, frames = without_visuals(hands.load(HAND)), dict(np.load(file))
    model = press_world(spec, kind_of(file))[0].model
    data = [device_data(frames, step, device="cuda:0") for step in range(3)]
    touch, again = (Touch(model, spec, *data[0], iterations=iterations) for _ in range(2))
    for step, (m, d) in enumerate(data):
        for one in (touch, again):
            one._m, one._d = m, d
            one.update()
        got, want = touch.arrays.pressure_pa.numpy(), frames["pressure_pa"][:, step]
        shear, rub = touch.arrays.shear_pa.numpy(), frames["shear_pa"][:, step]
        error = np.linalg.norm(got - want, axis=1) / np.linalg.norm(want, axis=1)
        sideways = np.linalg.norm(shear - rub, axis=(1, 2)) / np.linalg.norm(rub, axis=(1, 2))
        total = touch.arrays.contact_n.numpy() / frames["force"][:, step, :, 0].sum(1) - 1.0
        note(
            out, what="frames beside the CPU", file=file.stem, iterations=iterations, step=step, frames=len(got),
            median=float(np.median(error)), p99=float(np.quantile(error, 0.99)), worst=float(error.max()),
            shear_median=float(np.median(sideways)), shear_p99=float(np.quantile(sideways, 0.99)),
            force_worst=float(np.abs(total).max()), flags=int((touch.flags.numpy() != 0).sum()),
            same_bits=bool(np.array_equal(got, again.arrays.pressure_pa.numpy())),
            queues=touch.queued.numpy().tolist(),
        )  # fmt: skip


def measure_frames(out: Path | None, file: Path, iterations: int) -> None:
    """Rates of windows and frames, lasting and new."""
    wp, _ = load_warp()
    from thenar.batch import Touch

    spec, frames = without_visuals(hands.load(HAND)), dict(np.load(file))
    data = [device_data(frames, step, device="cuda:0", repeat=8192 // len(frames["force"]) + 1) for step in range(2)]
    touch = Touch(press_world(spec, kind_of(file))[0].model, spec, *data[0], iterations=iterations)
    touch.update()
    row = {"file": file.stem, "iterations": iterations, "worlds": touch.count}

    def there_and_back() -> None:  # contacts move as far as in one step of 2 ms
        for moment in (1, 0):
            touch._m, touch._d = data[moment]
            touch.feel()

    there_and_back()
    moving_s = seconds(capture(there_and_back), 10) / 2.0
    frame_s, read_s = (seconds(capture(work), 20) for work in (touch.feel, touch.update))
    queued = wp.clone(touch.queued)
    numbers = queued.numpy()
    windows = float(numbers[8])
    rates = {"still": frame_s, "moving": moving_s, "still, with the sensor's counts": read_s}
    for what, each_s in ((f"frames a second, {kind}", each_s) for kind, each_s in rates.items()):
        note(out, what=what, **row, rate=touch.count / each_s, windows_rate=windows / each_s)

    def solve(solver: Any) -> None:
        wp.copy(touch.queued, queued)
        touch.solve(solver)

    def solve_moving(solver: Any) -> None:
        for moment in (1, 0):
            touch._m, touch._d = data[moment]
            touch.gather()
            touch.solve(solver)

    def gather_twice() -> None:
        touch.gather()
        touch.gather()

    gather_s = seconds(capture(gather_twice), 20)
    for solver in touch._solvers:
        many = float(numbers[solver.which])
        if not solver.cold and many:
            still_s = seconds(capture(partial(solve, solver)), 20)
            each_s = (seconds(capture(partial(solve_moving, solver)), 20) - gather_s) / 2.0
            note(out, what=f"warm windows a second, grid {solver.grid}", **row, leans=solver.leans,
                 still=many / still_s, moving=many / each_s)  # fmt: skip
    touch.update()
    for name in ("gather", "lay", "finish"):
        note(out, what=name, **row, ms=1e3 * seconds(capture(getattr(touch, name)), 20))
    everyone = wp.ones(touch.count, dtype=bool)

    def anew() -> None:
        touch.forget(everyone)
        touch.update()

    new_s = seconds(capture(anew), 5)
    note(out, what="new windows a second", **row, rate=windows / new_s, of_lasting=new_s / frame_s)


def measure_worlds(out: Path | None, count: int, name: str) -> None:
    """Steps a second of hands that hold something, beside those of the bare engine on the same motion."""
    wp, mjw = load_warp()
    from thenar.batch import Worlds

    start = time.perf_counter()
    worlds = Worlds(HAND, count=count, props=[PROPS[name]], device="cuda:0", max_contacts=MAX_CONTACTS)
    worlds.touch()
    built_s = time.perf_counter() - start
    closed = np.array(hands.load(HAND).closed_rad) * (1, 1, 1, 1, 1, 0.9)
    rng = np.random.default_rng(0)
    worlds.command(closed * rng.uniform(0.9, 1.0, (count, 1)))
    for _ in range(60):
        worlds.advance(0.02)
    m, d, skin, row = worlds.m, worlds.d, worlds._skins[HAND].touch, {"props": name, "worlds": count}
    kept = [(array, wp.clone(array)) for array in (d.qpos, d.qvel, d.qacc_warmstart, worlds._motor_state)]

    def again() -> None:
        for array, copy in kept:
            wp.copy(array, copy)

    def bare() -> None:
        mjw.step(m, d)

    def own() -> None:
        worlds.drive()
        mjw.step(m, d)

    def felt(steps: int, *, counts: bool = False) -> None:
        for _ in range(steps):
            own()
        if counts:
            skin.update()
        else:
            skin.feel()

    def timed(work: Callable[[], None], steps: int) -> float:
        graph = capture(work)
        again()
        return seconds(graph, 200 // steps) / steps

    bare_s = timed(bare, 1)
    contacts = float(d.nacon.numpy()[0] / count)
    note(out, what="bare steps a second", **row, rate=count / bare_s, contacts=contacts, built_s=built_s)
    own_s = timed(own, 1)
    note(out, what="with motors", **row, rate=count / own_s, of_bare=bare_s / own_s)
    every_s = timed(partial(felt, 1), 1)
    queues = skin.queued.numpy()
    note(out, what="touch every step", **row, rate=count / every_s, of_bare=bare_s / every_s, queues=queues.tolist())
    tenth_s = timed(partial(felt, 10), 10)
    note(out, what="touch every 10th step", **row, rate=count / tenth_s, of_bare=bare_s / tenth_s)
    told_s = timed(partial(felt, 10, counts=True), 10)
    note(out, what="touch and counts every 10th step", **row, rate=count / told_s, of_bare=bare_s / told_s)
    note(out, what="bare again", **row, rate=count / timed(bare, 1))
    again()
    everyone, frames = wp.ones(count, dtype=bool), []
    for k in range(30):
        if k == 20:
            skin.forget(everyone)
        wp.synchronize()
        start = time.perf_counter()
        worlds.advance(0.02)
        wp.synchronize()
        frames.append(time.perf_counter() - start)
    mean_s = float(np.mean(frames[3:20]))
    note(out, what="frame of 20 ms", **row, mean_ms=1e3 * mean_s, all_windows_new=frames[20] / mean_s)
    worlds.reset()
    worlds.command(closed * rng.uniform(0.9, 1.0, (count, 1)))
    for _ in range(60):  # until they hold it again
        wp.synchronize()
        start = time.perf_counter()
        worlds.advance(0.02)
        wp.synchronize()
        frames.append(time.perf_counter() - start)
    note(out, what="after a reset of all", **row, worst=max(frames[30:]) / mean_s, at=int(np.argmax(frames[30:])))
    flags = worlds.flags().numpy()
    bits = {f"bit_{k}": int((flags >> k & 1).sum()) for k in range(7)}
    note(out, what="flags", **row, **bits, finite=bool(np.isfinite(d.qpos.numpy()).all()))
    if out:  # for the CPU to feel the same
        n, total = 64, min(int(d.nacon.numpy()[0]), d.contact.pos.shape[0])
        mine = np.flatnonzero(d.contact.worldid.numpy()[:total] < n)
        names = ("pos", "frame", "geom", "efc_address", "worldid")
        np.savez_compressed(
            out / f"felt_{name}.npz",
            **{name: getattr(d.contact, name).numpy()[mine] for name in names},
            **{name: getattr(d, name).numpy()[:n] for name in ("geom_xpos", "geom_xmat", "xpos", "xmat")},
            efc_force=d.efc.force.numpy()[:n],
            pressure_pa=skin.arrays.pressure_pa.numpy()[:n],
        )


def main() -> None:
    """Run one of the two parts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = parser.add_subparsers(dest="part", required=True)
    make = parts.add_parser("frames")
    make.add_argument("file", type=Path)
    make.add_argument("--count", type=int, default=1000)
    make.add_argument("--seed", type=int, default=0)
    make.add_argument("--kind", choices=get_args(Kind), default="curved")
    run = parts.add_parser("run")
    run.add_argument("--frames", type=Path, nargs="*", default=[])
    run.add_argument("--iterations", type=int, nargs="*", default=[4])
    run.add_argument("--count", type=int, default=8192)
    run.add_argument("--props", nargs="*", default=list(PROPS))
    run.add_argument("--out", type=Path)
    args = parser.parse_args()
    if args.part == "frames":
        np.savez_compressed(args.file, **random_frames(args.count, args.seed, kind=args.kind))
        return
    for file in args.frames:
        for iterations in args.iterations:
            judge_frames(args.out, file, iterations)
            measure_frames(args.out, file, iterations)
    for name in args.props:
        measure_worlds(args.out, args.count, name)


if __name__ == "__main__":
    main()
