"""The numbers of a text, regenerated: commands are run, and their numbers stand beside the printed ones."""
