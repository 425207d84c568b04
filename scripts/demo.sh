#!/usr/bin/env bash
# From one MLIR operation to a validated AMD code object, on any machine:
# installs what is needed (Debian 12), builds the tools and the libraries of the
# Python package, compiles examples/layer_norm_bwd.mlir for the chip that is
# simulated by default, executes the code object on the simulator and compares all
# three gradients with a float64 reference. Then it predicts how long a card would
# take, and says where the tools are. Exits with the runner's code: 0 is valid.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
takes_no_arguments "$@"

install_packages
configure
build lnbwd-python

chip=$(chips_of default)
kernel=$build_dir/demo-$chip.hsaco
say "Compiling examples/layer_norm_bwd.mlir for $chip"
"$build_dir/bin/lnbwd-opt" "$source_dir/examples/layer_norm_bwd.mlir" \
  --lnbwd-pipeline="chip=$chip" --emit=hsaco --save-temps="$build_dir/demo-stages" -o "$kernel"
"$llvm_dir/bin/llvm-readelf" --file-header "$kernel" | grep -E 'Machine|Flags'
echo "The IR after each stage is in $build_dir/demo-stages"

say "Executing $kernel on the simulator, 64 rows"
"$build_dir/bin/lnbwd-run" "$kernel" --m 64 --device sim --verify

say "Predicting a card's time for 8192 rows (simulator/docs/simulator.md)"
"$build_dir/bin/lnbwd-run" "$kernel" --m 8192 --device sim --predict

say "Where things are"
echo "lnbwd-opt, lnbwd-run and lnbwd-sim: export PATH=$build_dir/bin:\$PATH"
echo "The Python package: pip install $source_dir"
