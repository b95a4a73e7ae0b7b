"""Pseudo training sets: ranking training queries block by block, and writing what was found. No Django."""
