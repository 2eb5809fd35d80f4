"""Runs the native functions of `thenar.batch.touch` where there is no GPU: a fiber a lane, every collective one round.

Slow, for tests only. Everything else of `Touch` runs on Warp's CPU backend.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import warp as wp

from thenar.batch.touch.device_touch import LARGE, Solver, Touch
from thenar.batch.touch.window_kernels import deposit_kernel, deposit_text, solve_kernel, solve_text

HEADER = r"""
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <ucontext.h>
using std::max; using std::min;
#define __device__
#define __forceinline__ inline
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
static int turn[32];
static void (*body)();
struct Dim { int x; };
static Dim this_lane() { return {now}; }
#define threadIdx this_lane()
// Post a word and come back when every lane has posted its own.
static uint32_t* exchange(uint32_t word) {
    const int me = now, side = turn[me];
    turn[me] ^= 1;
    box[side][me] = word;
    swapcontext(&fiber[me], &caller);
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
    word = exchange(word)[me ^ other];
    memcpy(&value, &word, 4);
    return value;
}
static unsigned __ballot_sync(unsigned, bool value) {
    const uint32_t* all = exchange(value);
    unsigned bits = 0;
    for (int k = 0; k < 32; ++k) bits |= all[k] ? 1u << k : 0u;
    return bits;
}
static bool __any_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) != 0; }
static bool __all_sync(unsigned mask, bool value) { return __ballot_sync(mask, value) == 0xffffffffu; }
static void __syncwarp() { exchange(0); }
"""


class _Array(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("shape", ctypes.c_int * 4)]


def _kind(type_: Any) -> str:
    if not hasattr(type_, "dtype"):
        return "int"
    numbers = {float: "float", wp.float32: "float", int: "int", wp.int32: "int"}
    return f"Array<{numbers.get(type_.dtype, 'char')}>"


class Emulator:
    """Compiled native functions, by name."""

    def __init__(self, folder: Path):
        self._source, self._fields, self._library, self._folder = [HEADER], {}, None, folder

    def add(self, name: str, kernel: Any, text: str) -> None:
        args = [(arg.label, _kind(arg.type)) for arg in kernel.adj.args]
        listed = "".join(f", {kind} {label}" for label, kind in args)
        fields = "".join(f"{kind} {label}; " for label, kind in args)
        passed = "".join(f", given_{name}->{label}" for label, _ in args)
        self._source.append(
            f"static void {name}(int tid{listed}) {{\n{text}\n}}\n"
            f"struct Given_{name} {{ {fields} }};\nstatic Given_{name}* given_{name};\n"
            f"static void lane_{name}() {{ {name}(now{passed}); }}\n"
            f'extern "C" void run_{name}(Given_{name}* given) {{ given_{name} = given; run_warp(lane_{name}); }}\n'
        )
        types = {"int": ctypes.c_int}
        self._fields[name] = [(label, types.get(kind, _Array)) for label, kind in args]

    def run(self, name: str, inputs: list[Any]) -> None:
        if self._library is None:
            source, made = self._folder / "emulated.cpp", self._folder / "emulated.so"
            source.write_text("\n".join(self._source))
            compiler = shutil.which("g++") or "c++"
            options = ["-O1", "-w", "-std=c++17", "-shared", "-fPIC"]
            subprocess.run([compiler, *options, "-o", str(made), str(source)], check=True)
            self._library = ctypes.CDLL(str(made))
        given = type("Given", (ctypes.Structure,), {"_fields_": self._fields[name]})()
        for (label, kind), value in zip(self._fields[name], inputs, strict=True):
            if kind is _Array:
                shape = (ctypes.c_int * 4)(*value.shape[:4])
                setattr(given, label, _Array(value.ptr, shape))
            else:
                setattr(given, label, value)
        getattr(self._library, f"run_{name}")(ctypes.byref(given))


class EmulatedTouch(Touch):
    """`Touch` of a GPU without one."""

    def __init__(self, *args: Any, folder: Path, **kwargs: Any):
        self._emulator = Emulator(folder)
        super().__init__(*args, **kwargs)

    def _is_native(self) -> bool:
        return True

    def _compile(self, iterations: int) -> None:
        for s in self._solvers:
            options: dict[str, Any] = {"cold": s.cold, "leans": s.leans, "next_grid": s.next_grid}
            options |= {"slot": self._slot, "iterations": iterations}
            text = solve_text(s.grid, **options, warps=1)
            self._emulator.add(f"solve_{s.which}", solve_kernel(s.grid, **options), text)
        options = {"slot": self._slot, "cells": LARGE * LARGE}
        self._emulator.add("deposit", deposit_kernel(**options), deposit_text(**options, warps=1))

    def solve(self, solver: Solver) -> None:
        if self.queued.numpy()[solver.which]:
            self._emulator.run(f"solve_{solver.which}", self._solve_inputs(solver, 32))

    def lay(self) -> None:
        self._emulator.run("deposit", self._lay_inputs(32))
