"""Reinforcement learning: rewards, advantages, groups and losses (trainers follow)."""
