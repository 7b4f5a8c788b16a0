"""`python -m planner` is the command `planner`."""

from planner.cli.entry import main

if __name__ == "__main__":
    main()
