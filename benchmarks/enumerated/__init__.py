"""Every plan of small questions, one by one: no code of the search is used here."""
