"""The bytes of a PDB file to its alpha carbons.

A kernel reads whole lines (each ends in a newline); 64 bytes after them must be readable. At the first bad
line it stops and returns a code of FAULTS and its place, which Python puts into words. Columns are counted
from 1 as in the description of the format, so column c of a line is its byte c - 1.
"""

from libc.math cimport fabs
from libc.string cimport memchr, memcmp

from rerank.native.formats._lines cimport Bytes

cdef extern from *:
    """
    static const double rerank_pdb_tens[9] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8};
    """
    const double* TENS "rerank_pdb_tens"

FAULTS = (
    "none", "short", "coordinate", "far", "name", "number", "shifted", "chain", "occupancy", "outside",
    "text", "record", "serial", "no room",
)

cdef enum Fault:
    NONE
    SHORT  # the line ends before z does
    COORDINATE
    FAR
    NAME  # CA of an amino acid in other columns
    NUMBER  # of the residue
    SHIFTED
    CHAIN
    OCCUPANCY
    OUTSIDE  # an atom before, between or after the models of a file that has MODEL records
    TEXT  # a byte that is not printable ASCII
    RECORD  # ATOM or HETATM in other columns, or in small letters
    SERIAL  # of a model
    NO_ROOM

cdef enum:
    X_AT = 30  # where the fields of coordinates start, and their width
    WIDTH = 8
    LINE = 54  # columns up to the end of z
    FIRST_NUMBER = -8388608

cdef double FURTHEST = 1e5  # Å


cdef struct Reader:
    Fault fault
    int column  # of the fault, from 1
    Bytes line  # of the fault
    long long n_atoms, n_rows
    long long n_models  # MODEL records, or 1 if atoms come without
    bint with_models, open
    bint rising  # keys, within every model
    bint unknown  # an alpha carbon in a HETATM record whose residue is no known amino acid
    bint modres


cdef inline bint stopped(Reader* at, Fault fault, Bytes line, int column) noexcept nogil:
    at.fault = fault
    at.line = line
    at.column = column
    return False


cdef inline bint starts(Bytes p, const char* word, Py_ssize_t n) noexcept nogil:
    return memcmp(p, word, <size_t>n) == 0


cdef inline bint fixed(Bytes p, int width, double* value) noexcept nogil:
    """Read a decimal number that ends at the end of a field, with blanks before it and a point in it."""
    cdef int i = 0
    cdef bint negative
    cdef unsigned int digit
    cdef long long whole = 0
    cdef int digits = 0, places = -1
    while i < width and p[i] == c' ':
        i += 1
    negative = i < width and p[i] == c'-'
    if i < width and (p[i] == c'-' or p[i] == c'+'):
        i += 1
    while i < width:
        digit = <unsigned int>p[i] - c'0'
        if digit < 10:
            whole = 10 * whole + digit
            digits += 1
            places += places >= 0
        elif p[i] == c'.' and places < 0:
            places = 0
        else:
            return False
        i += 1
    if digits == 0 or places < 0:
        return False
    value[0] = <double>whole / TENS[places]
    if negative:
        value[0] = -value[0]
    return True


cdef inline bint coordinates(Reader* at, Bytes p, double* xyz) noexcept nogil:
    cdef int axis
    for axis in range(3):
        if not fixed(p + X_AT + WIDTH * axis, WIDTH, &xyz[axis]):
            return stopped(at, COORDINATE, p, X_AT + WIDTH * axis + 1)
        if fabs(xyz[axis]) > FURTHEST:
            return stopped(at, FAR, p, X_AT + WIDTH * axis + 1)
    return True


cdef inline int letter_of(
    unsigned int name, const unsigned int[::1] names, const unsigned char[::1] letters
) noexcept nogil:
    """The letter of a residue name, 0 if it is not among the sorted ``names``."""
    cdef Py_ssize_t low = 0, high = names.shape[0], middle
    while low < high:
        middle = (low + high) >> 1
        if names[middle] < name:
            low = middle + 1
        else:
            high = middle
    return letters[low] if low < names.shape[0] and names[low] == name else 0


cdef inline unsigned int residue_name(Bytes p) noexcept nogil:
    """The three letters of columns 18-20, or with a letter in column 21 all four, packed."""
    cdef unsigned int name = <unsigned int>p[17] << 16 | <unsigned int>p[18] << 8 | p[19]
    return name if p[20] == c' ' else name << 8 | p[20]


