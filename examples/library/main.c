// SPDX-License-Identifier: Apache-2.0

/* Judges a manifest by the policies of a file, in C. See README.md. */
#include <portcullis/portcullis.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char *read_file(const char *path) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) return NULL;
  char *text = NULL;
  if (fseek(file, 0, SEEK_END) == 0) {
    const long size = ftell(file);
    rewind(file);
    text = size < 0 ? NULL : malloc((size_t)size + 1);
    if (text != NULL) text[fread(text, 1, (size_t)size, file)] = '\0';
  }
  fclose(file);
  return text;
}

static int fail(const char *what, char *error) {
  fprintf(stderr, "%s: %s\n", what, error == NULL ? "cannot be read" : error);
  portcullis_free(error);
  return 2;
}

/* main CLUSTER.yaml REQUEST.yaml */
int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: %s CLUSTER.yaml REQUEST.yaml\n", argv[0]);
    return 2;
  }
  char *error = NULL;
  char *request = NULL;
  char *result = NULL;
  char *objects = read_file(argv[1]);
  if (objects == NULL) return fail(argv[1], NULL);
  portcullis_cluster *cluster = portcullis_open(NULL, &error);
  if (cluster == NULL) return fail("open", error);
  if (portcullis_add(cluster, objects, strlen(objects), &error) < 0) return fail(argv[1], error);
  free(objects);

  request = read_file(argv[2]);
  if (request == NULL) return fail(argv[2], NULL);
  result = portcullis_admit(cluster, request, strlen(request), &error);
  free(request);
  if (result == NULL) return fail(argv[2], error);
  printf("libportcullis %s\n%s\n", portcullis_version(), result);
  const int allowed = strstr(result, "\"allowed\":true") != NULL;
  portcullis_free(result);
  portcullis_close(cluster);
  return allowed ? 0 : 1;
}
