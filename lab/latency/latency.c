/* A slow disk for the programs of an experiment: preloaded, it makes opening and reading the regular
 * files below one folder take as long as a storage of K servers would, each of which needs a given
 * time for one request. Never part of the product.
 *
 * What costs one request: the first open of a file (with SEQLOOM_LATENCY_OPENS=1 each open, as a file
 * system that asks its server each time), and a read, whatever its length, that touches a page of
 * 4 KiB which nobody has read yet. So the page cache is cold at first and then keeps everything; time
 * of transfer and read-ahead are not modelled.
 *
 * The queue is first come, first served over all processes: the moments at which the servers become
 * free stand in a file that all map (SEQLOOM_LATENCY_STATE, made of zeros by whoever starts them).
 * A request takes the server that is free first and sleeps until that one has served it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum { MAX_SERVERS = 256, MAX_DESCRIPTORS = 65536, PAGES = 1 << 22, PAGE_BITS = 12 };

/* Also known to latency.rs, which reads the first two numbers. */
struct state {
    _Atomic uint64_t requests;
    _Atomic uint64_t waited_ns;
    _Atomic uint32_t lock;
    uint32_t unused;
    uint64_t free_at_ns[MAX_SERVERS];
    _Atomic uint64_t pages[PAGES]; /* keys of pages that were read: open addressing, 0 is free */
};

static struct state *state;
static const char *folder;
static size_t folder_bytes;
static uint64_t service_ns;
static unsigned servers;
static int charge_each_open;
/* Which file a descriptor is: its number in the file system, 0 for those that are none of ours. */
static _Atomic uint64_t file_of[MAX_DESCRIPTORS];

static int (*real_open)(const char *, int, ...);
static int (*real_openat)(int, const char *, int, ...);
static int (*real_close)(int);
static int (*real_dup)(int);
static int (*real_dup2)(int, int);
static ssize_t (*real_read)(int, void *, size_t);
static ssize_t (*real_readv)(int, const struct iovec *, int);
static ssize_t (*real_pread)(int, void *, size_t, off_t);

__attribute__((constructor)) static void start(void) {
    real_open = dlsym(RTLD_NEXT, "open");
    real_openat = dlsym(RTLD_NEXT, "openat");
    real_close = dlsym(RTLD_NEXT, "close");
    real_dup = dlsym(RTLD_NEXT, "dup");
    real_dup2 = dlsym(RTLD_NEXT, "dup2");
    real_read = dlsym(RTLD_NEXT, "read");
    real_readv = dlsym(RTLD_NEXT, "readv");
    real_pread = dlsym(RTLD_NEXT, "pread");
    const char *path = getenv("SEQLOOM_LATENCY_STATE");
    const char *under = getenv("SEQLOOM_LATENCY_FOLDER");
    const char *service = getenv("SEQLOOM_LATENCY_SERVICE_US");
    const char *count = getenv("SEQLOOM_LATENCY_SERVERS");
    const char *opens = getenv("SEQLOOM_LATENCY_OPENS");
    if (!path || !under || !service || !count) return;
    int fd = real_open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0) return;
    void *mapped =
        mmap(NULL, sizeof(struct state), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    real_close(fd);
    servers = (unsigned)atoi(count);
    if (mapped == MAP_FAILED || servers < 1 || servers > MAX_SERVERS) return;
    service_ns = (uint64_t)(atof(service) * 1000.0);
    charge_each_open = opens && *opens == '1';
    folder = under;
    folder_bytes = strlen(under);
    prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0); /* threads inherit it: 50 us are half an SSD */
    state = mapped;
}

static uint64_t now_ns(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* One request: waits its turn, and its time. */
static void serve(void) {
    uint32_t open = 0;
    while (!__atomic_compare_exchange_n(&state->lock, &open, 1, 0, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED)) {
        open = 0;
        sched_yield();
    }
    uint64_t now = now_ns();
    unsigned first = 0;
    for (unsigned i = 1; i < servers; i++)
        if (state->free_at_ns[i] < state->free_at_ns[first]) first = i;
    uint64_t begin = state->free_at_ns[first] > now ? state->free_at_ns[first] : now;
    uint64_t end = begin + service_ns;
    state->free_at_ns[first] = end;
    __atomic_store_n(&state->lock, 0, __ATOMIC_RELEASE);
    __atomic_fetch_add(&state->requests, 1, __ATOMIC_RELAXED);
    __atomic_fetch_add(&state->waited_ns, end - now, __ATOMIC_RELAXED);
    struct timespec until = {(time_t)(end / 1000000000u), (long)(end % 1000000000u)};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
    }
}

