"""A cluster in virtual time: the real worker and model code through seeded histories."""
