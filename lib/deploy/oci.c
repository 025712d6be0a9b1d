/* Containers as JSON: see oci.h. Called by source.c with texts of files that others wrote; every
 * member is looked at before it is used. Opens nothing. */
#include "deploy/oci.h"

#include <errno.h>
#include <stdio.h>

#include "base/json.h"

static const struct phx_json_shape shape = {.depth = 16, .containers = 20000, .values = 100000};

static int parse(const char *text, size_t n, json_t **ret, struct phx_err *err)
{
	int r = n > PHX_OCI_JSON_MAX
		? phx_err_set(err, -EINVAL, "more than %d bytes", PHX_OCI_JSON_MAX)
		: phx_json_check_shape(text, n, &shape, err);
	r = r ? r : phx_json_parse(text, n, ret, err);
	return r == -E2BIG ? -EINVAL : r;
}

/* ---- what every member is ---- */

/* The digest of a descriptor, of which every path to a file is made. */
static int read_digest(const json_t *descriptor, const char *what, char ret[PHX_OCI_DIGEST_MAX],
		       struct phx_err *err)
{
	const char *digest = phx_json_str(descriptor, "digest", "");
	if (!phx_str_starts(digest, "sha256:") || !phx_is_sha256(digest + strlen("sha256:")))
		return phx_err_set(err, -EINVAL,
				   "%s: digest '%.80s': it must be sha256: and 64 hexadecimal "
				   "digits in lower case",
				   what, digest);
	return phx_str_copy(ret, PHX_OCI_DIGEST_MAX, digest);
}

/* A text for people or a name: one line, or it is as good as not there. */
static void read_text(const json_t *from, const char *key, char *ret, size_t size)
{
	const char *text = phx_json_str(from, key, "");
	bool fits = strlen(text) < size;
	for (const char *p = text; fits && *p; p++)
		fits = (unsigned char)*p >= ' ' && *p != 0x7f;
	if (fits && text[0])
		phx_str_copy(ret, size, text);
}

static int add_ref(struct phx_list *refs, const char *tag, uint32_t image, const char *digest,
		   struct phx_err *err)
{
	if (refs->n == PHX_OCI_REFS_MAX)
		return phx_err_set(err, -EINVAL, "more than %d containers", PHX_OCI_REFS_MAX);
	struct phx_oci_ref *ref = phx_list_push(refs, sizeof(*ref));
	if (!ref)
		return -ENOMEM;
	ref->image = image;
	PHX_STR_SET(ref->digest, digest);
	if (PHX_STR_SET(ref->tag, tag) < 0)
		return phx_err_set(err, -EINVAL, "a tag has %zu characters: at most %zu",
				   strlen(tag), sizeof(ref->tag) - 1);
	return 0;
}

/* ---- which containers there are ---- */

static int read_manifests(const json_t *index, struct phx_list *refs, struct phx_err *err)
{
	const json_t *list = json_object_get(index, "manifests");
	if (!json_is_array(list))
		return phx_err_set(err, -EINVAL, "it has no list \"manifests\"");
	int r = 0;
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const json_t *one = json_array_get(list, i);
		const json_t *notes = json_object_get(one, "annotations");
		char digest[PHX_OCI_DIGEST_MAX];
		r = read_digest(one, "a manifest", digest, err);
		r = r ? r
		      : add_ref(refs, phx_json_str(notes, "org.opencontainers.image.ref.name", ""),
				(uint32_t)i, digest, err);
	}
	return r;
}

static int read_repositories(const json_t *list, struct phx_list *refs, struct phx_err *err)
{
	int r = json_is_array(list) ? 0 : phx_err_set(err, -EINVAL, "it is no list");
	for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
		const json_t *tags = json_object_get(json_array_get(list, i), "RepoTags");
		for (size_t k = 0; r == 0 && k < json_array_size(tags); k++) {
			const char *tag = json_string_value(json_array_get(tags, k));
			r = tag ? add_ref(refs, tag, (uint32_t)i, "", err)
				: phx_err_set(err, -EINVAL, "RepoTags: a tag is no text");
		}
		if (r == 0 && !json_array_size(tags))
			r = add_ref(refs, "", (uint32_t)i, "", err);
	}
	return r;
}

static int parse_refs(const char *text, size_t n,
		      int (*read)(const json_t *j, struct phx_list *refs, struct phx_err *err),
		      struct phx_list *ret_refs, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_list refs = {0};
	int r = parse(text, n, &j, err);
	if (r == 0)
		r = read(j, &refs, err);
	if (r < 0)
		phx_list_fini(&refs);
	else
		*ret_refs = refs;
	return r;
}

int phx_oci_index_parse(const char *text, size_t n, struct phx_list *ret_refs, struct phx_err *err)
{
	return parse_refs(text, n, read_manifests, ret_refs, err);
}

int phx_oci_docker_parse(const char *text, size_t n, struct phx_list *ret_refs, struct phx_err *err)
{
	return parse_refs(text, n, read_repositories, ret_refs, err);
}

/* ---- which of them ---- */

/* What docker adds to names in front: docker.io/library/debian is debian. */
static const char *short_name(const char *tag)
{
	static const char *const fronts[] = {"docker.io/", "library/"};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(fronts); i++)
		if (phx_str_starts(tag, fronts[i]))
			tag += strlen(fronts[i]);
	return tag;
}

