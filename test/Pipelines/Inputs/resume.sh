# Part of the lnbwd project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# resume.sh OPT FOLDER CODE FIRST STEP OPTION...: goes on from each stage of --save-temps in FOLDER whose
# number is FIRST, FIRST + STEP and so on, by OPT, lnbwd-opt, with these options, and compares what comes
# out with CODE. Prints how many stages there were.
set -euo pipefail
opt=$1 folder=$2 code=$3 first=$4 step=$5
shift 5
count=0
for stage in "$folder"/*.mlir; do
  pass=$(basename "$stage" .mlir)
  pass=${pass#*-}
  [[ $pass == input ]] && continue
  if ((count % step == first)); then
    "$opt" "$stage" "$@" --start-after="$pass" -o "$folder/resumed"
    cmp "$code" "$folder/resumed" || { echo "behind $pass other code comes out"; exit 1; }
  fi
  count=$((count + 1))
done
echo "$count stages lead to the same code"
