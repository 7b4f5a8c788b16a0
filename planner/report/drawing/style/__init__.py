"""What parts of a picture look like: colours light and dark, tones, hatches, shapes of dots.

One table for all charts: a part looks the same wherever it is drawn. Begin with `looks`.
"""
