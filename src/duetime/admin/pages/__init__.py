"""Pages for people: rendered here, readable without scripts, in English and French."""
