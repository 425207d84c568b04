#!/usr/bin/env bash
# Writes the generated parts of the documentation anew: docs/reference/ from
# TableGen files and data, and in docs/*.md and README.md everything between the markers
# "<!-- generated: NAME -->" and "<!-- end -->" from what the compiler prints.
# Needs a built compiler in $LNBWD_BUILD_DIR, or else in build/.
#
#   scripts/update-docs.sh [PAGE...]          rewrites what is stale
#   scripts/update-docs.sh --check [PAGE...]  names what is stale and exits with 1
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

exec python3 "$source_dir/scripts/update_docs.py" \
  --build "$build_dir" --llvm "$llvm_dir" "$@"
