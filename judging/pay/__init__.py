"""Hours and money: rates, corrections, statements, the forecast."""
