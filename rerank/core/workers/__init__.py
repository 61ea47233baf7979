"""Work on threads, processes and clusters."""
