/*
 * A host that loads the plug-in and makes VMD's calls in VMD's order.
 *
 *   host LIBRARY TYPE FILE OUT [times=N] [step=N] [atoms=N] [damage=BYTE after=N]
 *
 * Writes to OUT: number of atoms and whether there are velocities (int), then for each frame A to gamma (float), time
 * (double), positions and velocities (float). times: open, read and close N times; step: read every N-th frame only,
 * as `mol addfile … step N`; atoms: request N atoms; damage: invert the bits of a byte of FILE after N frames. Exit
 * status: 0 if all frames were read, otherwise one of those below.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "molfile.h"

enum { UNUSABLE = 2, REFUSED = 3, SHORT = 4, LEAKED = 5 };

/* Number of opens before memory is measured, so that one-time allocations are done. */
#define SETTLED 10

struct host {
  const char *type;
  molfile_plugin_t *plugin;
};

static void fail(int status, const char *what) {
  fprintf(stderr, "host: %s\n", what);
  exit(status);
}

static int to_console(const int level, const char *text) {
  return fprintf(stderr, "console %d: %s", level, text);
}

/* Accepts plug-ins of its own version only, and sets the message callback, as VMD does. */
static int take(void *argument, molfile_plugin_t *plugin) {
  struct host *host = argument;
  printf("offered %d %s %s\n", plugin->abiversion, plugin->name, plugin->filename_extension);
  if (plugin->abiversion != MOLFILE_ABI)
    return -1;
  if (!plugin->type || strcmp(plugin->type, "mol file reader") || !plugin->prettyname || !plugin->author)
    fail(UNUSABLE, "a plug-in with a bad head");
  plugin->cons_fputs = to_console;
  if (!strcmp(plugin->name, host->type))
    host->plugin = plugin;
  return 0;
}

static long option(char **argv, const char *name, long otherwise) {
  for (char **word = argv + 5; *word; word++)
    if (!strncmp(*word, name, strlen(name)))
      return strtol(*word + strlen(name), NULL, 10);
  return otherwise;
}

static void *symbol(void *library, const char *name) {
  void *found = dlsym(library, name);
  if (!found)
    fail(UNUSABLE, dlerror());
  return found;
}

static int open_files(void) {
  int count = 0;
  DIR *folder = opendir("/proc/self/fd");
  while (folder && readdir(folder))
    count++;
  closedir(folder);
  return count;
}

static size_t memory_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

static void damage(const char *path, long at) {
  FILE *file = fopen(path, "r+b");
  int byte;
  if (!file || fseek(file, at, SEEK_SET) || (byte = getc(file)) == EOF)
    fail(UNUSABLE, "no such byte");
  fseek(file, at, SEEK_SET);
  putc(byte ^ 0xff, file);
  fclose(file);
}

static void put(FILE *out, const void *data, size_t size, size_t count) {
  if (fwrite(data, size, count, out) != count)
    fail(UNUSABLE, "the output cannot be written");
}

int main(int argc, char **argv) {
  if (argc < 5)
    fail(UNUSABLE, "LIBRARY TYPE FILE OUT [times=N] [step=N] [atoms=N] [damage=BYTE after=N]");
  const long times = option(argv, "times=", 1), step = option(argv, "step=", 1);
  const long byte = option(argv, "damage=", -1), after = option(argv, "after=", 0);
  int asked = (int)option(argv, "atoms=", -1);
  const char *path = argv[3];

  void *library = dlopen(argv[1], RTLD_NOW);
  if (!library)
    fail(UNUSABLE, dlerror());
  vmdplugin_init_t init = (vmdplugin_init_t)symbol(library, "vmdplugin_init");
  vmdplugin_register_t enlist = (vmdplugin_register_t)symbol(library, "vmdplugin_register");
  vmdplugin_fini_t fini = (vmdplugin_fini_t)symbol(library, "vmdplugin_fini");
  struct host host = {argv[2], NULL};
  if (init() || enlist(&host, take))
    fail(UNUSABLE, "the library does not register");
  molfile_plugin_t *plugin = host.plugin;
  if (!plugin)
    fail(UNUSABLE, "no plug-in of this type");
  if (plugin->read_structure || plugin->read_timestep || plugin->read_qm_timestep_metadata ||
      plugin->read_rawgraphics || plugin->read_qm_metadata)
    fail(UNUSABLE, "a function that the plug-in cannot have");
#if MOLFILE_ABI > 17
  if (plugin->read_timestep_pagealign_size)
    fail(UNUSABLE, "a function that the plug-in cannot have");
#endif

  size_t memory = 0;
  int files = 0;
  for (long round = 0; round < times; round++) {
    if (round == SETTLED) {
      files = open_files();
      memory = memory_in_use();
    }
    int n_atoms = MOLFILE_NUMATOMS_UNKNOWN;
    void *handle = plugin->open_file_read(path, plugin->name, &n_atoms);
    if (!handle)
      exit(REFUSED);
    if (asked < 0)
      asked = n_atoms;
    FILE *out = fopen(argv[4], "wb");
    if (!out)
      fail(UNUSABLE, "the output cannot be made");

    molfile_timestep_metadata_t about;
    unsigned int gone_by = 0;
    for (long read = 0;; read++) {
      if (byte >= 0 && read == after)
        damage(path, byte);
      for (long k = 1; read > 0 && k < step; k++)
        gone_by += plugin->read_next_timestep(handle, asked, NULL) == MOLFILE_SUCCESS;
      memset(&about, 0, sizeof about);
      if (plugin->read_timestep_metadata(handle, &about))
        fail(UNUSABLE, "no metadata of the frames");
      if (read == 0) {
        put(out, &n_atoms, sizeof n_atoms, 1);
        put(out, &about.has_velocities, sizeof about.has_velocities, 1);
      }
      /* Allocated for each frame, uninitialised. */
      size_t numbers = 3 * (size_t)asked;
      molfile_timestep_t frame = {0};
      frame.alpha = frame.beta = frame.gamma = 90;
      frame.coords = malloc(numbers * sizeof(float));
      frame.velocities = about.has_velocities ? malloc(numbers * sizeof(float)) : NULL;
      int status = plugin->read_next_timestep(handle, asked, &frame);
      if (status == MOLFILE_SUCCESS) {
        gone_by++;
        put(out, &frame.A, sizeof(float), 6);
        put(out, &frame.physical_time, sizeof(double), 1);
        put(out, frame.coords, sizeof(float), numbers);
        if (frame.velocities)
          put(out, frame.velocities, sizeof(float), numbers);
      }
      free(frame.coords);
      free(frame.velocities);
      if (status != MOLFILE_SUCCESS)
        break;
    }
    if (plugin->read_next_timestep(handle, asked, NULL) == MOLFILE_SUCCESS)
      fail(UNUSABLE, "a frame behind the last");
    fclose(out);
    plugin->close_file_read(handle);
    if (gone_by != about.count)
      exit(SHORT);
  }
  if (times > SETTLED) {
    if (open_files() != files)
      fail(LEAKED, "files are left open");
    if (memory_in_use() != memory)
      fail(LEAKED, "memory is left");
  }
  if (fini())
    fail(UNUSABLE, "the library does not end");
  return dlclose(library);
}
