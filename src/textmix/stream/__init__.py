"""Documents come and go: clusters that keep their ids while texts are added and taken out, in memory or on disk."""