cdef inline bint residue_key(Reader* at, Bytes p, unsigned long long* key) noexcept nogil:
    """Chain, number and insertion code of an atom, packed as in rerank.data.columns.traces."""
    cdef int i = 22
    cdef bint negative
    cdef int digits = 0
    cdef long long number = 0
    cdef unsigned int digit
    cdef unsigned long long chain = p[21] if p[21] != c' ' else 0
    cdef unsigned long long insertion = p[26] if p[26] != c' ' else 0
    while i < 26 and p[i] == c' ':
        i += 1
    negative = i < 26 and p[i] == c'-'
    i += negative
    while i < 26:
        digit = <unsigned int>p[i] - c'0'
        if digit >= 10:
            return stopped(at, NUMBER, p, 23)
        number = 10 * number + digit
        digits += 1
        i += 1
    if digits == 0:
        return stopped(at, NUMBER, p, 23)
    if c'0' <= insertion <= c'9':
        return stopped(at, NUMBER, p, 27)
    if p[27] != c' ' or p[28] != c' ' or p[29] != c' ':
        return stopped(at, SHIFTED, p, 28)
    number = (-number if negative else number) - FIRST_NUMBER
    key[0] = chain << 56 | <unsigned long long>number << 8 | insertion
    return True


cdef inline bint occupancy_of(Reader* at, Bytes p, Bytes end, double* value) noexcept nogil:
    """The occupancy in columns 55-60; 1 if they are blank or the line ends before them."""
    cdef unsigned char[6] field
    cdef int n = <int>min(end - p - LINE, 6)
    cdef int i
    cdef bint blank = True
    value[0] = 1.0
    for i in range(n):
        field[i] = p[LINE + i]
        blank = blank and field[i] == c' '
    if blank:
        return True
    if not fixed(field, n, value):
        return stopped(at, OCCUPANCY, p, 55)
    return True


cdef inline bint plain(Reader* at, Bytes p, Bytes end) noexcept nogil:
    """Whether a line is printable ASCII."""
    cdef Py_ssize_t n = end - p, i
    cdef unsigned char worst = 0
    for i in range(n):
        worst |= (p[i] < 32) | (p[i] > 126)
    if worst:
        i = 0
        while 32 <= p[i] <= 126:
            i += 1
        return stopped(at, TEXT, p, <int>min(i + 1, 1 << 20))
    return True


cdef inline Bytes trimmed(Bytes p, Bytes end) noexcept nogil:
    """The end of a line without carriage returns and blanks."""
    while end > p and ((end - 1)[0] == c'\r' or (end - 1)[0] == c' '):
        end -= 1
    return end


cdef inline bint is_atom(Bytes p) noexcept nogil:
    return starts(p, b"ATOM", 4) and (p[4] <= c' ' or c'0' <= p[4] <= c'9')


cdef inline bint is_calcium(Bytes p, Bytes end) noexcept nogil:
    """Whether an atom named " CA " is calcium by the name of its residue or its element, columns 77-78."""
    if starts(p + 17, b" CA", 3) or starts(p + 17, b"CA ", 3):
        return True
    return end - p >= 78 and starts(p + 76, b"CA", 2)


cdef bint misplaced(Bytes p, Bytes end) noexcept nogil:
    """Whether a line that is no record of atoms looks like one: blanks before it, or small letters."""
    cdef int i
    cdef unsigned char[6] word
    while p < end and (p[0] == c' ' or p[0] == c'\t'):
        p += 1
    if end - p < 6:
        return False
    for i in range(6):
        word[i] = p[i] - 32 if c'a' <= p[i] <= c'z' else p[i]
    if starts(word, b"HETATM", 6):
        return True
    return starts(word, b"ATOM", 4) and (word[4] == c' ' or word[4] == c'\t' or c'0' <= word[4] <= c'9')


cdef bint model_serial(Reader* at, Bytes p, Bytes end, long long* serial) noexcept nogil:
    """The number after MODEL, -1 if there is none."""
    cdef Bytes q = p + 5, first
    serial[0] = -1
    while q < end and q[0] == c' ':
        q += 1
    if q == end:
        return True
    serial[0] = 0
    first = q
    while q < end and c'0' <= q[0] <= c'9' and serial[0] < 1000000000:
        serial[0] = 10 * serial[0] + (q[0] - c'0')
        q += 1
    # Old files of CASP have a word after the number: MODEL  1  REFINED
    return True if q == end or (q > first and q[0] == c' ') else stopped(at, SERIAL, p, 7)


