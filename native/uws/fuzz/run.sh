#!/bin/sh
# Compiles the patched parser with AddressSanitizer and feeds it: run.sh [inputs] [seed]. Needs the
# patched sources of a build: native/target/*/release/build/uws-*/out/sources.
set -e
cd "$(dirname "$0")/.."
sources=${SOURCES:-$(ls -dt ../target/*/release/build/uws-*/out/sources | head -1)}
out=$(mktemp -d)
c++ -std=c++20 -O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -DUWS_WITH_PROXY \
  -I"$sources/src" -Icpp fuzz/parser.cpp -o "$out/parser"
"$out/parser" "${1:-100000}" "${2:-1}"
rm -r "$out"
