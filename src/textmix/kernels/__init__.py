"""Every compiled function."""
