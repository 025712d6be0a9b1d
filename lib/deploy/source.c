/* Sources of images: see source.h. Called by the import. skopeo copies a container, of whatever
 * form, into a directory of ours, every layer is looked at (layer.h), and umoci lays them upon each
 * other; tar unpacks a tar. It decides nothing of what an image must have. */
#include "deploy/source.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/file.h"
#include "base/spawn.h"
#include "base/tree.h"
#include "deploy/layer.h"
#include "deploy/oci.h"
#include "pki/pki.h"

enum { TOOL_TIMEOUT_MS = 3600 * 1000, ENTRIES_MAX = 8000000 };

/* ---- kinds ---- */

struct split {
	const char *path, *tag; /* path and tag end within text */
	char text[512];
};
/* Reads which containers lie there; NULL: only the registry knows. */
typedef int read_refs_fn(const char *path, struct phx_list *ret, struct phx_err *err);

static int refs_of_dir(const char *path, struct phx_list *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *index = phx_path("%s/index.json", path);
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = index ? phx_file_read(index, PHX_OCI_JSON_MAX, &text, &n, err) : -ENOMEM;
	return r ? r : phx_oci_index_parse(text, n, ret, err);
}

static int refs_of_archive(const char *path, struct phx_list *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = phx_layer_read(path, "index.json", PHX_OCI_JSON_MAX, &text, &n, err);
	return r ? r : phx_oci_index_parse(text, n, ret, err);
}

static int refs_of_docker(const char *path, struct phx_list *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = phx_layer_read(path, "manifest.json", PHX_OCI_JSON_MAX, &text, &n, err);
	return r ? r : phx_oci_docker_parse(text, n, ret, err);
}

static const struct kind {
	const char *prefix;
	read_refs_fn *refs;
} kinds[] = {
	{"oci:", refs_of_dir},
	{"oci-archive:", refs_of_archive},
	{"docker-archive:", refs_of_docker},
	{"docker://", NULL},
};

/* NULL: a tar. */
static const struct kind *kind_of(const char *source)
{
	for (size_t i = 0; i < PHX_ARRAY_SIZE(kinds); i++)
		if (phx_str_starts(source, kinds[i].prefix))
			return &kinds[i];
	return NULL;
}

bool phx_source_is_container(const char *source)
{
	return kind_of(source) != NULL;
}

/* "oci:DIR:TAG" into its parts. */
static int split(const char *source, const struct kind *k, struct split *ret, struct phx_err *err)
{
	if (PHX_STR_SET(ret->text, source + strlen(k->prefix)) < 0)
		return phx_err_set(err, -EINVAL, "%.80s...: more than %zu characters", source,
				   sizeof(ret->text) - 1);
	char *colon = k->refs ? strchr(ret->text, ':') : NULL;
	ret->path = ret->text;
	ret->tag = "";
	if (colon) {
		*colon = '\0';
		ret->tag = colon + 1;
	}
	return ret->path[0]
		? 0
		: phx_err_set(err, -EINVAL, "%s: nothing stands behind %s", source, k->prefix);
}

/* ---- before anything is done ---- */

static bool is_program(const char *name)
{
	const char *path = getenv("PATH");
	for (const char *p = path ? path : ""; *p;) {
		size_t n = strcspn(p, ":");
		PHX_AUTO_FREE char *file = phx_path("%.*s/%s", (int)n, p, name);
		if (file && access(file, X_OK) == 0)
			return true;
		p += n + (p[n] == ':');
	}
	return false;
}

/* A form that skopeo may know, and we do not. */
static bool looks_like_form(const char *source)
{
	size_t n = strspn(source, "abcdefghijklmnopqrstuvwxyz-");
	return n > 1 && source[n] == ':';
}

static int check_tar(const char *source, struct phx_err *err)
{
	if (access(source, R_OK) == 0)
		return 0;
	if (errno == ENOENT && looks_like_form(source))
		return phx_err_set(err, -EINVAL,
				   "%s: neither a file nor oci:DIR[:TAG], oci-archive:FILE[:TAG], "
				   "docker-archive:FILE[:TAG] or docker://REF",
				   source);
	return phx_err_set(err, -errno, "%s: %s", source, strerror(errno));
}

