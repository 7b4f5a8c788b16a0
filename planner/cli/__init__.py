"""The command line: thin commands, one file per group; nothing else imports it."""
