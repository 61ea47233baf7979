"""Structures of proteins: PDB files, mmCIF, folders and archives of models, and natives beside them."""
