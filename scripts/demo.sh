#!/usr/bin/env bash
# From one MLIR operation to a validated AMD code object, on any machine:
# installs what is needed (Debian 12), builds, compiles examples/layer_norm_bwd.mlir
# for the chip that is simulated by default, executes the code object on the simulator and compares all three
# gradients with a float64 reference. Last, it predicts how long a card would
# take. Exits with the runner's code: 0 is valid.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"

install_packages
configure
build lnbwd-opt lnbwd-run lnbwd-hip-sim

chip=$(chips_of default)
kernel=$build_dir/demo-$chip.hsaco
say "Compiling examples/layer_norm_bwd.mlir for $chip"
"$build_dir/bin/lnbwd-opt" "$source_dir/examples/layer_norm_bwd.mlir" \
  --lnbwd-pipeline="chip=$chip" --emit=hsaco --save-temps="$build_dir/demo-stages" -o "$kernel"
"$llvm_dir/bin/llvm-readelf" --file-header "$kernel" | grep -E 'Machine|Flags'
echo "The IR after each stage is in $build_dir/demo-stages"

say "Executing $kernel on the simulator, 64 rows"
"$build_dir/bin/lnbwd-run" "$kernel" --m 64 --device sim --verify

say "Predicting a card's time for 8192 rows (docs/timing-model.md)"
exec "$build_dir/bin/lnbwd-run" "$kernel" --m 8192 --device sim --predict
