/*
 * VMD's molfile plug-in interface, as far as a host that reads trajectories needs it. Written from its published
 * description, https://www.ks.uiuc.edu/Research/vmd/plugins/doxygen/. MOLFILE_ABI is the version to be had:
 * 16, 17 (VMD 1.9.3) or 18 (1.9.4).
 */
#ifndef TRAJET_MOLFILE_H
#define TRAJET_MOLFILE_H

#ifndef MOLFILE_ABI
#define MOLFILE_ABI 18
#endif

enum { MOLFILE_SUCCESS = 0, MOLFILE_EOF = -1, MOLFILE_ERROR = -1, MOLFILE_NUMATOMS_UNKNOWN = -1 };

/* Functions whose signatures this header omits. */
typedef void (*molfile_absent)(void);

/* Å, Å/ps, degrees, ps. */
typedef struct {
  float *coords;
  float *velocities;
  float A, B, C, alpha, beta, gamma;
  double physical_time;
} molfile_timestep_t;

typedef struct {
  unsigned int count;
  unsigned int avg_bytes_per_timestep;
  int has_velocities;
} molfile_timestep_metadata_t;

typedef struct {
  int abiversion;
  const char *type;
  const char *name;
  const char *prettyname;
  const char *author;
  int majorv;
  int minorv;
  int is_reentrant;
  const char *filename_extension;
  void *(*open_file_read)(const char *path, const char *filetype, int *natoms);
  molfile_absent read_structure;
  molfile_absent read_bonds;
  int (*read_next_timestep)(void *handle, int natoms, molfile_timestep_t *timestep);
  void (*close_file_read)(void *handle);
  molfile_absent open_file_write;
  molfile_absent write_structure;
  molfile_absent write_timestep;
  molfile_absent close_file_write;
  molfile_absent read_volumetric_metadata;
  molfile_absent read_volumetric_data;
#if MOLFILE_ABI > 16
  molfile_absent read_volumetric_data_ex;
#endif
  molfile_absent read_rawgraphics;
  molfile_absent read_molecule_metadata;
  molfile_absent write_bonds;
  molfile_absent write_volumetric_data;
#if MOLFILE_ABI > 16
  molfile_absent write_volumetric_data_ex;
#endif
  molfile_absent read_angles;
  molfile_absent write_angles;
  molfile_absent read_qm_metadata;
  molfile_absent read_qm_rundata;
#if MOLFILE_ABI > 17
  int (*read_timestep_pagealign_size)(void *handle, int *size);
#endif
  molfile_absent read_timestep;
  int (*read_timestep_metadata)(void *handle, molfile_timestep_metadata_t *metadata);
  molfile_absent read_qm_timestep_metadata;
  int (*cons_fputs)(const int level, const char *text);
} molfile_plugin_t;

/* Exported by a plug-in library. */
typedef int (*vmdplugin_init_t)(void);
typedef int (*vmdplugin_register_cb)(void *host, molfile_plugin_t *plugin);
typedef int (*vmdplugin_register_t)(void *host, vmdplugin_register_cb callback);
typedef int (*vmdplugin_fini_t)(void);

#endif
