# type: ignore  # Warp compiles these functions: what they mean is not what a type checker reads
# ruff: noqa: UP018, RUF046 (a variable that a loop changes must not begin as a literal)
"""Contacts of every world into groups with windows: `thenar.touch.solver.groups` as Warp kernels."""

import warp as wp

from thenar.batch.world_kernels import Flag

MAX_CONTACTS = 48  # of a world, seen from skins
SLOTS = 16  # windows of a world
GROUP_FLOATS = 24
LIFE = wp.constant(8)  # frames a window outlives its contact: contacts flicker, and a new window is dear
SAME_DIRECTION = wp.constant(0.8660254)  # cosine of 30 degrees
SPREAD_M2 = wp.constant(1e-6)
MIN_FORCE_N = wp.constant(1e-4)
MAX_CONTACTS_, SLOTS_ = wp.constant(MAX_CONTACTS), wp.constant(SLOTS)
# Queues: lasting and new windows of the small and large grid, of objects that cannot lean and of those that do; all of
# them; those whose patch ends at edges, and those where edges have come near; worlds with several patches on a link.
QUEUES, EVERY, AT_EDGES, CROWDED = wp.constant(12), wp.constant(8), wp.constant(9), wp.constant(11)
EDGE_GRID = wp.constant(24)
NET_NODES = 81  # of what neighbors press away under a window
MANY = wp.constant(int(Flag.SKIN_FULL))

# The next place in a queue: threads of a warp that want one of the same queue take theirs together.
TAKE = """
#if defined(__CUDA_ARCH__)
    const unsigned same = __match_any_sync(__activemask(), which);
    const int lane = threadIdx.x & 31, leader = __ffs(same) - 1;
    int first = 0;
    if (lane == leader) first = ::atomicAdd(&queued.data[which], __popc(same));
    return __shfl_sync(same, first, leader) + __popc(same & ((1u << lane) - 1u));
#else
    return queued.data[which]++;
#endif
"""


@wp.struct
class SkinContact:
    """A contact, seen from a skin."""

    position: wp.vec3
    outward: wp.vec3
    friction: wp.vec3  # on the skin
    press: float
    skin: int
    partner: int
    key: int


@wp.struct
class GroupSum:
    """Contacts that press one skin in one direction; places are taken from the first of them."""

    base: wp.vec3
    force: wp.vec3
    moment: wp.vec3
    friction: wp.vec3
    low: wp.vec3
    high: wp.vec3
    spread: wp.mat33
    weight: float
    skin: int
    partner: int
    index: int
    slot: int


@wp.kernel(enable_backward=False)
def collect_contacts(
    nacon: wp.array[int],
    position: wp.array[wp.vec3],
    frame: wp.array[wp.mat33],
    geom: wp.array[wp.vec2i],
    efc_address: wp.array2d[int],
    worldid: wp.array[int],
    collision: wp.array[int],
    efc_force: wp.array2d[float],
    link_of_geom: wp.array[int],
    body_of_geom: wp.array[int],
    count: wp.array[int],
    contacts: wp.array2d[SkinContact],
    queued: wp.array[int],
):
    """MuJoCo Warp's contacts, which lie in one array for all worlds, into a list per world. Elliptic cones."""
    c = wp.tid()
    if c < QUEUES:
        queued[c] = 0
    if c >= nacon[0] or efc_address[c, 0] < 0:
        return
    world = worldid[c]
    press = efc_force[world, efc_address[c, 0]]
    if not press > 0.0:
        return
    normal = wp.vec3(frame[c][0, 0], frame[c][0, 1], frame[c][0, 2])
    rub = wp.vec3()
    if efc_address.shape[1] > 2 and efc_address[c, 2] >= 0:
        first, second = efc_force[world, efc_address[c, 1]], efc_force[world, efc_address[c, 2]]
        rub = first * wp.vec3(frame[c][1, 0], frame[c][1, 1], frame[c][1, 2])
        rub = rub + second * wp.vec3(frame[c][2, 0], frame[c][2, 1], frame[c][2, 2])
    pair = geom[c]
    for side in range(2):
        skin = pair[side]
        if link_of_geom[skin] >= 0:
            at = wp.atomic_add(count, world, 1)
            if at < MAX_CONTACTS_:
                sign = 1.0 - 2.0 * float(side)
                contacts[world, at].position = position[c]
                contacts[world, at].outward = sign * normal
                contacts[world, at].friction = -sign * rub
                contacts[world, at].press = press
                contacts[world, at].skin = skin
                contacts[world, at].partner = body_of_geom[pair[1 - side]]
                contacts[world, at].key = (
                    (pair[0] * link_of_geom.shape[0] + pair[1]) * 16 + wp.min(collision[c], 15)
                ) * 2 + side


