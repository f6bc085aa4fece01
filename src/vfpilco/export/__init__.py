"""A learned policy for programs that know nothing of this package: C99, ONNX or NumPy."""
