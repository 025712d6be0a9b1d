/* What stands in a directory of a container (the image layout of OCI) and in what `docker save`
 * writes, read from JSON that others wrote. Inside lib/deploy; opens no file. */
#ifndef PHX_DEPLOY_OCI_H
#define PHX_DEPLOY_OCI_H

#include "base/record.h"

#define PHX_OCI_DIGEST_MAX 72 /* "sha256:", 64 digits, NUL */
enum {
	PHX_OCI_JSON_MAX = 4 << 20, /* bytes of one text */
	PHX_OCI_REFS_MAX = 1000,    /* containers of one archive */
	PHX_OCI_LAYERS_MAX = 500,
};

/** A container of an archive. */
struct phx_oci_ref {
	char tag[256];                   /* "" it has none */
	char digest[PHX_OCI_DIGEST_MAX]; /* of its manifest; "" in what `docker save` writes */
	uint32_t image;                  /* which one: several tags may be of one */
};

/** A layer: the files that it adds, in a tar. */
struct phx_oci_layer {
	char digest[PHX_OCI_DIGEST_MAX];
	char media[128]; /* its media type */
	uint64_t size;   /* bytes as it lies there */
};

struct phx_oci_image {
	char config[PHX_OCI_DIGEST_MAX];
	struct phx_list layers; /* struct phx_oci_layer */
	/* as Go names them: amd64, arm64; linux */
	char architecture[32], os[32];
	/* labels, or annotations where there are such, org.opencontainers.image.*; "" where they
	 * are not there or too long */
	char title[256], version[256], revision[256], created[64];
};

/** index.json of a layout: ret_refs, struct phx_oci_ref, owned. -EINVAL says what is wrong. */
int phx_oci_index_parse(const char *text, size_t n, struct phx_list *ret_refs, struct phx_err *err);
/** The same of manifest.json, which `docker save` writes: each tag. */
int phx_oci_docker_parse(const char *text, size_t n, struct phx_list *ret_refs,
			 struct phx_err *err);
/** Which of them `tag` means; "" the only one there is. ret is in `refs`. -EINVAL names all tags:
 * there is no such tag, or several containers and none is chosen. */
int phx_oci_choose(const struct phx_list *refs, const char *tag, const struct phx_oci_ref **ret,
		   struct phx_err *err);

/** A manifest: config, layers, annotations. `ret` is owned, also on failure:
 * phx_oci_image_fini(). */
int phx_oci_manifest_parse(const char *text, size_t n, struct phx_oci_image *ret,
			   struct phx_err *err);
/** Its config into the same: architecture, system, labels that no annotation overrules. */
int phx_oci_config_parse(const char *text, size_t n, struct phx_oci_image *ret,
			 struct phx_err *err);
void phx_oci_image_fini(struct phx_oci_image *im);

/** The machine `machine` (uname) as OCI names it: amd64 for x86_64; what it does not know stays as
 * it is. Borrowed. */
const char *phx_oci_architecture(const char *machine);

#endif
