"""Pairs of residues of a structure that are too close, found through cells as wide as the limit."""

from libc.math cimport floor


cdef inline unsigned long long bucket_of(
    long long x, long long y, long long z, unsigned long long mask
) noexcept nogil:
    return (
        (<unsigned long long>x * 73856093ULL)
        ^ (<unsigned long long>y * 19349663ULL)
        ^ (<unsigned long long>z * 83492791ULL)
    ) & mask


def clashes(
    const long long[::1] offsets,
    const double[:, ::1] xyz,
    const unsigned char[::1] follows,
    double width,
    double limit,
    double neighbour_limit,
    long long most,
    int[::1] heads,
    int[::1] chained,
    int[:, ::1] cells,
    long long[::1] out,
):
    """Count the pairs of residues of each structure whose squared distance is below a limit.

    IN offsets (n + 1): residues of structure i are offsets[i]:offsets[i + 1]. IN xyz (n_residues, 3).
    IN follows (n_residues): whether the residue is the neighbour in its chain of the one before it. The
    squared distance of neighbours must be below ``neighbour_limit``, of others below ``limit``. IN most:
    where the count of a structure ends, so that residues at one point do not take quadratic time. IN
    width: of cells, at least the root of both limits. Coordinates / width must fit 31 bits.
    Workspace heads: -1 in each entry, a power of two of them, and so on return; chained (longest),
    cells (longest, 3): overwritten. OUT out (n).
    """
    cdef Py_ssize_t s, i, first, n, done
    cdef int j, x, y, z, axis
    cdef double dx, dy, dz, square
    cdef unsigned long long here
    cdef unsigned long long mask = <unsigned long long>heads.shape[0] - 1
    cdef long long found
    with nogil:
        for s in range(out.shape[0]):
            first = offsets[s]
            n = offsets[s + 1] - first
            found = 0
            done = 0
            while done < n and found < most:
                i = done
                done += 1
                for axis in range(3):
                    cells[i, axis] = <int>floor(xyz[first + i, axis] / width)
                for x in range(cells[i, 0] - 1, cells[i, 0] + 2):
                    for y in range(cells[i, 1] - 1, cells[i, 1] + 2):
                        for z in range(cells[i, 2] - 1, cells[i, 2] + 2):
                            j = heads[bucket_of(x, y, z, mask)]
                            while j >= 0:
                                if cells[j, 0] == x and cells[j, 1] == y and cells[j, 2] == z:
                                    dx = xyz[first + i, 0] - xyz[first + j, 0]
                                    dy = xyz[first + i, 1] - xyz[first + j, 1]
                                    dz = xyz[first + i, 2] - xyz[first + j, 2]
                                    square = dx * dx + dy * dy + dz * dz
                                    if j == i - 1 and follows[first + i]:
                                        found += square < neighbour_limit
                                    else:
                                        found += square < limit
                                j = chained[j]
                here = bucket_of(cells[i, 0], cells[i, 1], cells[i, 2], mask)
                chained[i] = heads[here]
                heads[here] = <int>i
            for i in range(done):
                heads[bucket_of(cells[i, 0], cells[i, 1], cells[i, 2], mask)] = -1
            out[s] = min(found, most)
