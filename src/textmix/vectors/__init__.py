"""Documents as unit vectors: given by the user, or made of texts or counts by an encoder."""

from textmix.lazy_names import lazy_names

# So that importing the package costs nothing: static and own vectors need SciPy, encoders may need PyTorch.
__getattr__, __dir__, __all__ = lazy_names(__spec__)
