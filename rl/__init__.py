"""Reinforcement learning: rewards (advantages, losses and trainers follow)."""
