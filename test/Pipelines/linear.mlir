// RUN: lnbwd-opt %examples/layer_norm_linear.mlir --lnbwd-gpu-pipeline=chip=gfx942 | FileCheck %s
// RUN: lnbwd-opt %examples/layer_norm_linear.mlir --lnbwd-differentiate="saved=mean,rstd" | lnbwd-opt - --lnbwd-gpu-pipeline=chip=gfx942 | FileCheck %s --check-prefix=BWD

// The normalised rows with the statistics, and their product with the bias. A
// matrix is a column of the plan; rows between kernels have as many as the launch.
// CHECK:     \22name\22:\22layer_norm_linear\22
// CHECK:     \22kind\22:\22column\22,\22name\22:\22w\22,\22row_length\22:15360
// CHECK:     \22row_length\22:96,\22rows\22:{\22rows\22:true}
// CHECK:     gpu.launch_func @layer_norm_linear_kernels::@layer_norm_linear_rows_0
// CHECK:     gpu.launch_func @layer_norm_linear_kernels::@layer_norm_linear blocks
// CHECK-NOT: gpu.launch_func

// Of the gradient: dW, of rounded rows, and dz first; then dx, dgamma and dbeta,
// and dy's sum. The plan knows what it is.
// BWD:       \22name\22:\22layer_norm_linear_bwd\22
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_matmul_0 blocks in (%c
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_matmul_0_finalize
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_matmul_1
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_of_96 blocks
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_of_96_finalize
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_of_160 blocks
// BWD:       gpu.launch_func {{.*}}@layer_norm_linear_bwd_of_160_finalize
// BWD-NOT:   gpu.launch_func
