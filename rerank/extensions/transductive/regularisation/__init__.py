"""Score regularisation: similar items of a list get similar scores."""