int phx_source_check(const char *source, struct phx_err *err)
{
	static const char *const programs[] = {"skopeo", "umoci"};
	const struct kind *k = kind_of(source);
	struct split s;
	if (!k)
		return check_tar(source, err);
	int r = split(source, k, &s, err);
	if (r < 0)
		return r;
	if (k->refs && access(s.path, R_OK) < 0)
		return phx_err_set(err, -errno, "%s: %s", s.path, strerror(errno));
	for (size_t i = 0; i < PHX_ARRAY_SIZE(programs); i++)
		if (!is_program(programs[i]))
			return phx_err_set(err, -ENOENT,
					   "the program %s is missing, which reads containers: "
					   "install the package %s",
					   programs[i], programs[i]);
	return 0;
}

/* ---- programs ---- */

/* What a program of containers says at its end: skopeo as msg="...", umoci behind a cross. */
static const char *last_words(char *text)
{
	char *msg = strstr(text, "msg=\"");
	size_t n = strlen(text);
	while (n && strchr(" \n", text[n - 1]))
		text[--n] = '\0';
	if (msg) {
		if (n && text[n - 1] == '"')
			text[n - 1] = '\0';
		return msg + strlen("msg=\"");
	}
	char *line = strrchr(text, '\n');
	line = line ? line + 1 : text;
	return line + strspn(line, " ");
}

/* Runs one; ret_out (may be NULL) is what it printed, malloc'd. */
static int ask(const char *const *argv, char **ret_out, struct phx_err *err)
{
	const struct phx_run job = {
		.argv = argv, .timeout_ms = TOOL_TIMEOUT_MS, .dies_with_us = true};
	struct phx_run_result res = {0};
	int r = phx_run(&job, &res, err);
	if (r == 0 && res.status)
		r = phx_err_set(err, -EINVAL, "%s: %s", argv[0], last_words(res.errout));
	if (r == 0 && ret_out)
		*ret_out = PHX_TAKE(res.out);
	phx_run_result_fini(&res);
	return r;
}

/* ---- place ---- */

/* What was unpacked, the file system for disks, and both packed. */
static int check_place(const struct phx_source_place *at, const struct phx_layer_count *count,
		       struct phx_err *err)
{
	struct statvfs fs;
	char needs[32], is_free[32];
	if (statvfs(at->work, &fs) < 0)
		return phx_err_set(err, -errno, "%s: %s", at->work, strerror(errno));
	uint64_t there = (uint64_t)fs.f_bavail * fs.f_frsize,
		 wanted = count->bytes > UINT64_MAX / 5 ? UINT64_MAX : count->bytes / 2 * 5;
	if (wanted <= there)
		return 0;
	return phx_err_set(err, -ENOSPC, "%s: to make an image of it %s must be free; there are %s",
			   at->source, phx_size_format(wanted, needs, sizeof(needs)),
			   phx_size_format(there, is_free, sizeof(is_free)));
}

static struct phx_layer_count count_for(const struct phx_source_place *at)
{
	return (struct phx_layer_count){.bytes_max = at->max_bytes, .entries_max = ENTRIES_MAX};
}

/* Of a path its last part: where it lay here is nobody's business on another machine. The digest
 * stays whole. */
static void name_source(char ret[256], const char *prefix, const char *name, const char *digest)
{
	const char *slash = strstr(prefix, "//") ? NULL : strrchr(name, '/');
	snprintf(ret, 256, "%s%.150s@%s", prefix, slash ? slash + 1 : name, digest);
	for (char *p = ret; *p; p++)
		if ((unsigned char)*p < ' ' || strchr("\"\\\x7f", *p))
			*p = '?';
}

/* ---- a tar ---- */

/* GNU tar takes off leading slashes; what stands ahead of a ':' it takes for another machine. */
static int unpack_tar(const struct phx_source_place *at, struct phx_source_found *ret,
		      struct phx_err *err)
{
	const char *const argv[] = {"tar",
				    "--extract",
				    "--numeric-owner",
				    "--same-permissions",
				    "--xattrs",
				    "--xattrs-include=*",
				    "--acls",
				    "--force-local",
				    "--directory",
				    at->root,
				    "--file",
				    at->source,
				    NULL};
	struct phx_layer_count count = count_for(at);
	char digest[PHX_OCI_DIGEST_MAX] = "sha256:";
	int r = phx_layer_scan(at->source, false, &count, err);
	r = r ? r : check_place(at, &count, err);
	r = r ? r : phx_sha256_file(at->source, digest + strlen(digest), NULL, err);
	if (r < 0)
		return r;
	name_source(ret->source, "", at->source, digest);
	r = ask(argv, NULL, err);
	return r < 0 ? phx_err_prefix(err, r, "%s", at->source) : 0;
}

