"""What hyperspan shows to people."""
