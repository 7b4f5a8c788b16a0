"""What questions say of a run as a whole: `phases`, and in `outage` what of its machine is down."""
