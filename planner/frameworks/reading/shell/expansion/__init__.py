"""What the words of shell text become: braces, values, sums, patterns."""
