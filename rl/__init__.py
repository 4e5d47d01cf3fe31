"""Reinforcement learning: rewards, advantages, groups and losses; rollouts, engines, the trainer, and exports."""
