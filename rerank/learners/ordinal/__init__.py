"""Online ordinal regression over single items."""
