"""Every text of the pages in each language, one file for each noun."""