def read_atoms(
    const unsigned char[::1] text, const unsigned int[::1] names, const unsigned char[::1] letters, atoms,
    long long[:, ::1] models,
):
    """Read the alpha carbons of a file in its order.

    IN text (n_bytes), whole lines; names, letters (n_names): residue names of amino acids, packed and sorted,
    and their letters. OUT atoms, a row for each alpha carbon: keys, xyz (n, 3), residues (the letter; 0 if it
    is a HETATM whose name is not in ``names``), altlocs, occupancies, found (the packed residue name), places
    (where its line starts in ``text``). OUT models (m, 4): serial (-1 = none), its line's place, first row,
    atoms before it. Without MODEL records there is one model, whose serial is -2.

    Returns (fault, place of its line, column, rows, models, atoms, whether keys rise within every model,
    whether any letter is 0, whether there are MODRES records). With NO_ROOM the rest is meaningless.
    """
    cdef unsigned long long[::1] keys
    cdef double[:, ::1] xyz
    cdef double[::1] occupancies
    cdef unsigned char[::1] residues, altlocs
    cdef unsigned int[::1] found
    cdef long long[::1] places
    cdef Reader at
    cdef Bytes start = &text[0]
    cdef Bytes p = start
    cdef Bytes stop = p + text.shape[0]
    cdef Bytes line_end, end
    cdef unsigned int name
    cdef int letter
    cdef bint atom
    cdef double[3] position
    cdef long long row
    keys, xyz, residues, altlocs, occupancies, found, places = atoms
    at.fault = NONE
    at.column = 0
    at.line = start
    at.n_atoms = 0
    at.n_rows = 0
    at.n_models = 0
    at.with_models = False
    at.open = False
    at.rising = True
    at.unknown = False
    at.modres = False
    with nogil:
        while p < stop:
            line_end = <Bytes>memchr(p, c'\n', <size_t>(stop - p))
            atom = is_atom(p)
            if not atom and not starts(p, b"HETATM", 6):
                end = trimmed(p, line_end)
                if not other_record(&at, p, end, start, models):
                    break
                p = line_end + 1
                continue
            end = line_end
            if end - p < LINE + 1:
                end = trimmed(p, end)
                if end - p < LINE:
                    if plain(&at, p, end):
                        stopped(&at, SHORT, p, <int>(end - p))
                    break
            at.n_atoms += 1
            if at.with_models and not at.open:
                stopped(&at, OUTSIDE, p, 1)
                break
            if not starts(p + 12, b" CA ", 4):
                # Fields of other atoms are read only if columns are in doubt.
                if p[34] != c'.' or p[42] != c'.' or p[50] != c'.' or p[LINE - 1] <= c' ':
                    if not plain(&at, p, trimmed(p, end)) or not coordinates(&at, p, position):
                        break
                if p[13] == c'A' or p[15] == c'A':  # "CA  " or "  CA"
                    if starts(p + 12, b"CA  ", 4) or starts(p + 12, b"  CA", 4):
                        if letter_of(residue_name(p), names, letters):
                            stopped(&at, NAME, p, 13)
                            break
                p = line_end + 1
                continue
            end = trimmed(p, end)
            if is_calcium(p, end):
                p = line_end + 1
                continue
            row = at.n_rows
            if row == keys.shape[0]:
                stopped(&at, NO_ROOM, p, 0)
                break
            if not plain(&at, p, end) or not coordinates(&at, p, &xyz[row, 0]):
                break
            if not residue_key(&at, p, &keys[row]) or not occupancy_of(&at, p, end, &occupancies[row]):
                break
            name = residue_name(p)
            letter = letter_of(name, names, letters)
            if letter == 0 and p[20] != c' ' and letter_of(name >> 8, names, letters):
                stopped(&at, CHAIN, p, 21)  # an amino acid, then a chain of two letters or a shift
                break
            if letter == 0 and atom:
                letter = c'X'
            at.unknown |= letter == 0
            residues[row] = <unsigned char>letter
            found[row] = name
            altlocs[row] = p[16]
            places[row] = p - start
            if at.n_models == 0:
                at.n_models = 1
                models[0, 0] = -2
                models[0, 1] = p - start
                models[0, 2] = 0
                models[0, 3] = 0
            elif row > models[at.n_models - 1, 2] and keys[row] <= keys[row - 1]:
                at.rising = False
            at.n_rows += 1
            p = line_end + 1
    return (
        at.fault, at.line - start, at.column, at.n_rows, at.n_models, at.n_atoms, at.rising, at.unknown,
        at.modres,
    )


