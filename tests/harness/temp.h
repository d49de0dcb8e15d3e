/* temp.h - files for a test: a directory of its own, whole files read and written in one call. What
 * fails ends the test. */
#ifndef TF_TESTS_TEMP_H
#define TF_TESTS_TEMP_H

#include <stdbool.h>
#include <stddef.h>

/* The path of NAME in this test's own directory ("" is the directory itself), valid until the
 * program ends. The directory is created by the first call and removed with all that is in it at
 * exit. */
const char *temp_path(const char *name);

void write_file(const char *path, const void *data, size_t n);
void append_file(const char *path, const void *data, size_t n);
/* The file with a NUL after its *n bytes (n may be NULL), owned by the caller. */
char *read_file(const char *path, size_t *n);
bool same_files(const char *a, const char *b);
bool file_exists(const char *path);
/* Entries of a directory without "." and "..". */
int count_entries(const char *dir);

#endif
