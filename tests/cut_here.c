/* Stands before libc (LD_PRELOAD) and kills the process in front of a change of some folder's files. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

static char folder[4096];
static long left;

/* From now on, in front of the n-th change. */
void cut(const char *where, long n)
{
    snprintf(folder, sizeof folder, "%s/", where);
    left = n;
}

static void change(const char *path)
{
    if (left > 0 && !strncmp(path, folder, strlen(folder)) && !__atomic_sub_fetch(&left, 1, __ATOMIC_SEQ_CST))
        kill(getpid(), SIGKILL);
}

static void change_of(int file)
{
    char link[32], path[4096];
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t n = left > 0 ? readlink(link, path, sizeof path - 1) : 0;
    path[n > 0 ? n : 0] = 0;
    change(path);
}

#define REAL(name, ...) (((int (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)))

static int opened(const char *name, const char *path, int flags, mode_t mode)
{
    if (flags & (O_CREAT | O_TRUNC))
        change(path);
    return REAL(name, const char *, int, ...)(path, flags, mode);
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
    change(path);
    return REAL("mkdir", const char *, mode_t)(path, mode);
}

int rename(const char *from, const char *to)
{
    change(to);
    return REAL("rename", const char *, const char *)(from, to);
}

int symlink(const char *target, const char *path)
{
    change(path);
    return REAL("symlink", const char *, const char *)(target, path);
}

int unlink(const char *path)
{
    change(path);
    return REAL("unlink", const char *)(path);
}

int rmdir(const char *path)
{
    change(path);
    return REAL("rmdir", const char *)(path);
}

ssize_t write(int file, const void *bytes, size_t n)
{
    change_of(file);
    return ((ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write"))(file, bytes, n);
}
