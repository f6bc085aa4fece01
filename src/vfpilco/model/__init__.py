"""The learned dynamics: kernels, one GP per joint, posteriors, diagnostics."""
