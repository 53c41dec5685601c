// SPDX-License-Identifier: Apache-2.0

/* libportcullis: Kubernetes' admission control as a library, for programs in C and for whatever can call C.
 *
 *   char *error = NULL;
 *   portcullis_cluster *cluster = portcullis_open("{\"files\": [\"policies/\"]}", &error);
 *   char *result = portcullis_admit(cluster, request, strlen(request), &error);
 *   printf("%s\n", result);
 *   portcullis_free(result);
 *   portcullis_close(cluster);
 *
 * Texts are UTF-8. What a function returns as char * belongs to the caller, who gives it to
 * portcullis_free(). Where a function fails it returns NULL (or -1) and puts a message into *error, which is
 * the caller's too; `error` may be NULL. No C++ exception leaves a function; without memory the error is
 * "out of memory".
 *
 * Threads: portcullis_review() may be called for one cluster from any number of threads at a time;
 * portcullis_admit() and portcullis_add() wait for each other. Clusters have nothing in common.
 * portcullis_close() comes after all other calls of its cluster.
 *
 * The functions here keep their meaning within a major version of the library; members may be added to the
 * JSON that they return. */
#ifndef PORTCULLIS_PORTCULLIS_H_
#define PORTCULLIS_PORTCULLIS_H_

#include <stddef.h>

#if defined(__GNUC__)
#define PORTCULLIS_API __attribute__((visibility("default")))
#else
#define PORTCULLIS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Changes when a function changes its meaning or goes. */
#define PORTCULLIS_API_VERSION 1

/* A Kubernetes API in memory: what objects are judged by. */
typedef struct portcullis_cluster portcullis_cluster;

/* The version of the library, "0.1.0"; lives for ever. */
PORTCULLIS_API const char* portcullis_version(void);
/* PORTCULLIS_API_VERSION of the library that is loaded. */
PORTCULLIS_API int portcullis_api_version(void);

/* Makes a cluster with the namespaces, roles and classes of every cluster. `options` is JSON or NULL:
 *
 *   {"kubernetesVersion": "1.36", "featureGates": {"Name": true},
 *    "enableAdmissionPlugins": ["AlwaysPullImages"], "disableAdmissionPlugins": [],
 *    "admissionControlConfigFile": "admission.yaml",
 *    "files": ["policies/", "cluster.yaml"]}
 *
 * Objects of `files` (YAML, JSON, directories) are in the cluster from the beginning, past admission.
 * Webhooks are not called. */
PORTCULLIS_API portcullis_cluster* portcullis_open(const char* options, char** error);
PORTCULLIS_API void portcullis_close(portcullis_cluster* cluster);

/* Puts objects into the cluster, past admission: YAML of one or more documents, or JSON. An object that
 * is there is replaced. Returns how many there were, -1 on failure. */
PORTCULLIS_API int portcullis_add(portcullis_cluster* cluster, const char* objects, size_t size,
                                  char** error);

/* Judges a request as an API server does: decodes, defaults, admits and validates it. The request is YAML or
 * JSON, either an AdmissionReview (admission.k8s.io/v1 or v1beta1) or
 *
 *   {"operation": "CREATE", "object": {…}, "oldObject": {…},
 *    "user": {"username": "alice", "groups": ["developers"]},
 *    "resource": {"group": "", "version": "v1", "resource": "pods"}, "subResource": "", "namespace": "a",
 *    "name": "web", "dryRun": false, "trace": true}
 *
 * of which `object`, or `oldObject` of a deletion, is enough: `operation` is CREATE, or UPDATE with an
 * oldObject, or DELETE without an object; the rest follows from the object; the user is an administrator. A
 * CONNECT has its options (PodExecOptions, …) as `object`, and a resource and subResource; `code` is then why nothing
 * can be reached.
 * The cluster is afterwards as it was before. Returns JSON:
 *
 *   {"allowed": false, "code": 403, "message": "…", "status": {…}, "warnings": ["…"],
 *    "auditAnnotations": {"…": "…"}, "object": {…}, "patch": [{…}], "trace": {…}}
 *
 * `status` is the Status of a refusal; `object`, what would be stored; `patch`, the JSON Patch (RFC 6902) that
 * makes it of the request's object, without the metadata that the API server sets; `trace`, if it was asked
 * for, the AdmissionTrace with each step. A request that is refused is no failure. */
PORTCULLIS_API char* portcullis_admit(portcullis_cluster* cluster, const char* request, size_t size,
                                      char** error);

/* Which plugins portcullis_review() asks: those that change the object, those that accept or refuse it. */
enum portcullis_phase { PORTCULLIS_MUTATE = 1, PORTCULLIS_VALIDATE = 2 };

/* Answers an AdmissionReview as an admission webhook: the chain's plugins of the phase alone, without defaults,
 * validation and storage. `plugin` names one that is asked alone; NULL: all. Returns the AdmissionReview
 * with its response. */
PORTCULLIS_API char* portcullis_review(portcullis_cluster* cluster, const char* review, size_t size,
                                       enum portcullis_phase phase, const char* plugin,
                                       char** error);

/* Frees a text that a function has returned; NULL is nothing. */
PORTCULLIS_API void portcullis_free(char* text);

#ifdef __cplusplus
}
#endif

#endif /* PORTCULLIS_PORTCULLIS_H_ */
