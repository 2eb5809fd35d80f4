"""Random frames of contacts with the CPU's answers: what touch on a GPU is judged on."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import mujoco
import numpy as np

import thenar
from thenar import hands
from thenar.batch.device import without_visuals
from thenar.hands.pad_charts import points_on_skin
from thenar.hands.spec import HandSpec
from thenar.signals import SolidContacts
from thenar.sim.contacts import SolidReader
from thenar.touch.hand_touch import HandTouch
from thenar.touch.sensor.calibration import profile_of

HAND = "inspire_right"
MILD = (0.0, 0.2, 1.0)  # a frame, the next one at 500 Hz, one at 50 Hz
KINDS = ("Sphere", "Capsule", "Ellipsoid", "Sphere", "Cylinder", "Sphere") * 2
Frames = dict[str, Any]
Kind = Literal["curved", "lying", "edged", "hulls", "crowded"]


def press_world(spec: HandSpec, kind: Kind = "curved") -> tuple[thenar.World, list[str]]:
    """A hand with an object for every link that has pads, of some kind; and the link that each of them presses."""
    links = [link.name for link in spec.links if link.skin is not None and any(p.link == link.name for p in spec.pads)]
    if kind == "crowded":
        links = [link for link in links[:7] for _ in range(2)]
    shapes = {"edged": ("Box", "Box", "Cylinder"), "hulls": ("Mesh",), "crowded": ("Sphere", "Ellipsoid")}.get(
        kind, KINDS
    )
    props = []
    with tempfile.TemporaryDirectory() as folder:
        for k, link in enumerate(links):
            shape = shapes[k % len(shapes)] if kind in ("edged", "hulls") or link != "base" else "Sphere"
            own: dict[str, Any] = {}
            if shape == "Mesh":
                own["file"] = Path(folder) / f"{k}.obj"
                _write_mesh(own["file"], k)
            props.append(getattr(thenar, shape)(name=f"o{k}", pos_m=(0.1 * k, 0, 1), **own))
        return thenar.World(spec, props=props, profile="ideal"), links


def _write_mesh(file: Path, number: int) -> None:
    """A mesh: of three a block, a ball of 80 faces and an egg of 320."""
    if number % 3 == 0:
        corner = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * (0.012, 0.009, 0.007)
        faces = [(0, 1, 3), (0, 3, 2), (4, 6, 7), (4, 7, 5), (0, 4, 5), (0, 5, 1), (2, 3, 7), (2, 7, 6), (0, 2, 6),
                 (0, 6, 4), (1, 5, 7), (1, 7, 3)]  # fmt: skip
        triangles = corner[np.array(faces)]
    else:
        g = (1.0 + math.sqrt(5.0)) / 2.0
        corner = np.array([[0, s, t * g] for s in (-1, 1) for t in (-1, 1)])
        corner = np.concatenate([np.roll(corner, k, axis=1) for k in range(3)])
        near = np.linalg.norm(corner[:, None] - corner, axis=2) < 2.1
        every = [
            (a, b, c) for a in range(12) for b in range(a) for c in range(b) if near[a, b] and near[b, c] and near[a, c]
        ]
        triangles = corner[np.array(every)]
        for _ in range(number % 3):
            a, b, c = triangles.transpose(1, 0, 2)
            ab, bc, ca = (a + b) / 2, (b + c) / 2, (c + a) / 2
            triangles = np.concatenate(
                [np.stack(three, axis=1) for three in ((a, ab, ca), (ab, b, bc), (ca, bc, c), (ab, bc, ca))]
            )
            triangles /= np.linalg.norm(triangles, axis=2, keepdims=True)
        triangles = (
            triangles / np.linalg.norm(triangles[0, 0]) * (np.array((0.012, 0.010, 0.008)) if number % 3 == 2 else 0.01)
        )
    lines = []
    for number, (a, b, c) in enumerate(triangles):
        turned = np.cross(b - a, c - a) @ (a + b + c) < 0
        lines += ["v {:.9f} {:.9f} {:.9f}".format(*point) for point in ((a, c, b) if turned else (a, b, c))]
        lines.append(f"f {3 * number + 1} {3 * number + 2} {3 * number + 3}")
    file.write_text("\n".join(lines) + "\n")


def _end_of_block(rng: np.random.Generator, half: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A place on a face, an edge or a corner of a block of these half sides, and a direction out of it there."""
    manner, slant = rng.integers(3), rng.uniform(0.35, 1.2)
    along, across = rng.uniform(-0.95, 0.95, 2)
    if manner == 0:
        return half * (along, across, 1.0), np.array([0.0, 0.0, 1.0])
    if manner == 1:
        return half * (along, 1.0, 1.0), np.array([0.0, math.sin(slant), math.cos(slant)])
    return half, rng.uniform(0.4, 1.0, 3)


