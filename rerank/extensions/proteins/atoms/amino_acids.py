"""Names of residues that are amino acids, and the letters of them."""

from __future__ import annotations

_STANDARD = {
    "ALA": "A", "ARG": "R", "ASN": "N", "ASP": "D", "ASX": "B", "CYS": "C", "GLN": "Q", "GLU": "E",
    "GLX": "Z", "GLY": "G", "HIS": "H", "ILE": "I", "LEU": "L", "LYS": "K", "MET": "M", "PHE": "F",
    "PRO": "P", "SER": "S", "THR": "T", "TRP": "W", "TYR": "Y", "UNK": "X", "VAL": "V",
}  # fmt: skip

# By the letter of the parent: what HETATM records may hold beside the names above, as gemmi tabulates it from
# the chemical component dictionary of the PDB, without chromophores, which are made of several residues.
_MODIFIED = {
    "A": "ABA AIB ALC DAB DAL MAA MDO ORN",
    "C": "CAF CAS CME CSD CSO CSS CSX DCY OCS SCH SCY SEC SMC SNC YCM",
    "D": "0TD BFD DAS IAS PHD",
    "E": "B3E CGU DGL FGA PCA",
    "F": "DPN MEA PHI PHL",
    "G": "GHP GL3 SAR",
    "H": "DHI HIC MHS NEP",
    "I": "DIL",
    "K": "ALY DLY KCX KPI LLP M3L MLY MLZ PYL",
    "L": "DLE MK8 MLE NLE",
    "M": "CXM FME MED MHO MSE NRQ SME",
    "N": "DSG MEN SNN",
    "P": "DPR HYP",
    "Q": "DGN MEQ",
    "R": "AGM CIR DAR",
    "S": "CSH DHA DSN GYS OAS SAC SEP",
    "T": "BMT DTH TPO",
    "V": "DVA FVA MVA",
    "W": "0AF DTR TOX TRQ",
    "Y": "DTY OMY PTR TPQ TYS",
}

# Protonation states and ends of chains as force fields name them, up to four letters from column 18 on.
_STATES = {
    "C": "CYX CYM CYSH CYS1 CYS2",
    "D": "ASH ASPH ASPP",
    "E": "GLH GLUH GLUP",
    "H": "HID HIE HIP HSD HSE HSP HISA HISB HISD HISE HISH HISP HIS1 HIS2",
    "K": "LYN LYSH LYSN",
    "R": "ARGN",
}

LETTERS = {
    **_STANDARD,
    **{
        name: letter
        for table in (_MODIFIED, _STATES)
        for letter, names in table.items()
        for name in names.split()
    },
}
# AMBER: N or C before the name of the first or last residue of a chain.
LETTERS |= {
    end + name: letter
    for end in "NC"
    for name, letter in (_STANDARD | {"HID": "H", "HIE": "H", "HIP": "H", "CYX": "C"}).items()
}
