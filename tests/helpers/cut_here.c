/* Preloaded before libc (LD_PRELOAD): at the n-th file operation below a folder it kills the process or fails the
   operation with an error number. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum kind { LOOK, CREATE, WRITE, REMOVE };

static char folder[4096];
static long left;
/* 0 kills in front of the n-th change. */
static int error;
/* The first failing operation only, or also all later changes: a full disk, a file system that became read-only. */
static int lasts;
static int happened;

/* From now on, kill in front of the n-th change. */
void cut(const char *where, long n)
{
    snprintf(folder, sizeof folder, "%s/", where);
    error = 0;
    left = n;
}

/* From now on, fail the n-th operation. With `all_later` only changes are counted, and later ones fail, too; with
   ENOSPC, those that need room. */
void fail(const char *where, long n, int number, int all_later)
{
    snprintf(folder, sizeof folder, "%s/", where);
    error = number;
    lasts = all_later;
    happened = 0;
    left = n;
}

/* Stop; return whether an operation failed. */
int stop(void)
{
    left = 0;
    return happened;
}

/* Whether the operation is to fail. */
static int fails(const char *path, enum kind kind)
{
    long n;
    if (!left || !path || strncmp(path, folder, strlen(folder)))
        return 0;
    if ((!error || lasts) && kind == LOOK)
        return 0;
    if (error == ENOSPC && kind == REMOVE)
        return 0;
    if (lasts && happened) {
        errno = error;
        return 1;
    }
    n = __atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST);
    if (n)
        return 0;
    if (!error) {
        kill(getpid(), SIGKILL);
        return 0;
    }
    left = lasts ? 1 : 0;
    happened = 1;
    errno = error;
    return 1;
}

static int fails_for(int file, enum kind kind)
{
    char link[32], path[4096];
    ssize_t n;
    int before = errno;
    if (!left)
        return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    n = syscall(SYS_readlink, link, path, sizeof path - 1);
    errno = before;
    path[n > 0 ? n : 0] = 0;
    return fails(path, kind);
}

#define REAL(result, name, ...) (((result (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)))

static int opened(const char *name, const char *path, int flags, mode_t mode)
{
    enum kind kind = flags & (O_CREAT | O_TRUNC) ? CREATE : LOOK;
    if (fails(path, kind))
        return -1;
    return REAL(int, name, const char *, int, ...)(path, flags, mode);
}

static mode_t mode_of(va_list rest)
{
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    return mode;
}

int open(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    return opened("open", path, flags, mode_of(rest));
}

int open64(const char *path, int flags, ...)
{
    va_list rest;
    va_start(rest, flags);
    return opened("open64", path, flags, mode_of(rest));
}

int mkdir(const char *path, mode_t mode)
{
    return fails(path, CREATE) ? -1 : REAL(int, "mkdir", const char *, mode_t)(path, mode);
}

int rename(const char *from, const char *to)
{
    return fails(to, CREATE) ? -1 : REAL(int, "rename", const char *, const char *)(from, to);
}

int link(const char *from, const char *to)
{
    /* Followed by a rename where it fails. */
    if (error && fails(to, CREATE))
        return -1;
    return REAL(int, "link", const char *, const char *)(from, to);
}

int symlink(const char *target, const char *path)
{
    return fails(path, CREATE) ? -1 : REAL(int, "symlink", const char *, const char *)(target, path);
}

int unlink(const char *path)
{
    return fails(path, REMOVE) ? -1 : REAL(int, "unlink", const char *)(path);
}

int rmdir(const char *path)
{
    return fails(path, REMOVE) ? -1 : REAL(int, "rmdir", const char *)(path);
}

ssize_t write(int file, const void *bytes, size_t n)
{
    return fails_for(file, WRITE) ? -1 : REAL(ssize_t, "write", int, const void *, size_t)(file, bytes, n);
}

/* What follows is not counted where processes are killed: the file is as it was, or is not whole yet. */

ssize_t pwrite64(int file, const void *bytes, size_t n, off64_t at)
{
    if (error && fails_for(file, WRITE))
        return -1;
    return REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t)(file, bytes, n, at);
}

ssize_t pwrite(int file, const void *bytes, size_t n, off_t at)
{
    return pwrite64(file, bytes, n, at);
}

int fsync(int file)
{
    return error && fails_for(file, WRITE) ? -1 : REAL(int, "fsync", int)(file);
}

int ftruncate64(int file, off64_t size)
{
    return error && fails_for(file, WRITE) ? -1 : REAL(int, "ftruncate64", int, off64_t)(file, size);
}

int ftruncate(int file, off_t size)
{
    return ftruncate64(file, size);
}

int flock(int file, int how)
{
    return fails_for(file, LOOK) ? -1 : REAL(int, "flock", int, int)(file, how);
}

ssize_t read(int file, void *bytes, size_t n)
{
    return fails_for(file, LOOK) ? -1 : REAL(ssize_t, "read", int, void *, size_t)(file, bytes, n);
}

ssize_t pread64(int file, void *bytes, size_t n, off64_t at)
{
    if (fails_for(file, LOOK))
        return -1;
    return REAL(ssize_t, "pread64", int, void *, size_t, off64_t)(file, bytes, n, at);
}

ssize_t pread(int file, void *bytes, size_t n, off_t at)
{
    return pread64(file, bytes, n, at);
}

int statx(int at, const char *restrict path, int flags, unsigned mask, struct statx *restrict found)
{
    /* NULL where Rust asks whether there is such a call. */
    const char *volatile name = path;
    if (name && (*name ? fails(name, LOOK) : fails_for(at, LOOK)))
        return -1;
    return REAL(int, "statx", int, const char *, int, unsigned, struct statx *)(at, path, flags, mask, found);
}

DIR *opendir(const char *path)
{
    return fails(path, LOOK) ? NULL : REAL(DIR *, "opendir", const char *)(path);
}

struct dirent64 *readdir64(DIR *entries)
{
    return fails_for(dirfd(entries), LOOK) ? NULL : REAL(struct dirent64 *, "readdir64", DIR *)(entries);
}

ssize_t readlink(const char *path, char *target, size_t n)
{
    return fails(path, LOOK) ? -1 : REAL(ssize_t, "readlink", const char *, char *, size_t)(path, target, n);
}
