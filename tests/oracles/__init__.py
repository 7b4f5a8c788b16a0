"""Independent reference implementations that the package is tested against."""