@wp.func
def _leans(cov: wp.mat33) -> int:
    """In how many directions contact points are spread: none, one or two."""
    trace = cov[0, 0] + cov[1, 1] + cov[2, 2]
    square = float(0.0)
    for a in range(3):
        for b in range(3):
            square = square + cov[a, b] * cov[a, b]
    product = wp.max(0.0, (trace * trace - square) / 2.0)
    apart = wp.sqrt(wp.max(0.0, trace * trace / 4.0 - product))
    return wp.where(trace / 2.0 + apart > SPREAD_M2, 1, 0) + wp.where(trace / 2.0 - apart > SPREAD_M2, 1, 0)


@wp.func
def _line(cov: wp.mat33) -> wp.vec3:
    """Direction in which points on a line are spread: every column of the covariance points along it."""
    k = int(0)
    if cov[1, 1] > cov[k, k]:
        k = int(1)
    if cov[2, 2] > cov[k, k]:
        k = int(2)
    return wp.normalize(wp.vec3(cov[0, k], cov[1, k], cov[2, k]))


@wp.func_native(TAKE)
def take(queued: wp.array[int], which: int) -> int:  # noqa: D103
    ...


@wp.kernel(enable_backward=False)
def rank_contacts(count: wp.array[int], contacts: wp.array2d[SkinContact], order: wp.array2d[int]):
    """Order the contacts of a world by what touches what: they arrived in any order."""
    world, k = wp.tid()
    n = wp.min(count[world], MAX_CONTACTS_)
    if k >= n:
        return
    mine = contacts[world, k].key
    rank = int(0)
    for other in range(n):
        key = contacts[world, other].key
        if key < mine or (key == mine and other < k):
            rank = rank + 1
    order[world, rank] = k


