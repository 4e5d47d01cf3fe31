"""What ``sandbox.py`` measures: each module makes arms of one kind; an arm is one thing to time."""
