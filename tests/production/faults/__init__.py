"""What happens when servers are killed, cut off or full, and when clocks jump: docs/faults.md lists each test here."""
