"""What kernels of text metrics read: texts of candidates and references, or their tokens as numbers."""

import numpy as np


cdef class Texts:
    """The texts of the candidates of lists and of the lists' references.

    IN texts, a column (``data`` uint8, ``offsets`` int64), one text per item; references, some such columns,
    one text per list in each; offsets (n_lists + 1). ``reference_bytes`` (n_lists): the bytes of each list's
    references.
    """

    def __init__(self, texts, references, const long long[::1] offsets):
        begins = np.cumsum([0, *[len(column.data) for column in references]])
        bounds = [begin + column.offsets for begin, column in zip(begins, references)]
        cdef const unsigned char[::1] text = np.ascontiguousarray(texts.data)
        cdef const long long[::1] text_offsets = np.ascontiguousarray(texts.offsets)
        cdef const unsigned char[::1] reference = np.concatenate([column.data for column in references])
        cdef const long long[:, ::1] starts = np.stack([b[:len(b) - 1] for b in bounds], axis=1)
        cdef const long long[:, ::1] stops = np.stack([b[1:] for b in bounds], axis=1)
        cdef Sides* sides = &self.sides
        self.held = (text, text_offsets, offsets, reference, starts, stops)
        self.reference_bytes = (np.asarray(stops) - starts).sum(axis=1)
        sides.n_lists = offsets.shape[0] - 1
        sides.n_references = starts.shape[1]
        sides.offsets = &offsets[0]
        sides.text = &text[0] if text.shape[0] else NULL
        sides.text_limit = sides.text + text.shape[0]
        sides.text_offsets = &text_offsets[0]
        sides.reference = &reference[0] if reference.shape[0] else NULL
        sides.reference_limit = sides.reference + reference.shape[0]
        sides.starts = &starts[0, 0] if starts.shape[0] else NULL
        sides.stops = &stops[0, 0] if stops.shape[0] else NULL


cdef class Numbers:
    """Tokens of the lists first:stop of ``texts`` as numbers; ``_numbers.number`` writes them.

    From 1: those in a list's references, and all ASCII characters; 0: the others. ``offsets`` are those of
    the lists among all items.
    """

    def __init__(self, Texts texts, Py_ssize_t first, Py_ssize_t stop, bint many):
        cdef const Sides* s = &texts.sides
        cdef Ids* to = &self.here
        cdef Py_ssize_t n_texts = s.offsets[stop] - s.offsets[first]
        cdef Py_ssize_t n_references = (stop - first) * s.n_references
        # One number per byte if there are ``many``, else for half of the bytes; and one per text.
        cdef Py_ssize_t room = s.text_offsets[s.offsets[stop]] - s.text_offsets[s.offsets[first]] + n_texts
        cdef Py_ssize_t reference_room = int(texts.reference_bytes[first:stop].sum()) + n_references
        cdef int[::1] ids = np.empty((room if many else room // 2) + 1, dtype=np.int32)
        cdef long long[::1] bounds = np.zeros(n_texts + 1, dtype=np.int64)
        cdef int[::1] reference_ids = np.zeros(
            (reference_room if many else reference_room // 2) + 1, dtype=np.int32
        )
        cdef long long[::1] reference_bounds = np.zeros(n_references + 1, dtype=np.int64)
        self.offsets = np.asarray(texts.held[2])[first : stop + 1]
        cdef const long long[::1] offsets = self.offsets
        self.ids = ids
        self.bounds = np.asarray(bounds)
        self.reference_ids = np.asarray(reference_ids)
        self.reference_bounds = np.asarray(reference_bounds)
        to.n_lists = stop - first
        to.n_references = s.n_references
        to.offsets = &offsets[0]
        to.ids = &ids[0]
        to.bounds = &bounds[0]
        to.reference_ids = &reference_ids[0]
        to.reference_bounds = &reference_bounds[0]

    @property
    def longest_item(self):
        """Tokens of the longest candidate."""
        return int(np.diff(self.bounds).max(initial=0))

    @property
    def longest_list(self):
        """Tokens of the candidates of the longest list."""
        return int(np.diff(self.bounds[self.offsets - self.offsets[0]]).max(initial=0))

    @property
    def longest_reference(self):
        """Tokens of the longest reference."""
        return int(np.diff(self.reference_bounds).max(initial=0))

    @property
    def largest(self):
        """The largest number, of candidates too."""
        return int(self.reference_ids[:self.reference_bounds.max()].max(initial=self.least))
