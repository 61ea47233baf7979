"""What an evaluation looks like to a reader: tables for people, JSON and TSV for programs."""
