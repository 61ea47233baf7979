"""SVMlight and LETOR."""
