// A kernel that nothing says the arguments of.
	.text
	.globl k
	.p2align 8
	.type k,@function
k:
	s_endpgm

	.section .rodata,"a"
	.p2align 6
	.amdhsa_kernel k
		.amdhsa_next_free_vgpr 1
		.amdhsa_next_free_sgpr 1
	.end_amdhsa_kernel
