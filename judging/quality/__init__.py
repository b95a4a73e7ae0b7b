"""How good the work is: agreement, alerts, gold pairs, order effects."""
