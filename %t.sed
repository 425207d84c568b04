s|{k = ..}|{k = [#lnbwd.schedule<threads_per_row = 64, row_groups = 16, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>]}|
s|{k = ..}|{k = [#lnbwd.schedule<threads_per_row = 64, row_groups = 16, vector_width = 4, rows_per_workgroup = 32, workgroups_per_compute_unit = 1, prefetch = 1, unroll = 2>]}|
