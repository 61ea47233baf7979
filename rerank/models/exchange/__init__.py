"""Models for and from other programs: whole models in the formats of servers, databases and other tools."""
