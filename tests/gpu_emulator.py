"""Runs the native functions of `thenar.batch.touch` where there is no GPU: a fiber a lane, every collective one round.

Slow, for tests only. Everything else of `Touch` runs on Warp's CPU backend.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
import zlib
from pathlib import Path
from typing import Any

import warp as wp

from thenar.batch.touch.device_touch import AT_EDGES, Solver, Touch
from thenar.batch.touch.window_kernels import (
    deposit_kernel,
    deposit_text,
    neighbors_kernel,
    neighbors_text,
    solve_kernel,
    solve_text,
)

HEADER = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
using std::max; using std::min;
#define __device__
#define __forceinline__ inline
#define __noinline__
#define __shared__ static
#define __restrict__
#define __align__(n) __attribute__((aligned(n)))
struct float4 { float x, y, z, w; };
struct int4 { int x, y, z, w; };
static float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
static int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
static float __fdividef(float a, float b) { return a / b; }
static float rsqrtf(float a) { return 1.0f / sqrtf(a); }
static int __ffs(unsigned x) { return __builtin_ffs((int)x); }
static int __clz(unsigned x) { return x ? __builtin_clz(x) : 32; }
static int __popc(unsigned x) { return __builtin_popcount(x); }
static int __float2int_rn(float x) { return (int)nearbyintf(x); }
static int atomicAdd(int* a, int b) { int old = *a; *a += b; return old; }
static int atomicOr(int* a, int b) { int old = *a; *a |= b; return old; }
template <class T> struct Array { T* data; int shape[4]; };

static ucontext_t caller, fiber[32];
static char stack[32][1 << 18];
static bool finished[32];
static int now;
static uint32_t box[2][32];
static int turn[32], tag[2][32], mismatches;
static void (*body)();
struct Dim { int x; };
static Dim this_lane() { return {now}; }
#define threadIdx this_lane()
// Post a word and come back when every lane has posted its own; all must be at the same kind of collective.
static uint32_t* exchange(uint32_t word, int kind) {
    const int me = now, side = turn[me];
    turn[me] ^= 1;
    box[side][me] = word;
    tag[side][me] = kind;
    swapcontext(&fiber[me], &caller);
    for (int k = 0; k < 32; ++k) mismatches += tag[side][k] != kind;
    return box[side];
}
static void enter() { body(); finished[now] = true; }
static void run_warp(void (*what)()) {
    body = what;
    for (int k = 0; k < 32; ++k) {
        finished[k] = false; turn[k] = 0;
        getcontext(&fiber[k]);
        fiber[k].uc_stack.ss_sp = stack[k]; fiber[k].uc_stack.ss_size = sizeof stack[k]; fiber[k].uc_link = &caller;
        makecontext(&fiber[k], enter, 0);
    }
    for (bool left = true; left;) {
        left = false;
        for (now = 0; now < 32; ++now)
            if (!finished[now]) { swapcontext(&caller, &fiber[now]); left = left || !finished[now]; }
    }
}
template <class T> static T __shfl_xor_sync(unsigned, T value, int other) {
    uint32_t word; memcpy(&word, &value, 4);
    const int me = now;
    word = exchange(word, other)[me ^ other];
    memcpy(&value, &word, 4);
    return value;
}
static unsigned __ballot_sync(unsigned, bool value) {
    const uint32_t* all = exchange(value, 100);
    unsigned bits = 0;
    for (int k = 0; k < 32; ++k) bits |= all[k] ? 1u << k : 0u;
    return bits;
}
static bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
static bool __all_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) == 0xffffffffu; }
static void __syncwarp() { exchange(0, 200); }
"""


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_int * 4)]


def _kind(type_: Any) -> str:
    if not hasattr(type_, "dtype"):
        return "int"
    numbers = {float: "float", wp.float32: "float", int: "int", wp.int32: "int"}
    return f"Array<{numbers.get(type_.dtype, 'char')}>"


class Emulator:
    """Native functions by name, each compiled when it is first needed."""

    def __init__(self, folder: Path):
        self._folder, self._source, self._fields, self._libraries = folder, {}, {}, {}

    def add(self, name: str, kernel: Any, text: str) -> None:
        args = [(arg.label, _kind(arg.type)) for arg in kernel.adj.args]
        listed = "".join(f", {kind} {label}" for label, kind in args)
        fields = "".join(f"{kind} {label}; " for label, kind in args)
        passed = "".join(f", given->{label}" for label, _ in args)
        self._source[name] = (
            f"{HEADER}\nstatic void function(int tid{listed}) {{\n{text}\n}}\n"
            f"struct Given {{ {fields} }};\nstatic Given* given;\n"
            f"static void one_lane() {{ function(now{passed}); }}\n"
            'extern "C" int run(Given* from) { given = from; mismatches = 0; run_warp(one_lane); return mismatches; }\n'
        )
        self._fields[name] = [(label, ctypes.c_int if kind == "int" else _Array) for label, kind in args]

    def run(self, name: str, inputs: list[Any]) -> None:
        if name not in self._libraries:
            stem = f"{name}_{zlib.crc32(self._source[name].encode()):08x}"  # several hands may share a folder
            made = self._folder / f"{stem}.so"
            if not made.exists():
                source = self._folder / f"{stem}.cpp"
                source.write_text(self._source[name])
                options = ["-O1", "-w", "-std=c++17", "-shared", "-fPIC"]
                subprocess.run([shutil.which("g++") or "c++", *options, "-o", str(made), str(source)], check=True)
            self._libraries[name] = ctypes.CDLL(str(made))
        given = type("Given", (ctypes.Structure,), {"_fields_": self._fields[name]})()
        for (label, kind), value in zip(self._fields[name], inputs, strict=True):
            given_value = _Array(value.ptr, (ctypes.c_int * 4)(*value.shape[:4])) if kind is _Array else value
            setattr(given, label, given_value)
        mismatches = self._libraries[name].run(ctypes.byref(given))
        assert not mismatches, f"lanes of {name} met in different places: a GPU would hang or mix up their values"


class EmulatedTouch(Touch):
    """`Touch` of a GPU without one."""

    def __init__(self, *args: Any, folder: Path, **kwargs: Any):
        self._emulator = Emulator(folder)
        super().__init__(*args, **kwargs)

    def _is_native(self) -> bool:
        return True

    def _compile(self, iterations: int) -> None:
        for s in self._solvers:
            options = self._solve_options(s, iterations)
            text = solve_text(s.grid, **options, warps=1)
            self._emulator.add(f"solve_{s.which}", solve_kernel(s.grid, **options), text)
        options = self._neighbors_options()
        kernel, text = neighbors_kernel(AT_EDGES, **options), neighbors_text(AT_EDGES, **options)
        self._emulator.add("neighbors", kernel, text)
        options = self._deposit_options()
        self._emulator.add("deposit", deposit_kernel(**options), deposit_text(**options, warps=1))

    def _solve_all(self) -> None:
        for solver in self._solvers:
            self.solve(solver)

    def solve(self, solver: Solver) -> None:
        if self.queued.numpy()[solver.which]:
            self._emulator.run(f"solve_{solver.which}", self._solve_inputs(solver, 32))

    def make_room(self) -> None:
        if self.queued.numpy()[11]:
            self._emulator.run("neighbors", self._neighbors_inputs(32))

    def lay(self) -> None:
        self._emulator.run("deposit", self._lay_inputs(32))
