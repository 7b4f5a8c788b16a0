"""What each part of shell text does to the state: see `control`."""
