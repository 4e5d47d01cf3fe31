#!/usr/bin/env bash
# A whole training on one GPU in at most 8 minutes, installation included, on a machine from which nothing can be downloaded.
#
#   benchmarks/h200.sh wheels           here: fetch into .h200/ what that machine lacks (benchmarks/h200-wheels.txt)
#   benchmarks/h200.sh run              there, in a copy of this folder: install it, then run benchmarks/h200.py
#   benchmarks/h200.sh run --rehearse   the same with a tiny shape on a CPU, to see that all fits together
#
# There, $PYTHON (python3) is Python 3.12 with PyTorch, transformers, pandas, scikit-learn and pyarrow; the wheels go into
# its environment. What is measured goes to $OUT (h200-out) as h200.log and h200.json, also if the time ran out. git ignores
# .h200/: a copy that leaves out what git ignores needs it named.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3} deadline=450  # seconds from the start, and 25 more to tell what was measured

wheels() {
    local platforms=()
    for tag in manylinux_2_34 manylinux_2_31 manylinux_2_28 manylinux_2_27 manylinux_2_24 manylinux_2_17 manylinux2014 manylinux1; do
        platforms+=(--platform "${tag}_x86_64")
    done
    rm -rf .h200
    "$python" -m pip download -q --no-deps --only-binary=:all: --python-version 3.12 --implementation cp \
        "${platforms[@]}" -d .h200 -r benchmarks/h200-wheels.txt
    du -sh .h200
}

limited() { timeout --foreground --signal=INT --kill-after=25 $((deadline - SECONDS)) "$@"; }

install() { limited "$python" -m pip install -q --no-index --no-deps --no-compile "$@"; }

run() {
    local out=${OUT:-h200-out}
    [[ " $* " == *" --rehearse "* ]] && deadline=86400  # a CPU may take as long as it likes
    if ! compgen -G ".h200/*.whl" > /dev/null; then
        echo "no wheels in .h200/: run 'benchmarks/h200.sh wheels' where there is a network, and carry .h200/ along" >&2
        exit 2
    fi
    mkdir -p "$out"
    install .h200/*.whl
    install --no-build-isolation .
    export PYTHONUNBUFFERED=1 HF_HUB_OFFLINE=1
    limited "$python" benchmarks/h200.py --json "$out/h200.json" "$@" 2>&1 | tee -i "$out/h200.log"
}

case "${1:-}" in
    wheels) wheels ;;
    run) run "${@:2}" ;;
    *) sed -n '2,10p' "$0"; exit 2 ;;
esac
