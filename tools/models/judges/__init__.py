"""Judges: does a text support a statement?"""
