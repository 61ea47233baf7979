"""A hint to the processor that memory will be needed soon."""

cdef extern from *:
    """
    #if defined(__GNUC__)
    #define rerank_prefetch(p) __builtin_prefetch(p)
    #else
    #define rerank_prefetch(p) ((void)(p))
    #endif
    """
    void prefetch "rerank_prefetch"(const void* p) noexcept nogil