/* Whether a key is new; afterwards it is not. A full table forgets nothing and takes nothing. */
static int is_new(uint64_t key) {
    uint64_t mixed = key * 0x9E3779B97F4A7C15u;
    for (unsigned step = 0; step < 64; step++) {
        _Atomic uint64_t *slot = &state->pages[((mixed >> 20) + step) & (PAGES - 1)];
        uint64_t found = 0;
        if (__atomic_compare_exchange_n(slot, &found, key, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
            return 1;
        if (found == key) return 0;
    }
    return 1;
}

static void opened(int fd, const char *path) {
    struct stat s;
    if (fd < 0 || fd >= MAX_DESCRIPTORS || !state) return;
    file_of[fd] = 0;
    if (strncmp(path, folder, folder_bytes) != 0) return;
    if (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode)) return;
    file_of[fd] = (uint64_t)s.st_ino;
    int first = is_new((uint64_t)s.st_ino << 24 | 0xFFFFFF); /* no file has a page of this number */
    if (first || charge_each_open) serve();
}

static void reads(int fd, off_t offset, size_t bytes) {
    if (!state || fd < 0 || fd >= MAX_DESCRIPTORS || !file_of[fd] || !bytes || offset < 0) return;
    struct stat s;
    if (fstat(fd, &s) != 0 || offset >= s.st_size) return;
    off_t end = offset + (off_t)bytes < s.st_size ? offset + (off_t)bytes : s.st_size;
    int missing = 0;
    for (uint64_t page = (uint64_t)offset >> PAGE_BITS; page <= (uint64_t)(end - 1) >> PAGE_BITS;
         page++)
        missing |= is_new(file_of[fd] << 24 | page);
    if (missing) serve();
}

#define MODE(flags, mode)                                                                            \
    do {                                                                                             \
        if ((flags) & (O_CREAT | O_TMPFILE)) {                                                       \
            va_list list;                                                                            \
            va_start(list, flags);                                                                   \
            mode = va_arg(list, mode_t);                                                             \
            va_end(list);                                                                            \
        }                                                                                            \
    } while (0)

int open(const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, mode);
    int fd = real_open(path, flags, mode);
    opened(fd, path);
    return fd;
}

int open64(const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, mode);
    int fd = real_open(path, flags | O_LARGEFILE, mode);
    opened(fd, path);
    return fd;
}

int openat(int at, const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, mode);
    int fd = real_openat(at, path, flags, mode);
    opened(fd, path);
    return fd;
}

int openat64(int at, const char *path, int flags, ...) {
    mode_t mode = 0;
    MODE(flags, mode);
    int fd = real_openat(at, path, flags | O_LARGEFILE, mode);
    opened(fd, path);
    return fd;
}

int close(int fd) {
    if (fd >= 0 && fd < MAX_DESCRIPTORS) file_of[fd] = 0;
    return real_close(fd);
}

static int copied(int from, int to) {
    if (from >= 0 && from < MAX_DESCRIPTORS && to >= 0 && to < MAX_DESCRIPTORS)
        file_of[to] = file_of[from];
    return to;
}

int dup(int fd) { return copied(fd, real_dup(fd)); }

int dup2(int fd, int to) { return copied(fd, real_dup2(fd, to)); }

ssize_t read(int fd, void *out, size_t bytes) {
    if (state && fd >= 0 && fd < MAX_DESCRIPTORS && file_of[fd])
        reads(fd, lseek(fd, 0, SEEK_CUR), bytes);
    return real_read(fd, out, bytes);
}

ssize_t readv(int fd, const struct iovec *pieces, int count) {
    if (state && fd >= 0 && fd < MAX_DESCRIPTORS && file_of[fd]) {
        size_t bytes = 0;
        for (int i = 0; i < count; i++) bytes += pieces[i].iov_len;
        reads(fd, lseek(fd, 0, SEEK_CUR), bytes);
    }
    return real_readv(fd, pieces, count);
}

ssize_t pread(int fd, void *out, size_t bytes, off_t offset) {
    reads(fd, offset, bytes);
    return real_pread(fd, out, bytes, offset);
}

ssize_t pread64(int fd, void *out, size_t bytes, off_t offset) {
    reads(fd, offset, bytes);
    return real_pread(fd, out, bytes, offset);
}
