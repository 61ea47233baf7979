"""The shortest distances between residues of two chains."""


def closest(
    const double[:, ::1] xyz, const long long[::1] starts, const double[:, ::1] centres,
    const double[::1] radii, Py_ssize_t first_a, Py_ssize_t last_a, Py_ssize_t first_b, Py_ssize_t last_b,
    double cutoff, double[:, ::1] squares,
):
    """Fill in the squared distance of the closest atoms of each pair of residues that is below a cutoff.

    IN xyz (n_atoms, 3); starts (n + 1): atoms of residue i are starts[i]:starts[i + 1]; centres (n, 3) and
    radii (n): a sphere around the atoms of each residue; residues first:last of two chains. IN/OUT squares
    (last_a - first_a, last_b - first_b): infinite; pairs at the cutoff or beyond it stay so.
    """
    cdef Py_ssize_t i, j, a, b
    cdef double x, y, z, reach, square, least
    with nogil:
        for i in range(first_a, last_a):
            for j in range(first_b, last_b):
                x = centres[i, 0] - centres[j, 0]
                y = centres[i, 1] - centres[j, 1]
                z = centres[i, 2] - centres[j, 2]
                reach = cutoff + radii[i] + radii[j]
                if x * x + y * y + z * z >= reach * reach:
                    continue
                least = cutoff * cutoff
                for a in range(starts[i], starts[i + 1]):
                    for b in range(starts[j], starts[j + 1]):
                        x = xyz[a, 0] - xyz[b, 0]
                        y = xyz[a, 1] - xyz[b, 1]
                        z = xyz[a, 2] - xyz[b, 2]
                        square = x * x + y * y + z * z
                        if square < least:
                            least = square
                if least < cutoff * cutoff:
                    squares[i - first_a, j - first_b] = least
