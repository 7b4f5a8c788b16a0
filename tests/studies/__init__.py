"""Questions beside the main one."""
