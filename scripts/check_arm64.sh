#!/bin/sh
# Compiles the C kernels for arm64, and compares what they compute with this machine's where qemu can run them.
set -e
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
for compiler in cc aarch64-linux-gnu-gcc; do
    mkdir "$place/$compiler"
    cp -r src/hyperspan/kernels/native "$place/$compiler/"
    rm -f "$place/$compiler/native/libkernels.so"
    CC=$compiler "${PYTHON:-python3}" "$place/$compiler/native/build.py"
    $compiler -O2 -std=gnu11 scripts/smoke.c src/hyperspan/kernels/native/threads.c "$place/$compiler/native/libkernels.so" -lm -pthread \
        -Wl,-rpath,"$place/$compiler/native" -o "$place/$compiler/smoke"
done
here=$("$place/cc/smoke")
emulator=$(command -v qemu-aarch64-static || command -v qemu-aarch64) || { echo "compiled; install qemu-user to run it"; exit 0; }
there=$("$emulator" -L /usr/aarch64-linux-gnu "$place/aarch64-linux-gnu-gcc/smoke")
echo "this machine: $here"
echo "arm64:        $there"
[ "$here" = "$there" ]
