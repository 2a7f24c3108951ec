"""From a look-ahead to a started run: claims, slots, fairness and timers."""
