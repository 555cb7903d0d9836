"""textmix groups texts: how many groups there are, what each is about, what fits nowhere."""

from textmix.lazy_names import lazy_names

# Numba and scikit-learn take seconds to import; `textmix --help` needs neither. The names stand in __init__.pyi.
__getattr__, __dir__, __all__ = lazy_names(__spec__)
