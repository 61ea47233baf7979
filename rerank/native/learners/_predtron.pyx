"""Passes of Predtron over lists (Jain, Natarajan & Tewari 2015, section 4)."""

import numpy as np

from libc.math cimport fabs

from rerank.native.data._matrix cimport Change, Matrix, Rows, Sum, apply, dots, gather
from rerank.native.data._sort cimport argsort
from rerank.native.learners._link cimport Link, move_linked
from rerank.native.learners._ranking_argmax cimport RankingProblem, RankingRoom, ranking_argmax
from rerank.native.learners._weights cimport Moving, Weights, seen_by

cdef double LARGEST = 1e299  # of scores: the argmax adds some of them


cdef class GainLists:
    """The lists of a pass, with the scratch for one.

    IN offsets (n_lists + 1); items (n_items), rows by rising gain, equal gains in input order; gains
    (n_items); places (n_items): the first place in the best order of the items that have the gain of this
    one, or, if ``fixed``, the place of this one; steps (n_lists): the factor of updates, a list with 0 is
    left out; by_place (2, longest): discounts and f; scales (n_lists, 2): 1 / ideal DCG and 1 / norm of f;
    depth: places that count; loss_driven: updates move away from the prediction, and are multiplied by its
    loss.
    """

    cdef const long long[::1] offsets, items
    cdef const double[::1] gains
    cdef const int[::1] places
    cdef const double[::1] steps
    cdef const double[:, ::1] by_place, scales
    cdef int depth
    cdef bint fixed, loss_driven
    cdef RankingRoom room
    cdef double[:, ::1] numbers
    cdef int[:, ::1] whole

    def __init__(
        self, offsets, items, gains, places, steps, by_place, scales, int depth, bint fixed, bint loss_driven
    ):
        longest = by_place.shape[1]
        self.offsets, self.items, self.gains, self.places = offsets, items, gains, places
        self.steps, self.by_place, self.scales = steps, by_place, scales
        self.depth, self.fixed, self.loss_driven = depth, fixed, loss_driven
        self.room = RankingRoom(longest)
        self.numbers = np.empty((2, longest))
        self.whole = np.empty((5, longest), dtype=np.int32)


cdef struct Listed:  # one list; see GainLists
    int k, depth
    bint fixed
    const double* gains
    const int* places
    const double* discounts
    const double* f
    double gain_scale, f_scale
    double* t  # scores
    double* u  # the update of each item
    int* order  # the item at each place of the prediction
    int* taken  # scratch
    int* correct  # its place in the ranking without loss
    int* worst  # its place in the ranking of the largest loss less margin
    int* next  # scratch


cdef inline Listed list_at(GainLists lists, long long i) noexcept nogil:
    cdef Listed p
    cdef long long first = lists.offsets[i]
    p.k = <int> (lists.offsets[i + 1] - first)
    p.depth = min(lists.depth, p.k)
    p.fixed = lists.fixed
    p.gains = &lists.gains[first]
    p.places = &lists.places[first]
    p.discounts = &lists.by_place[0, 0]
    p.f = &lists.by_place[1, 0]
    p.gain_scale = lists.scales[i, 0]
    p.f_scale = lists.scales[i, 1]
    p.t = &lists.numbers[0, 0]
    p.u = &lists.numbers[1, 0]
    p.order = &lists.whole[0, 0]
    p.taken = &lists.whole[1, 0]
    p.correct = &lists.whole[2, 0]
    p.worst = &lists.whole[3, 0]
    p.next = &lists.whole[4, 0]
    return p


cdef inline double predict(const Listed* p, RankingRoom room) noexcept nogil:
    """OUT order: items by falling score, on ties by rising gain. Return the loss, -1 if it is 0."""
    cdef double lost = 0.0, lacking
    cdef bint wrong = False
    cdef int j
    for j in range(p.k):
        p.u[j] = -p.t[j]
    argsort(p.u, p.order, p.k, room.words, room.counts)
    for j in range(p.depth):
        lacking = p.gains[p.k - 1 - j] - p.gains[p.order[j]]
        if lacking != 0.0:
            wrong = True
            lost += lacking * p.discounts[j]
    return max(lost * p.gain_scale, 0.0) if wrong else -1.0


