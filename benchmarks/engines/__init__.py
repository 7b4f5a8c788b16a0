"""Search engines of other systems: their tables read as stage problems, their objectives."""
