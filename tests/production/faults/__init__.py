"""Tests with servers killed, cut off or full, and clocks that jump: docs/faults.md lists each test here."""
