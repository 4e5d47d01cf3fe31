"""Prompts: one versioned Markdown file each."""