/* ---- a container ---- */

struct container {
	const struct phx_source_place *at;
	struct split from;
	char *chosen;                                                  /* as skopeo names it */
	char *dir;                                                     /* the copy of it */
	char digest[PHX_OCI_DIGEST_MAX], manifest[PHX_OCI_DIGEST_MAX]; /* as given; of the copy */
	struct phx_oci_image im;
};

static void container_fini(struct container *c)
{
	free(c->chosen);
	free(c->dir);
	phx_oci_image_fini(&c->im);
}

static char *blob_path(const struct container *c, const char *digest)
{
	return phx_path("%s/blobs/sha256/%s", c->dir, digest + strlen("sha256:"));
}

/* Of several containers the chosen one, as skopeo names it, and its digest as it lies there; ""
 * what `docker save` wrote has none. */
static int choose_there(struct container *c, const struct kind *k, struct phx_err *err)
{
	struct phx_list refs = {0};
	const struct phx_oci_ref *ref = NULL;
	int r = k->refs(c->from.path, &refs, err);
	r = r ? r : phx_oci_choose(&refs, c->from.tag, &ref, err);
	if (r == 0) {
		const char *tag = c->from.tag[0] || refs.n > 1 ? ref->tag : "";
		c->chosen = phx_path("%s%s%s%s", k->prefix, c->from.path, tag[0] ? ":" : "", tag);
		PHX_STR_SET(c->digest, ref->digest);
		r = c->chosen ? 0 : -ENOMEM;
	}
	phx_list_fini(&refs);
	return r;
}

/* The registry says which digest the reference has now; what is copied is that. */
static int choose_of_registry(struct container *c, struct phx_err *err)
{
	const char *const argv[] = {"skopeo",      "inspect",     "--no-tags", "--format",
				    "{{.Digest}}", c->at->source, NULL};
	PHX_AUTO_FREE char *said = NULL;
	int r = ask(argv, &said, err);
	if (r < 0)
		return r;
	said[strcspn(said, "\n")] = '\0';
	if (!phx_str_starts(said, "sha256:") || PHX_STR_SET(c->digest, said) < 0)
		return phx_err_set(err, -EINVAL, "skopeo inspect: '%.80s' is no digest", said);
	size_t n = strcspn(c->from.path, "@");
	const char *slash = memrchr(c->from.path, '/', n);
	const char *tag = slash ? memchr(slash, ':', n - (size_t)(slash - c->from.path)) : NULL;
	if (!slash) /* "debian:12": the part in front of ':' is no registry */
		tag = memchr(c->from.path, ':', n);
	n = tag ? (size_t)(tag - c->from.path) : n;
	c->chosen = phx_path("docker://%.*s@%s", (int)n, c->from.path, c->digest);
	return c->chosen ? 0 : -ENOMEM;
}

/* umoci 0.4 unpacks what gzip packed, and nothing else: other layers are packed anew. */
static int copy(struct container *c, struct phx_err *err)
{
	PHX_AUTO_FREE char *to = phx_path("oci:%s:image", c->dir);
	const char *const argv[] = {"skopeo",  "copy", "--quiet", "--dest-compress-format=gzip",
				    c->chosen, to,     NULL};
	return to ? ask(argv, NULL, err) : -ENOMEM;
}

static int read_json(const struct container *c, const char *digest,
		     int (*parse)(const char *text, size_t n, struct phx_oci_image *ret,
				  struct phx_err *err),
		     struct phx_oci_image *ret, struct phx_err *err)
{
	PHX_AUTO_FREE char *path = blob_path(c, digest);
	PHX_AUTO_FREE char *text = NULL;
	size_t n;
	int r = path ? phx_file_read(path, PHX_OCI_JSON_MAX, &text, &n, err) : -ENOMEM;
	return r ? r : parse(text, n, ret, err);
}

