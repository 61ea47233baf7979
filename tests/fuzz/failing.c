/* Allocations that fail on request: those made by a kernel, or for it by Python, NumPy or the C library.

   Loaded by LD_PRELOAD. An allocation is a kernel's if one of the innermost FRAMES callers is in a shared
   object below rerank/native. PYTHONMALLOC=malloc makes those of Python's objects visible too. */

#define _GNU_SOURCE
#include <errno.h>
#include <execinfo.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FRAMES = 24, PLACES = 512 };

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);

static struct { uintptr_t start, stop; } places[PLACES];
static int n_places;
static long wanted, all_from, calls;
static int armed;
static __thread int busy __attribute__((tls_model("initial-exec")));

static int note_place(struct dl_phdr_info *info, size_t size, void *data) {
    (void)size, (void)data;
    if (!strstr(info->dlpi_name, "/rerank/native/"))
        return 0;
    for (int i = 0; i < info->dlpi_phnum && n_places < PLACES; i++)
        if (info->dlpi_phdr[i].p_type == PT_LOAD && info->dlpi_phdr[i].p_flags & PF_X) {
            places[n_places].start = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
            places[n_places].stop = places[n_places].start + info->dlpi_phdr[i].p_memsz;
            n_places++;
        }
    return 0;
}

/* Count kernels' allocations from now on; the n-th fails, and with `later` all after it. */
void rerank_fail(long n, int later) {
    void *frames[FRAMES];
    backtrace(frames, FRAMES); /* the first call loads libraries */
    n_places = 0;
    dl_iterate_phdr(note_place, NULL);
    wanted = n, all_from = later, calls = 0, armed = 1;
}

/* Stop failing; return how many allocations kernels made. */
long rerank_stop(void) {
    armed = 0;
    return calls;
}

static int fails(void) {
    void *frames[FRAMES];
    int found = 0;
    if (!armed || busy)
        return 0;
    busy = 1;
    int n = backtrace(frames, FRAMES);
    for (int i = 0; i < n && !found; i++)
        for (int k = 0; k < n_places && !found; k++)
            found = (uintptr_t)frames[i] - places[k].start < places[k].stop - places[k].start;
    busy = 0;
    if (!found)
        return 0;
    long call = __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED);
    found = call == wanted || (all_from && call > wanted);
    if (found)
        errno = ENOMEM;
    return found;
}

void *malloc(size_t size) { return fails() ? NULL : __libc_malloc(size); }
void *calloc(size_t n, size_t size) { return fails() ? NULL : __libc_calloc(n, size); }
void *realloc(void *memory, size_t size) { return fails() ? NULL : __libc_realloc(memory, size); }
