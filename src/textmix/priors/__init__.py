"""Priors on partitions: how clusters come about."""