def _held(
    rng: np.random.Generator, x: np.ndarray, n: np.ndarray, at: np.ndarray, out: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Centre and frame of a body that presses x against n with its place ``at``, so that its own ``out`` is -n."""

    def frame(up: np.ndarray, beside: np.ndarray) -> np.ndarray:
        across = np.cross(up, beside)
        across /= np.linalg.norm(across)
        return np.column_stack([up, across, np.cross(up, across)])

    turned = frame(-n, rng.normal(size=3)) @ frame(out / np.linalg.norm(out), np.array([0.6, -0.8, 0.1])).T
    return x - turned @ at, turned


def _across(rng: np.random.Generator, normal: np.ndarray) -> np.ndarray:
    """A random frame whose z lies across a normal."""
    z = np.cross(normal, rng.normal(size=3))
    z /= np.linalg.norm(z)
    x = np.cross(z, rng.normal(size=3))
    x /= np.linalg.norm(x)
    return np.column_stack([x, np.cross(z, x), z])


def random_frames(count: int, seed: int, *, hand: str = HAND, kind: Kind = "curved", answers: bool = True) -> Frames:
    """Random hands, every link pressed by one object, three frames each, as arrays of a model of many worlds.

    Args:
        count: Number of hands.
        seed: Of the random numbers.
        hand: Which.
        kind: What presses: round objects; such that touch at two points, so that they lean; blocks and standing
            cylinders, with faces, edges and corners; meshes; two round objects side by side on a link.
        answers: False: without what the CPU feels.
    """
    rng = np.random.default_rng(seed)
    spec = without_visuals(hands.load(hand))
    world, links = press_world(spec, kind)
    model, data = world.model, world.data
    reader = SolidReader(model)
    shapes = {link.name: [model.geom(f"{spec.name}/{n}").id for n in link.skin_names] for link in spec.links}
    touch = HandTouch(spec, profile_of(spec, "ideal"), skin_shapes=shapes, bodies=reader.bodies)
    first = world.physics.solid_contacts()
    base = first.solids
    names = ("geom_xpos", "geom_xmat", "xpos", "xmat", "geom_size", "pos", "frame", "geom", "force",
             "pressure_pa", "shear_pa", "pad_force_n", "stress_pa", "counts")  # fmt: skip
    out: Frames = {name: [] for name in names}
    for _ in range(count):
        touch.forget()
        for name in spec.joint_names:
            joint = model.joint(f"{spec.name}/{name}")
            data.qpos[joint.qposadr[0]] = rng.uniform(*joint.range)
        mujoco.mj_kinematics(model, data)
        spots: list[Any] = []
        for link in links:
            own = [pad for pad in spec.pads if pad.link == link]
            pad = own[rng.integers(len(own))]
            reach = 0.6 if pad.rows > 3 else 0.2
            u = rng.uniform(-reach, reach) * pad.rows * pad.row_pitch_m / 2
            v = rng.uniform(-reach, reach) * pad.cols * pad.col_pitch_m / 2
            newton = 10 ** rng.uniform(np.log10(0.2), np.log10(5.0))
            if kind == "crowded" and len(spots) % 2:  # beside the one before
                pad, u, v = spots[-1][1:4]
                away, angle = rng.uniform(0.003, 0.007), rng.uniform(0.0, 2 * math.pi)
                u, v = u + away * math.cos(angle), v + 0.5 * away * math.sin(angle)
            spots.append((link, pad, u, v, newton, rng.uniform(0.004, 0.03), rng.integers(1 << 30), rng.normal(size=3)))
        for mild in MILD:
            solids = base.copy()
            solids["pos_m"], solids["R"] = data.geom_xpos, data.geom_xmat.reshape(-1, 3, 3)
            body_pos_m, body_R = data.xpos.copy(), data.xmat.reshape(-1, 3, 3).copy()
            rows: dict[str, list[Any]] = {"pos": [], "frame": [], "geom": [], "force": []}
            for k, (link, pad, u, v, newton, radius, own_seed, rub) in enumerate(spots):
                u, v, newton = u + 1e-4 * mild, v - 5e-5 * mild, newton * (1.0 + 0.05 * mild)
                body = data.body(f"{spec.name}/{link}")
                R = body.xmat.reshape(3, 3)
                point, normal = points_on_skin(spec, pad, np.array([[u]]), np.array([[v]]))
                x, n = R @ point.reshape(3) + body.xpos, R @ normal.reshape(3)
                geom, skin = model.geom(f"o{k}").id, shapes[link][0]
                frame, solid = _across(np.random.default_rng(own_seed), n), solids[geom]
                shape, random = model.geom_type[geom], np.random.default_rng(own_seed + 1)
                if shape == mujoco.mjtGeom.mjGEOM_ELLIPSOID:
                    size = radius * np.array([0.8, 1.0, 1.3])
                    local = frame.T @ -n
                    centre = x - frame @ (size**2 * local / np.linalg.norm(size * local))
                    solid["size_m"][:3] = size
                elif shape == mujoco.mjtGeom.mjGEOM_BOX:
                    solid["size_m"][:3] = size = radius * random.uniform(0.3, 1.0, 3)
                    centre, frame = _held(random, x, n, *_end_of_block(random, size))
                elif shape == mujoco.mjtGeom.mjGEOM_MESH:
                    mesh = model.geom_dataid[geom]
                    begin = model.mesh_vertadr[mesh]
                    corners = model.mesh_vert[begin : begin + model.mesh_vertnum[mesh]].astype(np.float64)
                    end = random.normal(size=3)
                    end = corners[np.argmax(corners @ end)], end
                    end = _end_of_block(random, np.abs(corners).max(axis=0)) if len(corners) == 8 else end
                    centre, frame = _held(random, x, n, *end)
                elif kind == "edged":  # a cylinder on its end, or on the rim of it
                    slant, off = random.choice([0.0, 0.5]), random.uniform(0.0, 0.95)
                    solid["size_m"][:3] = 0.4 * radius, radius, 0.0
                    end = np.array([0.4 * radius * (1.0 if slant else off), 0.0, radius])
                    centre, frame = _held(random, x, n, end, np.array([math.sin(slant), 0.0, math.cos(slant)]))
                else:
                    centre = x + n * radius
                    solid["size_m"][:3] = radius, 0.0 if shape == mujoco.mjtGeom.mjGEOM_SPHERE else 0.04, 0.0
                solid["pos_m"], solid["R"] = centre, frame
                body_pos_m[model.geom_bodyid[geom]], body_R[model.geom_bodyid[geom]] = centre, frame
                leans = kind == "lying" and shape != mujoco.mjtGeom.mjGEOM_SPHERE
                along = frame[:, 2] * 0.004 if leans else np.zeros(3)
                shares = (0.6, 0.4) if along.any() else (1.0,)
                tangent = np.cross(n, rub) / np.linalg.norm(np.cross(n, rub))
                axes = np.stack([n, tangent, np.cross(n, tangent)])
                for part, share in enumerate(shares):
                    rows["pos"].append(x + along * (1 - 2 * part))
                    rows["frame"].append(axes)
                    rows["geom"].append((skin, geom))
                    rows["force"].append((share * newton, -0.3 * share * newton, 0.0))
            for name, value in rows.items():
                out[name].append(value)
            for name, value in (
                ("geom_xpos", solids["pos_m"]), ("geom_xmat", solids["R"]), ("geom_size", solids["size_m"][:, :3]),
                ("xpos", body_pos_m), ("xmat", body_R),
            ):  # fmt: skip
                out[name].append(np.array(value))
            if not answers:
                continue
            axes, force = np.array(rows["frame"]), np.array(rows["force"])
            frame = touch.solve(
                SolidContacts(
                    stamp_s=0.0, solids=solids, body_pos_m=body_pos_m, body_R=body_R,
                    planes=first.planes, first_beside=first.first_beside, beside=first.beside,
                    pair=np.array(rows["geom"], dtype=np.int64),
                    position_m=np.array(rows["pos"]), normal=np.ascontiguousarray(axes[:, 0]),
                    force_n=np.einsum("nk,nkx->nx", force, axes),
                    slip_n=np.abs(force[:, 1]),  # all of it slides: friction goes by pressure, as on the device
                )
            )  # fmt: skip
            out["pressure_pa"].append(frame.taxel_pressure_pa)
            out["shear_pa"].append(frame.taxel_shear_pa)
            out["pad_force_n"].append(frame.pad_force_n)
            out["stress_pa"].append(touch.die_stress_pa)
            out["counts"].append(frame.taxel_counts)
    made = {name: np.array(value) for name, value in out.items() if value}
    return {
        name: value.reshape(count, len(MILD), *value.shape[1:]).astype(np.int32 if name == "geom" else np.float32)
        for name, value in made.items()
    }


def device_data(frames: Frames, step: int, *, device: Any, repeat: int = 1) -> tuple[Any, Any]:
    """Frames of one moment as what `Touch` reads of MuJoCo Warp's model and data, each ``repeat`` times."""
    import warp as wp

    def put(value: np.ndarray, dtype: Any = None) -> Any:
        kind = {np.dtype(np.int32): int, np.dtype(np.float32): float}[value.dtype] if dtype is None else dtype
        return wp.array(np.ascontiguousarray(value), dtype=kind, device=device)

    rows = {name: np.concatenate([value[:, step]] * repeat) for name, value in frames.items() if name[-2:] != "pa"}
    worlds, contacts = rows["force"].shape[:2]
    total = worlds * contacts
    address = np.arange(3 * contacts, dtype=np.int32).reshape(contacts, 3)
    contact = SimpleNamespace(
        pos=put(rows["pos"].reshape(-1, 3), wp.vec3), frame=put(rows["frame"].reshape(-1, 3, 3), wp.mat33),
        geom=put(rows["geom"].reshape(-1, 2), wp.vec2i), efc_address=put(np.tile(address, (worlds, 1)), int),
        worldid=put(np.repeat(np.arange(worlds, dtype=np.int32), contacts)),
        geomcollisionid=put(np.tile(np.arange(contacts, dtype=np.int32) % 2, worlds)),
        dim=put(np.full(total, 3, dtype=np.int32)), friction=put(np.full((total, 5), 0.3, dtype=np.float32)),
    )  # fmt: skip
    poses = {name: put(rows[name], wp.vec3) for name in ("geom_xpos", "xpos")}
    poses |= {name: put(rows[name], wp.mat33) for name in ("geom_xmat", "xmat")}
    d = SimpleNamespace(
        contact=contact, nacon=put(np.array([total], dtype=np.int32)), nworld=worlds,
        qpos=put(np.zeros((worlds, 1), dtype=np.float32)), time=put(np.full(worlds, 0.02 * step, dtype=np.float32)),
        efc=SimpleNamespace(force=put(rows["force"].reshape(worlds, -1))), **poses,
    )  # fmt: skip
    return SimpleNamespace(geom_size=put(rows["geom_size"], wp.vec3)), d
