"""Signal processing: Fourier transforms, frames, windows, cosine transforms, spectrograms."""