/* What the copy is, of which there is one. */
static int read_copy(struct container *c, struct phx_err *err)
{
	struct phx_list refs = {0};
	const struct phx_oci_ref *ref;
	int r = refs_of_dir(c->dir, &refs, err);
	r = r ? r : phx_oci_choose(&refs, "image", &ref, err);
	if (r == 0)
		PHX_STR_SET(c->manifest, ref->digest);
	if (r == 0 && !c->digest[0])
		PHX_STR_SET(c->digest, ref->digest);
	phx_list_fini(&refs);
	r = r ? r : read_json(c, c->manifest, phx_oci_manifest_parse, &c->im, err);
	return r ? r : read_json(c, c->im.config, phx_oci_config_parse, &c->im, err);
}

static int check_machine(struct container *c, struct phx_err *err)
{
	struct utsname u;
	uname(&u);
	const char *own = phx_oci_architecture(u.machine);
	if (strcmp(c->im.os, "linux"))
		return phx_err_set(err, -EINVAL, "a container of %s: nodes run linux", c->im.os);
	if (strcmp(c->im.architecture, own))
		return phx_err_set(err, -EINVAL,
				   "a container for %s; this head makes images for %s, its own "
				   "architecture",
				   c->im.architecture, own);
	return 0;
}

/* Each layer, before one of them is unpacked. */
static int check_layers(struct container *c, struct phx_err *err)
{
	struct phx_layer_count count = count_for(c->at);
	unsigned i = 0;
	int r = 0;
	PHX_LIST_EACH(struct phx_oci_layer, l, &c->im.layers) {
		struct phx_err why = {0};
		PHX_AUTO_FREE char *path = blob_path(c, l->digest);
		i++;
		r = path ? phx_layer_scan(path, true, &count, &why) : -ENOMEM;
		if (r < 0) {
			/* the path is one of ours, which is gone when somebody reads this */
			const char *text = path && phx_str_starts(why.text, path)
				? why.text + strlen(path) + 2
				: why.text;
			return phx_err_set(err, r, "layer %u of %u: %s", i, c->im.layers.n, text);
		}
	}
	return check_place(c->at, &count, err);
}

/* umoci wants to make the root itself. */
static int unpack_layers(struct container *c, struct phx_err *err)
{
	PHX_AUTO_FREE char *image = phx_path("%s:image", c->dir);
	PHX_AUTO_FREE char *root = phx_path("%s/rootfs", c->at->work);
	if (!image || !root)
		return -ENOMEM;
	const char *const argv[] = {"umoci", "raw", "unpack", "--image", image, root, NULL};
	int r = ask(argv, NULL, err);
	if (r == 0 && rename(root, c->at->root) < 0)
		r = phx_err_set(err, -errno, "%s: %s", root, strerror(errno));
	return r;
}

static int take(struct container *c, const struct kind *k, struct phx_err *err)
{
	static int (*const acts[])(struct container *, struct phx_err *) = {
		copy, read_copy, check_machine, check_layers, unpack_layers};
	int r = k->refs ? choose_there(c, k, err) : choose_of_registry(c, err);
	for (size_t i = 0; r == 0 && i < PHX_ARRAY_SIZE(acts); i++)
		r = acts[i](c, err);
	return r;
}

static int unpack_container(const struct phx_source_place *at, const struct kind *k,
			    struct phx_source_found *ret, struct phx_err *err)
{
	PHX_AUTO(container_fini) struct container c = {.at = at};
	int r = split(at->source, k, &c.from, err);
	if (r < 0)
		return r;
	c.dir = phx_path("%s/oci", at->work);
	r = c.dir ? take(&c, k, err) : -ENOMEM;
	if (c.dir)
		phx_dir_remove(c.dir, NULL);
	if (r < 0)
		return phx_err_prefix(err, r, "%s", at->source);
	name_source(ret->source, k->prefix, c.from.path, c.digest);
	PHX_STR_SET(ret->title, c.im.title);
	PHX_STR_SET(ret->version, c.im.version);
	return 0;
}

int phx_source_unpack(const struct phx_source_place *at, struct phx_source_found *ret,
		      struct phx_err *err)
{
	const struct kind *k = kind_of(at->source);
	struct phx_source_found found = {0};
	int r = k ? unpack_container(at, k, &found, err) : unpack_tar(at, &found, err);
	if (r == 0)
		*ret = found;
	return r;
}
