"""Seeds: the real tasks that synthesis starts from."""
