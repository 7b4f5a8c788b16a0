"""The pages: their commands, examples, links and pictures."""