@wp.kernel(enable_backward=False)
def group_contacts(
    count: wp.array[int],
    contacts: wp.array2d[SkinContact],
    order: wp.array2d[int],
    small_grid: int,
    sums: wp.array2d[GroupSum],
    group_count: wp.array[int],
    keys: wp.array2d[wp.vec4i],
    place: wp.array[wp.vec4],
    kind_of: wp.array[wp.vec4i],
    crowded: wp.array[int],
    were_crowded: wp.array[int],
    queue: wp.array[int],
    queued: wp.array[int],
    flags: wp.array[int],
):
    """Gather the contacts of a world into groups, and find the window that each group had."""
    world = wp.tid()
    n = wp.min(count[world], MAX_CONTACTS_)
    found_flags = flags[world]
    if count[world] > MAX_CONTACTS_:
        found_flags = found_flags | MANY
    groups = int(0)
    are_crowded = int(0)
    for k in range(n):
        c = contacts[world, order[world, k]]
        found = int(-1)
        index = int(0)
        beside = int(0)
        for g in range(groups):
            if found < 0 and sums[world, g].skin == c.skin:
                beside = int(1)
                if sums[world, g].partner == c.partner:
                    index = index + 1
                    force = sums[world, g].force
                    if wp.dot(force, c.outward) > SAME_DIRECTION * wp.length(force):
                        found = int(g)
        s = GroupSum()
        if found >= 0:
            s = sums[world, found]
        else:
            if groups == SLOTS_:
                found_flags = found_flags | MANY
                continue
            found = int(groups)
            groups = groups + 1
            s.base = c.position
            s.skin = c.skin
            s.partner = c.partner
            s.index = index
            if beside != 0:
                are_crowded = int(1)
        at_m = c.position - s.base
        s.force = s.force + c.press * c.outward
        s.moment = s.moment + c.press * at_m
        s.friction = s.friction + c.friction
        s.low = wp.min(s.low, at_m)
        s.high = wp.max(s.high, at_m)
        s.spread = s.spread + c.press * wp.outer(at_m, at_m)
        s.weight = s.weight + c.press
        sums[world, found] = s
    group_count[world] = groups
    used = int(0)
    for g in range(groups):
        wanted = wp.vec3i(sums[world, g].skin, sums[world, g].partner, sums[world, g].index)
        slot = int(-1)
        for q in range(SLOTS_):
            if slot < 0:
                k = (g + q) % SLOTS_  # as a rule it is where it was put
                key = keys[world, k]
                if (used & (1 << k)) == 0 and wp.vec3i(key[0], key[1], key[2]) == wanted:
                    slot = int(k)
                    used = used | (1 << k)
        sums[world, g].slot = slot
    for g in range(groups):
        if sums[world, g].slot < 0:  # an empty slot, or the one that has been idle for longest
            k = int(0)
            oldest = int(-1)
            for q in range(SLOTS_):
                idle = wp.where(keys[world, q][0] < 0, 1 << 20, keys[world, q][3])
                if (used & (1 << q)) == 0 and idle > oldest:
                    oldest = int(idle)
                    k = int(q)
            used = used | (1 << k)
            sums[world, g].slot = k
            keys[world, k] = wp.vec4i(sums[world, g].skin, sums[world, g].partner, sums[world, g].index, 0)
            place[2 * (world * SLOTS_ + k)] = wp.vec4()
            crowded[world * SLOTS_ + k] = 0
            kind_of[world * SLOTS_ + k] = wp.vec4i(small_grid, 0, 0, 0)
    for k in range(SLOTS_):
        key = keys[world, k]
        if (used & (1 << k)) != 0:
            if key[3] != 0:
                keys[world, k] = wp.vec4i(key[0], key[1], key[2], 0)
        elif key[0] >= 0:
            idle = key[3] + 1
            keys[world, k] = wp.vec4i(wp.where(idle >= LIFE, -1, key[0]), key[1], key[2], idle)
    if are_crowded != 0 or were_crowded[world] != 0:
        queue[CROWDED * (queue.shape[0] // QUEUES) + take(queued, int(CROWDED))] = world
    were_crowded[world] = are_crowded
    count[world] = 0  # for the next frame
    flags[world] = found_flags


@wp.kernel(enable_backward=False)
def queue_groups(
    sums: wp.array2d[GroupSum],
    group_count: wp.array[int],
    link_of_geom: wp.array[int],
    body_of_geom: wp.array[int],
    link_pads: wp.array[int],
    pads: wp.array2d[float],
    bare_modulus_pa: float,
    stiffness: wp.array[float],
    small_grid: int,
    body_xpos: wp.array2d[wp.vec3],
    body_xmat: wp.array2d[wp.mat33],
    place: wp.array[wp.vec4],
    kind_of: wp.array[wp.vec4i],
    group: wp.array[float],
    group_of: wp.array[wp.vec4i],
    crowded: wp.array[int],
    slot_of: wp.array2d[int],
    queue: wp.array[int],
    queued: wp.array[int],
    world_sum: wp.array[int],
    scale: float,
):
    """What a window is solved from, for every group; and queue the windows."""
    world, g = wp.tid()
    if g >= group_count[world]:
        return
    s = sums[world, g]
    slot = world * SLOTS_ + s.slot
    size = wp.length(s.force)
    slot_of[world, g] = wp.where(size < MIN_FORCE_N, -1, slot)
    if size < MIN_FORCE_N:
        wp.atomic_add(world_sum, 2 * world, int(s.weight * scale))
        wp.atomic_add(world_sum, 2 * world + 1, int(s.weight * scale))
        return
    centre = s.moment / s.weight
    cov = s.spread / s.weight - wp.outer(centre, centre)
    leans = _leans(cov)
    origin, normal = s.base + centre, s.force / size
    middle, across = 0.5 * (s.low + s.high) - centre, wp.length(s.high - s.low)
    line = wp.vec3()
    if leans == 1:
        line = _line(cov)
    body = body_of_geom[s.skin]
    local = wp.transpose(body_xmat[world, body]) * (origin - body_xpos[world, body])
    modulus = float(bare_modulus_pa)
    nearest = float(1e9)
    link = link_of_geom[s.skin]
    for q in range(link_pads[link], link_pads[link + 1]):  # the skin is that of the link's nearest pad
        away = wp.length_sq(wp.vec3(pads[q, 26], pads[q, 27], pads[q, 28]) - local)
        if away < nearest:
            nearest = float(away)
            modulus = float(pads[q, 24])
    out = slot * 24
    for a in range(3):
        group[out + a] = origin[a]
        group[out + 3 + a] = normal[a]
        group[out + 9 + a] = s.friction[a]
        group[out + 12 + a] = middle[a]
        group[out + 16 + a] = line[a]
    group[out + 6] = size
    group[out + 7] = modulus * stiffness[world]
    group[out + 8] = s.weight
    group[out + 15] = across
    group[out + 19] = float(crowded[slot])
    group_of[slot] = wp.vec4i(s.skin, s.partner, world, leans)
    what = kind_of[slot]
    cold = place[2 * slot][0] <= 0.0 or what[1] != 0
    which = wp.where(leans > 0, 4, 0) + wp.where(cold, 2, 0) + wp.where(what[0] == small_grid, 0, 1)
    if what[0] == EDGE_GRID:  # 3: it outgrew its window, and begins anew
        which = wp.where(what[1] == 3, wp.where(leans > 0, 6, 2), AT_EDGES)
    room = queue.shape[0] // QUEUES
    queue[which * room + take(queued, which)] = slot
    queue[EVERY * room + take(queued, EVERY)] = slot


@wp.kernel(enable_backward=False)
def finish_taxels(
    area_m2: wp.array[float],
    pad_of_taxel: wp.array[int],
    pad_touched: wp.array2d[int],
    newton: float,
    sums: wp.array3d[int],
    pressure_pa: wp.array2d[float],
    shear_pa: wp.array2d[wp.vec2],
):
    """Whole numbers to pascal, and the sums back to nothing for the next frame; on pads that were touched just now."""
    world, k = wp.tid()
    if pad_touched[world, pad_of_taxel[k]] == 0:
        return
    scale = newton / area_m2[k]
    n, u, v = sums[world, 0, k], sums[world, 1, k], sums[world, 2, k]
    pressure_pa[world, k] = float(n) * scale
    shear_pa[world, k] = wp.vec2(float(u) * scale, float(v) * scale)
    if n != 0 or u != 0 or v != 0:
        sums[world, 0, k] = 0
        sums[world, 1, k] = 0
        sums[world, 2, k] = 0


@wp.kernel(enable_backward=False)
def finish_pads(
    newton: float,
    pad_sum: wp.array3d[int],
    pad_touched: wp.array2d[int],
    world_sum: wp.array2d[int],
    pad_force_n: wp.array2d[float],
    pad_centre_m: wp.array2d[wp.vec2],
    contact_n: wp.array[float],
    bare_skin_n: wp.array[float],
):
    """Forces and centres of pads, and what fell beside them."""
    world, k = wp.tid()
    pad_touched[world, k] = pad_touched[world, k] >> 1 & 1  # 3: in this frame, 1: in the one before
    force = float(pad_sum[world, k, 0]) * newton
    pad_force_n[world, k] = force
    if force > 0.0:
        centre = wp.vec2(float(pad_sum[world, k, 1]), float(pad_sum[world, k, 2])) * (newton * 0.01)
        pad_centre_m[world, k] = centre / force
    else:
        pad_centre_m[world, k] = wp.vec2(wp.nan, wp.nan)
    for a in range(3):
        pad_sum[world, k, a] = 0
    if k == 0:
        contact_n[world] = float(world_sum[world, 0]) * newton
        bare_skin_n[world] = float(world_sum[world, 1]) * newton
        world_sum[world, 0] = 0
        world_sum[world, 1] = 0


@wp.kernel(enable_backward=False)
def finish_dies(pascal: float, die_sum: wp.array2d[int], stress_pa: wp.array2d[float]):
    """Stress at buried dies."""
    world, k = wp.tid()
    stress_pa[world, k] = float(die_sum[world, k]) * pascal
    die_sum[world, k] = 0


@wp.kernel(enable_backward=False)
def forget_windows(mask: wp.array[bool], keys: wp.array2d[wp.vec4i], pad_touched: wp.array2d[int]):
    """Let skins start without a past; whatever taxels read now, the next frame says it anew of all of them."""
    world, k = wp.tid()
    if mask[world]:
        if k < keys.shape[1]:
            keys[world, k] = wp.vec4i(-1, 0, 0, 0)
        if k < pad_touched.shape[1]:
            pad_touched[world, k] = 1