/* A tag without a word behind ':' means latest, as in `docker save`. */
static bool tag_is(const struct phx_oci_ref *ref, const char *tag)
{
	const char *has = short_name(ref->tag), *wanted = short_name(tag);
	size_t n = strlen(wanted);
	return !strcmp(has, wanted) || (!strncmp(has, wanted, n) && !strcmp(has + n, ":latest"));
}

static int say_tags(const struct phx_list *refs, int code, const char *what, struct phx_err *err)
{
	PHX_AUTO(phx_buf_fini) struct phx_buf b = {0};
	PHX_LIST_EACH(struct phx_oci_ref, ref, refs)
		phx_buf_addf(&b, "%s%s", b.n ? ", " : "", ref->tag[0] ? ref->tag : "(no tag)");
	if (b.failed)
		return -ENOMEM;
	return phx_err_set(err, code, "%s; there is: %s", what, b.n ? b.data : "nothing");
}

int phx_oci_choose(const struct phx_list *refs, const char *tag, const struct phx_oci_ref **ret,
		   struct phx_err *err)
{
	char what[320] = "it holds several containers: choose one by its tag";
	const struct phx_oci_ref *found = NULL;
	bool several = false;
	PHX_LIST_EACH(struct phx_oci_ref, ref, refs) {
		if (tag[0] && !tag_is(ref, tag))
			continue;
		several |= found && found->image != ref->image;
		found = found ? found : ref;
	}
	if (!found && tag[0])
		snprintf(what, sizeof(what), "it holds no container with the tag '%.200s'", tag);
	else if (!found)
		snprintf(what, sizeof(what), "it holds no container");
	else if (several && tag[0])
		snprintf(what, sizeof(what), "several containers have the tag '%.200s'", tag);
	if (!found || several)
		return say_tags(refs, -EINVAL, what, err);
	*ret = found;
	return 0;
}

/* ---- one container ---- */

static void read_labels(const json_t *labels, struct phx_oci_image *im)
{
#define LABEL(name) "org.opencontainers.image." #name
	read_text(labels, LABEL(title), im->title, sizeof(im->title));
	read_text(labels, LABEL(version), im->version, sizeof(im->version));
	read_text(labels, LABEL(revision), im->revision, sizeof(im->revision));
	read_text(labels, LABEL(created), im->created, sizeof(im->created));
#undef LABEL
}

static int read_layer(const json_t *j, struct phx_oci_image *im, struct phx_err *err)
{
	struct phx_oci_layer layer = {0};
	int64_t size = phx_json_int(j, "size", -1);
	int r = read_digest(j, "a layer", layer.digest, err);
	if (r == 0 && size < 0)
		r = phx_err_set(err, -EINVAL, "layer %s: its size is missing", layer.digest);
	if (r < 0)
		return r;
	layer.size = (uint64_t)size;
	read_text(j, "mediaType", layer.media, sizeof(layer.media));
	struct phx_oci_layer *to = phx_list_push(&im->layers, sizeof(*to));
	if (!to)
		return -ENOMEM;
	*to = layer;
	return 0;
}

int phx_oci_manifest_parse(const char *text, size_t n, struct phx_oci_image *ret,
			   struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = NULL;
	*ret = (struct phx_oci_image){0};
	int r = parse(text, n, &j, err);
	r = r ? r : read_digest(json_object_get(j, "config"), "config", ret->config, err);
	if (r < 0)
		return r;
	const json_t *layers = json_object_get(j, "layers");
	if (!json_array_size(layers) || json_array_size(layers) > PHX_OCI_LAYERS_MAX)
		return phx_err_set(err, -EINVAL, "%zu layers: a container has 1 to %d",
				   json_array_size(layers), PHX_OCI_LAYERS_MAX);
	for (size_t i = 0; r == 0 && i < json_array_size(layers); i++)
		r = read_layer(json_array_get(layers, i), ret, err);
	read_labels(json_object_get(j, "annotations"), ret);
	return r;
}

int phx_oci_config_parse(const char *text, size_t n, struct phx_oci_image *ret, struct phx_err *err)
{
	PHX_AUTO_JSON json_t *j = NULL;
	struct phx_oci_image said = {0}, notes = *ret;
	int r = parse(text, n, &j, err);
	if (r < 0)
		return r;
	read_text(j, "architecture", said.architecture, sizeof(said.architecture));
	read_text(j, "os", said.os, sizeof(said.os));
	if (!said.architecture[0] || !said.os[0])
		return phx_err_set(err, -EINVAL, "it does not say its architecture and system");
	read_text(j, "created", said.created, sizeof(said.created));
	read_labels(json_object_get(json_object_get(j, "config"), "Labels"), &said);
	memcpy(ret->architecture, said.architecture, sizeof(said.architecture));
	memcpy(ret->os, said.os, sizeof(said.os));
#define MERGE(m) memcpy(ret->m, notes.m[0] ? notes.m : said.m, sizeof(ret->m))
	MERGE(title);
	MERGE(version);
	MERGE(revision);
	MERGE(created);
#undef MERGE
	return 0;
}

void phx_oci_image_fini(struct phx_oci_image *im)
{
	phx_list_fini(&im->layers);
}

const char *phx_oci_architecture(const char *machine)
{
	static const struct {
		const char *machine, *name;
	} rows[] = {
		{"x86_64", "amd64"},
		{"aarch64", "arm64"},
		{"i686", "386"},
		{"armv7l", "arm"},
	};
	for (size_t i = 0; i < PHX_ARRAY_SIZE(rows); i++)
		if (!strcmp(rows[i].machine, machine))
			return rows[i].name;
	return machine;
}
