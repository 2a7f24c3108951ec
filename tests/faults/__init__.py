"""Faults for real processes, real servers and real wires; and the campaigns that deal them."""
