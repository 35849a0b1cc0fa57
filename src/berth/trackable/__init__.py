"""Tracking: objects that find the variables and objects among their attributes."""