cdef inline unsigned int atom_name(Bytes p) noexcept nogil:
    """The name in columns 13-16 without blanks, packed; 0 for hydrogen and deuterium."""
    cdef unsigned int name = 0
    cdef bint first = True
    cdef int i
    for i in range(12, 16):
        if p[i] == c' ':
            continue
        if first and not c'0' <= p[i] <= c'9':
            if p[i] == c'H' or p[i] == c'D':
                return 0
            first = False
        name = name << 8 | p[i]
    return name


def read_heavy(const unsigned char[::1] text, long long wanted, atoms):
    """Read all atoms but hydrogens of one model, in the order of the file; ``read_atoms`` found no fault.

    IN text (n_bytes), whole lines; wanted: the number of the model from 0, or -1 without MODEL records. OUT
    atoms, a row for each atom: keys, xyz (n, 3), names (of atoms, packed), residues (their names, packed),
    altlocs, occupancies, places (where the line starts in ``text``).

    Returns (fault, place of its line, column, rows).
    """
    cdef unsigned long long[::1] keys
    cdef double[:, ::1] xyz
    cdef double[::1] occupancies
    cdef unsigned char[::1] altlocs
    cdef unsigned int[::1] names, residues
    cdef long long[::1] places
    cdef Reader at
    cdef Bytes start = &text[0]
    cdef Bytes p = start
    cdef Bytes stop = p + text.shape[0]
    cdef Bytes line_end, end
    cdef unsigned int name
    cdef long long model = -1, row = 0
    keys, xyz, names, residues, altlocs, occupancies, places = atoms
    at.fault = NONE
    at.column = 0
    at.line = start
    with nogil:
        while p < stop:
            line_end = <Bytes>memchr(p, c'\n', <size_t>(stop - p))
            if starts(p, b"MODEL", 5) and p[5] <= c' ':
                model += 1
            elif model == wanted and (is_atom(p) or starts(p, b"HETATM", 6)):
                name = atom_name(p)
                if name:
                    end = trimmed(p, line_end)
                    if not plain(&at, p, end) or not coordinates(&at, p, &xyz[row, 0]):
                        break
                    if not residue_key(&at, p, &keys[row]):
                        break
                    if not occupancy_of(&at, p, end, &occupancies[row]):
                        break
                    names[row] = name
                    residues[row] = residue_name(p)
                    altlocs[row] = p[16]
                    places[row] = p - start
                    row += 1
            p = line_end + 1
    return at.fault, at.line - start, at.column, row


cdef bint other_record(Reader* at, Bytes p, Bytes end, Bytes start, long long[:, ::1] models) noexcept nogil:
    """Take note of MODEL, ENDMDL and MODRES; refuse lines that seem to be atoms, and binary ones."""
    cdef Py_ssize_t n = end - p, i
    for i in range(n):
        if p[i] < 32 and p[i] != c'\t':
            return stopped(at, TEXT, p, <int>min(i + 1, 1 << 20))
    if end - p >= 5 and starts(p, b"MODEL", 5) and (end - p == 5 or p[5] == c' '):
        if at.n_atoms and not at.with_models:
            return stopped(at, OUTSIDE, p, 0)
        if at.n_models == models.shape[0]:
            return stopped(at, NO_ROOM, p, 0)
        if not plain(at, p, end) or not model_serial(at, p, end, &models[at.n_models, 0]):
            return False
        models[at.n_models, 1] = p - start
        models[at.n_models, 2] = at.n_rows
        models[at.n_models, 3] = at.n_atoms
        at.n_models += 1
        at.with_models = True
        at.open = True
        return True
    if end - p >= 6 and starts(p, b"ENDMDL", 6):
        at.open = False
        return True
    if end - p >= 6 and starts(p, b"MODRES", 6):
        at.modres = True
        return True
    return stopped(at, RECORD, p, 1) if misplaced(p, end) else True
