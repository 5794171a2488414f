#!/bin/sh
# Compiles the patched parser with AddressSanitizer and UndefinedBehaviorSanitizer and feeds it:
# run.sh [inputs] [seed]. Inputs are chosen by libFuzzer where clang++ (CLANG) has it, else made by
# the generator in parser.cpp. Needs the patched sources of a build, in
# native/target/*/release/build/uws-*/out/sources, or in SOURCES. Ends with 77 where no compiler
# has the sanitizers.
set -e
cd "$(dirname "$0")/.."
inputs=${1:-100000}
seed=${2:-1}
sources=${SOURCES:-$(ls -dt ../target/*/release/build/uws-*/out/sources | head -1)}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

compile() {
  compiler=$1
  shift
  $compiler -std=c++20 -O1 -g -fno-sanitize-recover=all "$@" -o "$out/parser"
}
echo 'int main() {}' >"$out/empty.cpp"
echo 'extern "C" int LLVMFuzzerTestOneInput(const char *, unsigned long) { return 0; }' >"$out/fuzzed.cpp"
clang=${CLANG:-clang++}
fuzzer=-fsanitize=fuzzer,address,undefined
sanitizers=-fsanitize=address,undefined

if compile "$clang" $fuzzer "$out/fuzzed.cpp" 2>/dev/null; then
  compile "$clang" $fuzzer -I"$sources/src" -Icpp fuzz/parser.cpp
  mkdir "$out/corpus"
  # Longer inputs only where the generator makes them: they cost more than they find.
  "$out/parser" -runs="$inputs" -seed="$seed" -max_len=1024 -artifact_prefix="${ARTIFACTS:-./}" \
    -print_final_stats=1 "$out/corpus" 2>"$out/log" || { cat "$out/log" >&2; exit 1; }
  grep -E 'stat::number_of_executed_units|stat::average' "$out/log"
elif compile "${CXX:-c++}" $sanitizers "$out/empty.cpp" 2>/dev/null; then
  compile "${CXX:-c++}" $sanitizers -DWITHOUT_LIBFUZZER -I"$sources/src" -Icpp fuzz/parser.cpp
  "$out/parser" "$inputs" "$seed"
else
  echo 'no C++ compiler with sanitizers' >&2
  exit 77
fi