cdef inline void rank_correctly(const Listed* p) noexcept nogil:
    """OUT correct: the places in the ranking without loss that an update moves towards.

    Of these rankings it is the nearest to the scores: items of one gain by falling score, and so are all
    items from place ``depth`` on. If ``fixed``, it is the one in ``places`` instead.
    """
    cdef int j, item, place, after = p.depth
    if p.fixed:
        for j in range(p.k):
            p.correct[j] = p.places[j]
        return
    for j in range(p.k):
        p.next[p.places[j]] = p.places[j]
    for j in range(p.k):
        item = p.order[j]
        place = p.next[p.places[item]]
        p.next[p.places[item]] += 1
        if place >= p.depth:
            place = after
            after += 1
        p.correct[item] = place


cdef inline bint find_worst(const Listed* p, bint loss_driven, RankingRoom room) noexcept nogil:
    """OUT worst: the places in the ranking that an update moves away from. Return False on overflow."""
    cdef RankingProblem problem
    cdef int j
    if loss_driven:
        for j in range(p.k):
            p.worst[p.order[j]] = j
        return True
    problem.m = p.k
    problem.scores = p.t
    problem.gains = p.gains
    problem.discounts = p.discounts
    problem.f = p.f
    problem.gain_scale = p.gain_scale
    problem.f_scale = p.f_scale
    problem.position_of = p.worst
    problem.item_at = p.taken
    return ranking_argmax(&problem, room)


cdef inline bint too_large(const Listed* p) noexcept nogil:
    cdef int j
    for j in range(p.k):
        if not fabs(p.t[j]) <= LARGEST:
            return True
    return False


def ranking_pass(
    Matrix matrix, GainLists lists, const long long[::1] visits, Weights weights, Sum total, Link link
):
    """Make one pass.

    IN visits (n_visits), lists in the order of the pass. total: scratch for sums of rows; None if the matrix
    is that of a kernel, (n_items, n_items), and weights are coefficients of items. INOUT weights, and link if
    they are made by a link function, otherwise None. Return the number of updates, the sum of losses, and the
    first list that has a score out of range, or -1.
    """
    cdef Rows rows = matrix.rows  # a copy: the compiler sees that no step changes it
    cdef const Rows* X = &rows
    cdef const long long* items = &lists.items[0]
    cdef bint dual = total is None
    cdef Change* change = NULL if dual else &total.change
    cdef Moving* to = &weights.moving
    cdef bint linked = link is not None
    cdef Listed p
    cdef double* theta = &link.sums[0] if linked else to.w
    cdef double* drift = &link.drift[0] if linked else to.drift
    cdef Py_ssize_t v
    cdef long long i, first, failed = -1, updates = 0
    cdef double losses = 0.0, loss, step
    cdef int j
    with nogil:
        for v in range(visits.shape[0]):
            i = visits[v]
            if lists.steps[i] == 0.0:
                continue
            p = list_at(lists, i)
            first = lists.offsets[i]
            dots(X, items, first, p.k, seen_by(X, i, weights), p.t)
            if too_large(&p):
                failed = i
                break
            loss = predict(&p, lists.room)
            if loss >= 0.0:
                updates += 1
                losses += loss
                rank_correctly(&p)
                if not find_worst(&p, lists.loss_driven, lists.room):
                    failed = i
                    break
                step = lists.steps[i] * p.f_scale
                if lists.loss_driven:
                    step *= loss
                for j in range(p.k):
                    p.u[j] = step * (p.f[p.correct[j]] - p.f[p.worst[j]])
                if dual:
                    for j in range(p.k):
                        theta[items[first + j]] += p.u[j]
                        drift[items[first + j]] += to.t * p.u[j]
                else:
                    gather(X, i, items + first, p.k, p.u, change)
                    apply(X, i, change, 0.0 if linked else to.t, theta, drift)
                    if linked:
                        move_linked(link, weights)
            to.t += 1.0
    return updates, losses, failed
